"""Names of what event files hold, as every exporter of the published results expects them.

`regualizer` and `critation` are public spellings.
"""

METRIC_VALID = "metric/valid/interpolation"
METRIC_TEST = "metric/test/extrapolation"
LOSS_VALID = "loss/valid"
LOSS_VALID_INTERPOLATION = "loss/valid/interpolation"
LOSS_VALID_EXTRAPOLATION = "loss/valid/extrapolation"
LOSS_CRITERION = "loss/train/critation"
LOSS_REGULARIZER = "loss/train/regualizer"
LOSS_TOTAL = "loss/train/total"
L1_LOSS = "L1/train/L1-loss"
L1_BETA = "L1/train/beta"
LOSS_ACCURACY = "loss/train/accuracy"
METRIC = "metric"
RANDOM_VALID = "metric/random/interpolation"
RANDOM_TEST = "metric/random/extrapolation"
ABSOLUTE_SUFFIX = "/mae"
ROOT_SUFFIX = "/rmse"
EPOCH = "epoch"
LABEL_WEIGHTS = "label2out/weights"
REINIT = "reinit"
DIVERGED = "diverged"

CONFIG = "config"
RESULTS = RESULT_VALID, RESULT_TEST, RESULT_SOLVED = "hparam/valid", "hparam/test", "hparam/solved"
"""What TensorBoard's HParams plugin shows of a finished run: its errors, and 1 if it is solved."""

TEXT_SUFFIX = "/text_summary"
GATE_MEAN_SUFFIX = "nalu/gate/mean"
ERROR_CURVE = "error/curve"
"""A text: a table of the absolute error over the input."""
