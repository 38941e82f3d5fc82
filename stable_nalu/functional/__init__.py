"""Pure tensor functions over any leading run dimensions.

Inputs are addressed from the right: `x (*runs, batch, in)`, `W (*runs, out, in)`.
Losses and regularisers have shape `runs`. Nothing here holds state or draws numbers.
"""

from .criterion import get_train_criterion, mape, mse, pcc
from .gated_choice import gated_choice
from .golden_ratio import GOLDEN_RATIO, golden_sigmoid, golden_tanh
from .linear import batch_linear, linear
from .log_space import LOG_SPACE_MODES, in_log_space
from .mnac import mnac
from .nac_weight import nac_weight
from .reductions import lp_norm, mean_over, sparsity_error, std_over, var_over
from .regualizer import Regualizer, RegualizerNAUZ, RegualizerNMUZ
