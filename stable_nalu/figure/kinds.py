"""The kinds of drawings by their names: one class each, which says how it is reduced and drawn."""

# ruff: noqa: F401
from .answers import Arrivals, DigitBars, Episodes, ProgramTraces, RunningCounts, Traces
from .digits import Bars, EpochCurves, Matrix, Scatter, Violin
from .error_curves import CountingLengths, Extrapolations, Learning, Lengths, Losses
from .panels import Panels, Successes
from .surfaces import GoldErrors, Histogram, Landscape, Path, Surface
from .tables import Heads, ReadingErrors, Scores, Table
from .weights import Weights
