"""Flags of the task: what is computed, on which data, for how long."""

from __future__ import annotations

from .flag import Flag, FlagGroup, switch
from .kinds import choice, data_range, distribution, integer, number, seeds

STATIC_OPERATIONS = ("add", "sub", "mul", "div", "squared", "root")
ALL_OPERATIONS = (*STATIC_OPERATIONS, "reciprocal")

OPERATION = choice(
    "--operation", "add", "Arithmetic operation that the model has to learn.", ALL_OPERATIONS
)
SEED = Flag(
    "--seed",
    seeds(),
    0,
    "Seed of the data and of the start weights; 0-24 or 0,3,9 plan one run per seed.",
    sweep=True,
)
SIMPLE = switch(
    "--simple",
    "Use the fixed task of four inputs, a the sum of all and b the sum of the first two; sizes "
    "and ratios are then ignored.",
)
MAX_ITERATIONS = Flag(
    "--max-iterations",
    integer(0),
    100000,
    "Index of the last iteration; counting starts at 0, so N asks for N+1 updates.",
    unnamed="a run that is resumed with more iterations keeps its name",
)

TASK = FlagGroup(
    "Task and data",
    OPERATION,
    Flag("--num-subsets", integer(1), 2, "Number of summed slices that feed the operation."),
    Flag(
        "--interpolation-range",
        data_range(),
        [1, 2],
        "Range of the training and validation inputs: [1,2]; two ranges of equal width as "
        "[[-6,-2],[2,6]], each element from either; or [[-6,-2],[2,6],[]], half the columns "
        "from each.",
        sweep=True,
    ),
    Flag(
        "--extrapolation-range",
        data_range(),
        [2, 6],
        "Range of the test inputs, in the same forms; several are paired with several "
        "interpolation ranges.",
        sweep=True,
    ),
    Flag("--input-size", integer(1), 2, "Length of the input vector."),
    Flag(
        "--subset-ratio",
        number(above=0, maximum=1),
        0.5,
        "Length of a slice divided by the length of the input.",
    ),
    Flag(
        "--overlap-ratio",
        number(0, maximum=1),
        0.0,
        "Overlap of neighbouring slices divided by the length of a slice.",
    ),
    SIMPLE,
    Flag(
        "--sample-distribution",
        distribution(),
        ("uniform",),
        "Distribution of the inputs: uniform, benford, exponential SCALE, or truncated-normal "
        "MEAN STD TEST_MEAN TEST_STD; repeat the flag for several distributions.",
        sweep=True,
        repeatable=True,
    ),
    Flag("--batch-size", integer(1), 128, "Number of examples in a training batch."),
    SEED,
    MAX_ITERATIONS,
)

RANDOM_MODELS = Flag(
    "--random-models",
    integer(0),
    0,
    "Log the mean error of this many untrained networks, which a score is relative to.",
    young=True,
    in_name="rm{random_models:int}",
)
CRITERION = FlagGroup(
    "Criterion",
    choice(
        "--train-criterion",
        "mse",
        "Training loss: mean squared error, 1 - Pearson correlation, the latter followed by "
        "the former, or mean absolute percentage error; evaluation is always mse.",
        ("mse", "pcc", "pcc-mse", "mape"),
    ),
    Flag(
        "--pcc2mse-iteration",
        integer(0),
        25000,
        "First iteration of the mse phase of criterion pcc-mse.",
    ),
)

OPTIMIZER = FlagGroup(
    "Optimizer",
    choice("--optimizer", "adam", "Optimizer.", ("adam", "sgd")),
    Flag("--learning-rate", number(0), 1e-3, "Learning rate.", sweep=True),
    Flag("--momentum", number(0), 0.0, "Momentum of sgd (plain, not Nesterov).", sweep=True),
    Flag(
        "--clip-grad-norm",
        number(above=0),
        None,
        "Largest norm of a run's whole gradient; none means no limit.",
        sweep=True,
    ),
    Flag(
        "--clip-grad-value",
        number(above=0),
        None,
        "Largest absolute gradient of an element, applied after the norm; none means no limit.",
        sweep=True,
    ),
)
