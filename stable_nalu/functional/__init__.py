"""Pure tensor functions over any leading run dimensions.

Inputs are addressed from the right: `x (*runs, batch, in)`, `W (*runs, out, in)`.
Losses and regularisers have shape `runs`. Nothing here holds state or draws numbers.
"""

from .batch_linear import batch_linear
from .criterion import get_train_criterion, mape, mse, pcc
from .gated_choice import gated_choice
from .golden_ratio import GOLDEN_RATIO, golden_sigmoid, golden_tanh
from .linear import linear
from .log_space import LOG_SPACE_MODES, in_log_space
from .mnac import mnac
from .nac_weight import nac_weight
from .norm import lp_norm
from .reductions import mean_over, std_over, var_over
from .regualizer import Regualizer
from .regualizer_z import RegualizerNAUZ, RegualizerNMUZ
from .sparsity_error import sparsity_error

__all__ = [
    "GOLDEN_RATIO",
    "LOG_SPACE_MODES",
    "Regualizer",
    "RegualizerNAUZ",
    "RegualizerNMUZ",
    "batch_linear",
    "gated_choice",
    "get_train_criterion",
    "golden_sigmoid",
    "golden_tanh",
    "in_log_space",
    "linear",
    "lp_norm",
    "mape",
    "mean_over",
    "mnac",
    "mse",
    "nac_weight",
    "pcc",
    "sparsity_error",
    "std_over",
    "var_over",
]
