"""Flags of the penalties, of logging, files and devices."""

from __future__ import annotations

from .flag import Flag, FlagGroup, Kind, switch
from .kinds import choice, flags_shown, integer, name_prefix, number, truth

REGUALIZER_SHAPE = choice(
    "--regualizer-shape",
    "linear",
    "Shape of the sparsity and out-of-bounds penalties; none switches them off.",
    ("squared", "linear", "none"),
    layer_option="regualizer_shape",
)

PENALTIES = FlagGroup(
    "Penalties",
    Flag(
        "--regualizer",
        number(0),
        10,
        "Weight of the sparsity penalty, the pull of W towards its discrete values.",
        sweep=True,
    ),
    Flag(
        "--regualizer-z",
        number(0),
        0,
        "Weight of the penalty on what the inputs pass through unset weights.",
        layer_option="regualizer_z",
        sweep=True,
    ),
    Flag("--regualizer-oob", number(0), 1, "Weight of the out-of-bounds penalty.", sweep=True),
    choice(
        "--regualizer-scaling",
        "linear",
        "How the sparsity penalty grows: a linear ramp, or 1 - exp(-1e-5 iteration).",
        ("exp", "linear"),
    ),
    Flag(
        "--regualizer-scaling-start",
        integer(0),
        1000000,
        "Iteration at which the linear ramp leaves 0.",
        sweep=True,
    ),
    Flag(
        "--regualizer-scaling-end",
        integer(0),
        2000000,
        "Iteration at which the linear ramp reaches 1.",
        sweep=True,
    ),
    REGUALIZER_SHAPE,
)

NPU_PENALTIES = FlagGroup(
    "Penalties of the NPU papers",
    choice(
        "--reg-scale-type",
        "heim",
        "Scale of the NPU penalties: the growing factor beta (heim) or the ramp of the "
        "sparsity penalty (madsen).",
        ("heim", "madsen"),
    ),
    Flag("--regualizer-beta-start", number(0), 1e-5, "First value of beta.", sweep=True),
    Flag("--regualizer-beta-end", number(0), 1e-4, "Last value of beta.", sweep=True),
    Flag(
        "--regualizer-beta-step",
        integer(1),
        10000,
        "Iterations between two changes of beta.",
        sweep=True,
    ),
    Flag("--regualizer-beta-growth", integer(1), 10, "Factor of beta's changes.", sweep=True),
    switch("--regualizer-l1", "Add beta times the norm of all parameters to the loss."),
    Flag("--lp-norm", integer(), 1, "Order of the norm of --regualizer-l1.", choices=(1, 2)),
    Flag(
        "--regualizer-npu-w",
        integer(0),
        0,
        "Weight of the penalty on undecided NPU weights.",
        layer_option="regualizer_npu_w",
        sweep=True,
    ),
    Flag(
        "--regualizer-gate",
        integer(0),
        0,
        "Weight of the penalty on undecided gates.",
        layer_option="regualizer_gate",
        sweep=True,
    ),
)

ID = Flag("--id", integer(), -1, "Number that tells equal runs apart.")


def _control(name: str, help: str, kind: Kind | None = None, default: object = False) -> Flag:
    """Return a flag, a switch by default, that says how runs are carried out."""
    why = "it changes how a run is carried out, not what it computes"
    return Flag(name, kind, default, help, unnamed=why, result=False)


LOGGING = FlagGroup(
    "Names, logs and files",
    ID,
    Flag(
        "--name-prefix",
        name_prefix(),
        "simple_function_static",
        "Folder (or a/b/c) below the log root that holds the run.",
    ),
    _control(
        "--short-names",
        "Name folders by the layer, what varies in the command and the seed, such as `NMU lr=0.01 "
        "s3`, or by the flags that follow.",
        flags_shown(),
        None,
    ).but(young=True),
    _control(
        "--remove-existing-data",
        "Delete the run's log folder before writing; its saved model stays.",
    ),
    _control(
        "--verbose",
        "Also log weights, histograms, gradients and every single penalty; print all flags, the "
        "model and a line for every log point.",
    ),
    Flag("--log-interval", integer(1), 1000, "Iterations between two points of the log."),
    _control("--no-save", "Do not save the trained model."),
    _control("--load-checkpoint", "Resume the run from its saved state."),
    _control(
        "--resume", "Resume each run that has a saved state, start the others anew: safe to repeat."
    ),
    _control("--save-best-model", "Also save the model of the lowest validation error."),
)

RUN_CONTROL = FlagGroup(
    "Run control",
    _control("--no-cuda", "Stay on the CPU."),
    Flag(
        "--pytorch-precision",
        integer(),
        32,
        "Bits of the floating-point numbers.",
        choices=(32, 64),
    ),
    _control(
        "--checkpoint-interval",
        "Iterations between two saved states to resume from; 0 saves at the end only.",
        integer(0),
        0,
    ),
    _control(
        "--ensemble-size",
        "Largest number of runs trained together in one stack; by default chosen by size.",
        integer(1),
        None,
    ),
    _control(
        "--workers",
        "Number of processes that share the planned runs; by default one per CPU core.",
        integer(1),
        None,
    ),
    choice(
        "--engine",
        "lanes",
        "What trains: lanes, the engine, or torch, one run at a time in plain torch.",
        ("lanes", "torch"),
        unnamed="both compute the same mathematics, with other last bits",
        young=True,
    ),
    _control("--no-compile", "The same as --engine torch."),
    _control("--show-engine", "Print the C++ that the engine makes of the runs, train nothing."),
    _control("--dry-run", "Print the planned runs and their names, train nothing."),
)


PLAIN_RUN_CONTROL = RUN_CONTROL.without("--engine", "--show-engine").but(
    ensemble_size={"note": "accepted without effect, runs train one by one"}
)
"""That of scripts without the engine; few have --no-compile, without effect."""


def files_and_devices(prefix: str, unit: str) -> FlagGroup:
    """Return flags of names, logs, files and devices, for a script that counts in `unit`."""
    cuda = _control(
        "--cuda",
        "Run on the GPU (true) or the CPU (false); by default the GPU where there is one.",
        truth(),
        None,
    )
    saves = f"{unit} between two saved states to resume from; 0 saves at the end only."
    return FlagGroup(
        "Names, logs, files and devices",
        *LOGGING.without("--id", "--log-interval", "--save-best-model"),
        *RUN_CONTROL.only("--checkpoint-interval"),
        cuda,
        *PLAIN_RUN_CONTROL.without("--checkpoint-interval", "--no-compile"),
    ).but(name_prefix={"default": prefix}, checkpoint_interval={"help": saves})
