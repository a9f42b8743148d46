"""Qualcomm's QNN provider and the graph rewrites that its HTP needs."""
