"""Synthetic results: what a busy laboratory's database may look like, and no device produced.

Every row says `source = 'synthetic'` and `simulated`, so that only a scratch database takes it.
"""

from performance.synthetic.draw import CELLS_A_RUN, DURATIONS
from performance.synthetic.writing import synthesise

__all__ = ["CELLS_A_RUN", "DURATIONS", "synthesise"]
