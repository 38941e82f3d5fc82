"""The kinds of drawings: one class each, with its options and how it is reduced and drawn.

The functions that draw take axes and tables, and read nothing.
"""

from .arrivals import Arrivals, Episodes
from .classes import Bars, Matrix
from .digits import EpochCurves, Scatter, Violin
from .extrapolation import Extrapolations
from .gold_errors import GoldErrors
from .histogram import Histogram
from .landscape import Landscape
from .learning import Learning
from .lengths import Lengths
from .losses import Losses
from .panels import Panels
from .path import Path
from .scores import Scores
from .successes import Successes
from .surface import Surface
from .table import Table
from .weights import Weights

__all__ = [
    "Arrivals",
    "Bars",
    "Episodes",
    "EpochCurves",
    "Extrapolations",
    "GoldErrors",
    "Histogram",
    "Landscape",
    "Learning",
    "Lengths",
    "Losses",
    "Matrix",
    "Panels",
    "Path",
    "Scatter",
    "Scores",
    "Successes",
    "Surface",
    "Table",
    "Violin",
    "Weights",
]
