"""scipy for statistics and for the fits of predictors: the extra `analysis` installs it.

Who predicts needs none of it, and imports none: fits import it where they begin.
"""

from analysis.statistics.arrays import missing_extra

try:
    from scipy import sparse
    from scipy.optimize import nnls
    from scipy.special import stdtr, stdtrit
    from scipy.stats import false_discovery_control
except ImportError as error:
    raise missing_extra() from error

__all__ = ["false_discovery_control", "nnls", "sparse", "stdtr", "stdtrit"]
