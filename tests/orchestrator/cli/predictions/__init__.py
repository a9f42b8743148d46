"""Tests of commands that predict."""
