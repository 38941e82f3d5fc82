"""Names of what event files hold, as every exporter of the published results expects them.

`regualizer` and `critation` are public spellings.
"""

METRIC_VALID = "metric/valid/interpolation"
METRIC_TEST = "metric/test/extrapolation"
METRIC_TEST_HALF_SUM = "metric/test/half-sum-squares"
LOSS_VALID = "loss/valid"
LOSS_VALID_INTERPOLATION = "loss/valid/interpolation"
LOSS_VALID_EXTRAPOLATION = "loss/valid/extrapolation"
LOSS_CRITERION = "loss/train/critation"
LOSS_REGULARIZER = "loss/train/regualizer"
LOSS_TOTAL = "loss/train/total"
L1_LOSS = "L1/train/L1-loss"
L1_BETA = "L1/train/beta"
LOSS_HALF_SUM = "loss/train/half-sum-squares"
LOSS_MSE = "loss/train/mse"
LOSS_EPOCH = "loss/train/epoch"
TASK_LOSSES = LOSS_HALF_SUM, LOSS_MSE, LOSS_EPOCH
"""Tags under which tasks log their training loss besides `LOSS_CRITERION`; they become columns."""
LOSS_ACCURACY = "loss/train/accuracy"
METRIC = "metric"
MSE_TRAIN = "metric/train/mse"
MSE_TEST = "metric/test/mse"
AFTER_SUFFIX = "/after"
"""Of an error that is measured again after the update of its step."""
RMSE_TEST = "metric/test/rmse"
ACCURACY_VALID = "metric/valid/acc"
ACCURACY_TEST = "metric/test/acc"
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


def logged_result(tag: str, *, short: bool) -> str:
    """Return the tag of a result in a log; with --short-names it is behind those of errors."""
    return tag.replace("hparam/", "result/") if short else tag


TEXT_SUFFIX = "/text_summary"
GATE_MEAN_SUFFIX = "nalu/gate/mean"
ERROR_CURVE = "error/curve"
"""A text: a table of the absolute error over the input."""
CURVE_COLUMNS = "abs.error."
"""Begins the column of each point of such a table."""
PROBLEM = "problem"
"""A text: a table of what a run has to find out."""
CONFUSION = "metric/test/confusion"
"""A text: a table of how often each class was taken for which."""
TRACE = "trace"
"""What a network answers behind each word of a number."""
