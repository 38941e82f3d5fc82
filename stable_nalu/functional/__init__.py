"""Pure tensor functions over any leading run dimensions.

Inputs are addressed from the right: `x (*runs, batch, in)`, `W (*runs, out, in)`.
Losses and regularisers have shape `runs`. Nothing here holds state or draws numbers.
"""

from .linear import linear, lstm_step
from .mnac import LOG_SPACE_MODES, in_log_space, mnac, sign_phase
from .nac_weight import (
    GOLDEN_RATIO,
    chosen_sign,
    expected_sign,
    golden_sigmoid,
    golden_tanh,
    nac_weight,
)
from .reductions import (
    get_train_criterion,
    lp_norm,
    mape,
    mean_over,
    mse,
    pcc,
    sparsity_error,
    std_over,
    var_over,
)
from .regualizer import Regualizer, RegualizerNAUZ, RegualizerNMUZ
