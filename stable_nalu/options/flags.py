"""Flags that several scripts share, what a configuration must fulfil besides, and its layers.

Layers are the user's, or have names of the papers. Runs of them have short labels of what varies
among them, such as `NMU U[1,2) lr=0.01 s3`.
"""

import argparse
import ast
import inspect
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from stable_nalu.base.errors import OptionError, did_you_mean
from stable_nalu.base.files import installed_layers
from stable_nalu.base.script import adder, plain
from stable_nalu.layer.registry import entries

from . import flag as kinds
from .flag import Config, Flag, FlagGroup, Kind, choice, integer, number, switch

# A flag is a few lines of a table, and so is what a configuration must fulfil.
# fmt: off
STATIC_OPERATIONS = ("add", "sub", "mul", "div", "squared", "root")
OPERATION = choice("--operation", "add", "Arithmetic operation that the model has to learn.",
    (*STATIC_OPERATIONS, "reciprocal"))
SEED = Flag("--seed", kinds.seeds, 0,
    "Seed of the data and of the start weights; 0-24 or 0,3,9 plan one run per seed.", sweep=True)
SIMPLE = switch("--simple",
    "Use the fixed task of four inputs, a the sum of all and b the sum of the first two; sizes and "
    "ratios are then ignored.")
MAX_ITERATIONS = Flag("--max-iterations", integer(0), 100000,
    "Index of the last iteration; counting starts at 0, so N asks for N+1 updates.",
    unnamed="a run that is resumed with more iterations keeps its name")

TASK = FlagGroup(
    "Task and data",
    OPERATION,
    Flag("--num-subsets", integer(1), 2, "Number of summed slices that feed the operation."),
    Flag("--interpolation-range", kinds.data_range, [1, 2],
        "Range of the training and validation inputs: [1,2]; two ranges of equal width as "
        "[[-6,-2],[2,6]], each element from either; or [[-6,-2],[2,6],[]], half the columns from "
        "each.", sweep=True),
    Flag("--extrapolation-range", kinds.data_range, [2, 6],
        "Range of the test inputs, in the same forms; several are paired with several "
        "interpolation ranges.", sweep=True),
    Flag("--input-size", integer(1), 2, "Length of the input vector."),
    Flag("--subset-ratio", number(above=0, maximum=1), 0.5,
        "Length of a slice divided by the length of the input."),
    Flag("--overlap-ratio", number(0, maximum=1), 0.0,
        "Overlap of neighbouring slices divided by the length of a slice."),
    SIMPLE,
    Flag("--sample-distribution", kinds.distribution, ("uniform",),
        "Distribution of the inputs: uniform, benford, exponential SCALE, or truncated-normal MEAN "
        "STD TEST_MEAN TEST_STD; repeat the flag for several distributions.", sweep=True,
        repeatable=True),
    Flag("--batch-size", integer(1), 128, "Number of examples in a training batch."),
    SEED,
    MAX_ITERATIONS,
)

PUBLISHED_CONTAINER = switch("--published-container",
    "Train without penalties, bounds and hooks of the layer, as nalm-robust-nmu does, whose "
    "container hides the layer.", young=True, in_name="pc{published_container:bool}")
RANDOM_MODELS = Flag("--random-models", integer(0), 0,
    "Log the mean error of this many untrained networks, which a score is relative to.", young=True,
    in_name="rm{random_models:int}")
CRITERION = FlagGroup(
    "Criterion",
    choice("--train-criterion", "mse",
        "Training loss: mean squared error, 1 - Pearson correlation, the latter followed by the "
        "former, or mean absolute percentage error; evaluation is always mse.",
        ("mse", "pcc", "pcc-mse", "mape")),
    Flag("--pcc2mse-iteration", integer(0), 25000,
        "First iteration of the mse phase of criterion pcc-mse."),
)

SCHEDULE = choice("--schedule", "constant",
    "What the learning rate is multiplied by, step by step: constant, or what a Python program "
    "gives.", ("constant",), young=True, in_name="sc-{schedule}")
OPTIMIZER = FlagGroup(
    "Optimizer",
    choice("--optimizer", "adam",
        "Optimizer; RMSProp as in Flux (flux-rmsprop) or TensorFlow 1 (tf-rmsprop).",
        ("adam", "sgd", "adamw", "nadam", "rmsprop", "flux-rmsprop", "tf-rmsprop")),
    Flag("--learning-rate", number(0), 1e-3, "Learning rate.", sweep=True),
    SCHEDULE,
    Flag("--momentum", number(0), 0.0, "Momentum of sgd (plain, not Nesterov).", sweep=True),
    Flag("--clip-grad-norm", number(above=0), None,
        "Largest norm of a run's whole gradient; none means no limit.", sweep=True),
    Flag("--clip-grad-value", number(above=0), None,
        "Largest absolute gradient of an element, applied after the norm; none means no limit.",
        sweep=True),
)


NAC_MUL = ("none", "normal", "safe", "max-safe", "mnac", "npu", "real-npu")
NALU_MUL = ("normal", "safe", "trig", "max-safe", "mnac")
NALU_GATE = ("normal", "regualized", "obs-gumbel", "gumbel", "linear", "independent")

LAYER_TYPE = choice("--layer-type", "NALU",
    "Unit of every layer, by its key or its name in the papers.", kinds.layer_names)

OWN_LAYERS = FlagGroup(
    "Layers of your own",
    Flag("--layer-file", kinds.files, (),
        "Python files that define layers; each class in them is a --layer-type. See "
        "docs/your-layer.md.",
        unnamed="the record of a run holds the digest and the text of each file", result=False,
        young=True),
    Flag("--layer-option", kinds.layer_option, (),
        "Options of the layer's constructor that no other flag sets, as name=value; several values "
        "of one name are several runs.", sweep=True, young=True,
        in_name="lo-{layer_option:options}"),
)


def add_layer_flags(parser: argparse.ArgumentParser, title: str) -> Callable[..., None]:
    """Add a group of flags that name one layer to a command that is not a training script.

    Return what adds others to the group.
    """
    add = adder(parser.add_argument_group(title))
    add("--layer-type NAME", "the layer, of the package or of --layer-file")
    add("--layer-file PATH", "Python file that defines it", type=Path)
    add("--layer-option NAME=VALUE ...", "of its constructor")
    return add


NETWORK = FlagGroup(
    "Network",
    LAYER_TYPE,
    choice("--first-layer", None, "Unit of the first layer where it differs from the layer type.",
        kinds.layer_names),
    Flag("--hidden-size", integer(1), 2, "Width between the layers."),
    Flag("--output-size", integer(1), 1, "Number of model outputs, all trained on the one target."),
    choice("--nac-mul", "none",
        "How the second layer multiplies: in log space (normal, safe, max-safe), or as the "
        "multiplicative form of the unit (mnac), an NPU or a RealNPU.", NAC_MUL),
    switch("--mlp-bias", "Give plain activation layers and the linear layer behind them a bias.",
        layer_option="bias"),
    Flag("--mlp-depth", integer(0, 1000), 0,
        "Additional hidden layers of a plain activation network."),
)


def _of_layers(title: str, *flags: Flag) -> FlagGroup:
    """Return a group of flags, each of which sets the layer option that it names, or its own."""
    return FlagGroup(title, *(f.but(layer_option=f.layer_option or f.dest) for f in flags))


WEIGHTS = _of_layers(
    "Weights of NAU, NMU, NRU and NMRU units",
    choice("--oob-mode", "clip",
        "Keep weights in range by clamping them after each update (clip) or by a penalty "
        "(regualized).", ("regualized", "clip"), layer_option="nac_oob"),
    Flag("--mnac-epsilon", number(0, maximum=1), 0,
        "Lower limit of the weights of multiplying units.", sweep=True),
    switch("--nmu-noise",
        "In training, multiply the inputs of NMU-type units by noise that the output undoes."),
    switch("--nau-noise",
        "In training, add noise to the inputs of NAU units that the output undoes."),
    Flag("--noise-range", kinds.noise_range, [1, 5],
        "Bounds of the noise of NMU and SignNMRU; [1,0] means from 1 to 1 + 1/std of the batch "
        "(NMU).", sweep=True),
    switch("--beta-nau", "Start NAU and NRU weights from 2 Beta(7,7) - 1."),
    choice("--nru-div-mode", "div",
        "Forward pass of the NRU: as a whole, or magnitude and sign apart.",
        ("div", "div-sepSign")),
    switch("--trash-cell", "Give the NRU an additive scalar that acts in training only."),
    Flag("--W-set-count", integer(1), 5,
        "Number of weight matrices that MultiWeightNAU rotates through."),
)

NALU = _of_layers(
    "NALU units",
    switch("--nalu-bias", "Add a bias to the gate."),
    switch("--nalu-two-nac", "Use separate weights for adding and multiplying."),
    switch("--nalu-two-gate", "Use separate gates for adding and multiplying."),
    choice("--nalu-mul", "normal",
        "How the multiplying path multiplies; mnac needs --nalu-two-nac.", NALU_MUL),
    choice("--nalu-gate", "normal",
        "Gate between adding and multiplying: plain, with a penalty, sampled, not squashed "
        "(linear), or the same for all inputs (independent).", NALU_GATE),
    choice("--nalu-gate-shape", "matrix",
        "A gate per output (matrix), or one for all outputs (vector).", ("matrix", "vector"),
        young=True, in_name="ng-{nalu_gate_shape:word}"),
    choice("--nalu-init", "default",
        "Initial weights of all matrices: by the paths' units, with Xavier-uniform gates "
        "(default), a normal of deviation 0.02 cut at 0.04 (truncated), Xavier-normal, or from "
        "-0.01 to 0.01 (uniform).", ("default", "truncated", "xavier-normal", "uniform"),
        young=True, in_name="ni-{nalu_init}"),
    choice("--nac-weight", "normal", "Base of the functions that squash NAC weights.",
        ("normal", "golden-ratio")),
)

NPU = _of_layers(
    "NPU and RealNPU units",
    choice("--npu-clip", "none",
        "Clamp after each update: real weights (w), gates (g), both (wg), or imaginary weights as "
        "well (wig, NPU only).", ("none", "w", "g", "wg", "wig")),
    choice("--npu-Wr-init", "xavier-uniform",
        "Start values of the real weights; constrained is the start of the NAU.",
        ("xavier-uniform", "xavier-uniform-constrained")),
    choice("--realnpu-reg-type", "W",
        "Weight penalty of the RealNPU: zero at -1 and 1 (W), or at -1, 0 and 1 (bias).",
        ("W", "bias")),
)


REGUALIZER_SHAPE = choice("--regualizer-shape", "linear",
    "Shape of the sparsity and out-of-bounds penalties; none switches them off.",
    ("squared", "linear", "none"), layer_option="regualizer_shape")

PENALTIES = FlagGroup(
    "Penalties",
    Flag("--regualizer", number(0), 10,
        "Weight of the sparsity penalty, the pull of W towards its discrete values.", sweep=True),
    Flag("--regualizer-z", number(0), 0,
        "Weight of the penalty on what the inputs pass through unset weights.",
        layer_option="regualizer_z", sweep=True),
    Flag("--regualizer-oob", number(0), 1, "Weight of the out-of-bounds penalty.", sweep=True),
    choice("--regualizer-scaling", "linear",
        "How the sparsity penalty grows: a linear ramp, or 1 - exp(-1e-5 iteration).",
        ("exp", "linear")),
    Flag("--regualizer-scaling-start", integer(0), 1000000,
        "Iteration at which the linear ramp leaves 0.", sweep=True),
    Flag("--regualizer-scaling-end", integer(0), 2000000,
        "Iteration at which the linear ramp reaches 1.", sweep=True),
    REGUALIZER_SHAPE,
)

NPU_PENALTIES = FlagGroup(
    "Penalties of the NPU papers",
    choice("--reg-scale-type", "heim",
        "Scale of the NPU penalties: the growing factor beta (heim) or the ramp of the sparsity "
        "penalty (madsen).", ("heim", "madsen")),
    Flag("--regualizer-beta-start", number(0), 1e-5, "First value of beta.", sweep=True),
    Flag("--regualizer-beta-end", number(0), 1e-4, "Last value of beta.", sweep=True),
    Flag("--regualizer-beta-step", integer(1), 10000, "Iterations between two changes of beta.",
        sweep=True),
    Flag("--regualizer-beta-growth", integer(1), 10, "Factor of beta's changes.", sweep=True),
    switch("--regualizer-l1", "Add beta times the norm of all parameters to the loss."),
    Flag("--lp-norm", integer(), 1, "Order of the norm of --regualizer-l1.", choices=(1, 2)),
    Flag("--regualizer-npu-w", integer(0), 0, "Weight of the penalty on undecided NPU weights.",
        layer_option="regualizer_npu_w", sweep=True),
    Flag("--regualizer-gate", integer(0), 0, "Weight of the penalty on undecided gates.",
        layer_option="regualizer_gate", sweep=True),
)

ID = Flag("--id", integer(), -1, "Number that tells equal runs apart.")


def _control(name: str, help: str, kind: Kind | None = None, default: object = False) -> Flag:
    """Return a flag, a switch by default, that says how runs are carried out."""
    why = "it changes how a run is carried out, not what it computes"
    return Flag(name, kind, default, help, unnamed=why, result=False)


LOGGING = FlagGroup(
    "Names, logs and files",
    ID,
    Flag("--name-prefix", kinds.name_prefix, "simple_function_static",
        "Folder (or a/b/c) below the log root that holds the run."),
    _control("--short-names",
        "Name folders by the layer, what varies in the command and the seed, such as `NMU lr=0.01 "
        "s3`, or by the flags that follow.", kinds.flags_shown, None).but(young=True),
    _control("--remove-existing-data",
        "Delete the run's log folder before writing; its saved model stays."),
    _control("--verbose",
        "Also log weights, histograms, gradients and every single penalty; print all flags, the "
        "model and a line for every log point."),
    Flag("--log-interval", integer(1), 1000, "Iterations between two points of the log."),
    _control("--no-save", "Do not save the trained model."),
    _control("--load-checkpoint", "Resume the run from its saved state."),
    _control("--resume",
        "Resume each run that has a saved state, start the others: safe to repeat."),
    _control("--save-best-model", "Also save the model of the lowest validation error."),
)

RUN_CONTROL = FlagGroup(
    "Run control",
    _control("--no-cuda", "Stay on the CPU."),
    Flag("--pytorch-precision", integer(), 32, "Bits of the floating-point numbers.",
        choices=(32, 64)),
    _control("--checkpoint-interval",
        "Iterations between two saved states to resume from; 0 saves at the end only.", integer(0),
        0),
    _control("--ensemble-size",
        "Largest number of runs trained together in one stack; by default chosen by size.",
        integer(1), None),
    _control("--workers",
        "Number of processes that share the planned runs; by default one per CPU core.", integer(1),
        None),
    choice("--engine", "lanes",
        "What trains: lanes, the engine, or torch, one run at a time in plain torch.",
        ("lanes", "torch"), unnamed="both compute the same mathematics, with other last bits",
        young=True),
    _control("--no-compile", "The same as --engine torch."),
    _control("--show-engine", "Print the C++ that the engine makes of the runs, train nothing."),
    _control("--dry-run", "Print the planned runs and their names, train nothing."),
)


PLAIN_RUN_CONTROL = RUN_CONTROL.without("--engine", "--show-engine", "--no-compile").but(
    ensemble_size={"note": "accepted without effect, runs train one by one"}
)
"""That of scripts without the engine."""


def files_and_devices(prefix: str, unit: str, *, by_engine: bool = False) -> FlagGroup:
    """Return flags of names, logs, files and devices, for a script that counts in `unit`."""
    cuda = _control("--cuda",
        "Run on the GPU (true) or the CPU (false); by default the GPU where there is one.",
        kinds.truth, None)
    saves = f"{unit} between two saved states to resume from; 0 saves at the end only."
    return FlagGroup(
        "Names, logs, files and devices",
        *LOGGING.without("--id", "--log-interval", "--save-best-model"),
        *RUN_CONTROL.only("--checkpoint-interval"),
        cuda,
        *(RUN_CONTROL if by_engine else PLAIN_RUN_CONTROL).without("--checkpoint-interval"),
    ).but(name_prefix={"default": prefix}, checkpoint_interval={"help": saves})


def refuse(wrong: object, flag: str, problem: str, remedy: str) -> None:
    if wrong:
        raise OptionError(flag, problem, remedy)


def require_no_zero(sample_range: list[Any], summands: int, flag: str) -> None:
    """Require that the mean square of 1 / (a sum of so many inputs) is finite.

    Of a range that ends at zero, three uniform inputs are enough for that.
    """
    from stable_nalu.dataset.distribution import SampleRange

    intervals = [sorted(interval) for interval in SampleRange.parse(sample_range).intervals]
    low, high = min(i[0] for i in intervals), max(i[1] for i in intervals)
    around = any(i[0] < 0 < i[1] for i in intervals) or (low < 0 < high and summands > 1)
    refuse(around or (summands < 3 and any(0 in interval for interval in intervals)), flag,
        f"division on {sample_range} divides by zero, no score has a finite base there",
        "choose a range without zero, or leave out --random-models and other scores")


def check_schedule(c: Config) -> None:
    start, end = c.regualizer_scaling_start, c.regualizer_scaling_end
    ends = f"and ends at iteration {end}" if start == end else f"at {start} and ends at {end}"
    refuse(c.regualizer_scaling == "linear" and start >= end, "--regualizer-scaling-end",
        f"the ramp starts {ends}",
        "start and end must differ, and the start, --regualizer-scaling-start, comes first")


def check_optimizer(c: Config) -> None:
    refuse(c.optimizer == "adam" and c.momentum, "--momentum",
        f"{c.momentum} has no effect with adam", "add --optimizer sgd")


def check_nalu(c: Config, init: str = "default") -> None:
    """Require a gate that can be built, and own weights for a NALU that multiplies by an NMU.

    init: what --nalu-init is by default, which other units may leave as it is.
    """
    independent = c.nalu_gate == "independent"
    refuse(c.nalu_mul == "mnac" and not c.nalu_two_nac, "--nalu-mul",
        "mnac shares no weights with adding", "add --nalu-two-nac")
    refuse(independent and c.nalu_gate_shape == "vector", "--nalu-gate-shape",
        "vector maps inputs to one gate, an independent gate has no inputs", "leave it out")
    refuse(independent and c.nalu_bias, "--nalu-bias",
        "an independent gate is nothing but a bias", "leave it out")
    asked = {
        "--nalu-gate": c.nalu_gate in ("linear", "independent"),
        "--nalu-gate-shape": c.nalu_gate_shape != "matrix",
        "--nalu-init": c.nalu_init != init,
    }
    if any(asked.values()):
        # Tasks have networks of their own, which are in no registry.
        own = [entries()[unit] for unit in units_of(c) if unit in entries()]
        refuse(not any("nalu_gate" in entry.options for entry in own),
            next(flag for flag, asks in asked.items() if asks),
            f"{units_of(c)[0]} is not a NALU and has no gate", "use --layer-type NALU")


def check_files(c: Config) -> None:
    for flag, given in (("--load-checkpoint", c.load_checkpoint), ("--resume", c.resume)):
        refuse(given and c.remove_existing_data, "--remove-existing-data",
            f"would delete the log of the run that {flag} resumes", "give only one of the two")
    refuse(c.no_save and c.checkpoint_interval, "--checkpoint-interval",
        "saves nothing with --no-save", "give only one of the two")


def check_cell(c: Config) -> None:
    """Require a cell that multiplies as asked for, and one label where a reference replaces it."""
    if c.nac_mul == "mnac":
        check_multiplying_form(c, kinds.cell_names())
    outputs = next(getattr(c, f) for f in ("mnist_outputs", "svhn_outputs") if hasattr(c, f))
    refuse(c.model_simplification != "none" and outputs > 1, "--model-simplification",
        f"{c.model_simplification} takes one label, the image network gives {outputs}",
        "ask for one output")
    refuse(c.nac_mul == "normal" and c.layer_type == "LSTM", "--nac-mul",
        "an LSTM has a pair of states and no logarithm of it", "leave it out")


def check_multiplying_form(c: Config, units: Sequence[str]) -> None:
    """Require that `units` hold the form of a unit that multiplies, as `mnac` asks for."""
    multiplying = [f"{name[:-4]}NAC" for name in units if name.endswith("MNAC")]
    refuse(c.layer_type not in multiplying, "--nac-mul",
        f"{c.layer_type} has no multiplying form for mnac",
        f"units that have one: {', '.join(multiplying)}")


def check_device(c: Config) -> None:
    refuse(c.cuda and c.no_cuda, "--cuda", "contradicts --no-cuda", "give only one of the two")
    if c.cuda:
        import torch

        refuse(not torch.cuda.is_available(), "--cuda", "there is no GPU that torch can use",
            "leave it out")
# fmt: on


_OTHERS, _LAYER = "--layer-option", "--layer-type"
_SEQUENCES = (list, tuple)
_KINDS = {float: (float, int), list: _SEQUENCES, tuple: _SEQUENCES}
"""Types that do for a default of another one."""


def load_own_layers(argv: Sequence[str]) -> None:
    """Load the layers of installed packages and of the files behind --layer-file, --task-file."""
    paths: list[tuple[str, str]] = []
    flag = ""
    for word in argv:
        if word.startswith("--"):
            name, _, value = word.partition("=")
            flag = name if name in ("--layer-file", "--task-file") else ""
            paths += [(value, flag)] if flag and value else []
        elif flag:
            paths.append((word, flag))
    if not paths and not installed_layers():
        return
    from stable_nalu.layer.own_layers import load_installed_layers, load_layer_file

    load_installed_layers()
    for path, flag in paths:
        load_layer_file(path, flag=flag)


def units_of(config: Config) -> list[str]:
    names = (getattr(config, flag, None) for flag in ("layer_type", "first_layer", "nalm_name"))
    return [name for name in names if name]


_BRINGING = "target", "data", "train", "test", "train_criterion", "optimizer", "schedule"
"""Flags that may name what a program has brought."""


def owned_names(config: Config) -> list[str]:
    """Return the words of a configuration that may name layers or other things of a program."""
    values = [getattr(config, flag, None) for flag in _BRINGING]
    several = (one if isinstance(one, tuple) else (one,) for one in values)
    return [*units_of(config), *(str(word) for words in several for word in words if word)]


def own_options(config: Config, by_flag: Mapping[str, str]) -> dict[str, Any]:
    """Return what --layer-option sets; refuse what no unit of the run takes.

    by_flag: the flags of the script by the option that each sets.
    """
    known: dict[str, inspect.Parameter] = {}
    units = units_of(config) if config.layer_option else []
    for entry in [entries()[unit] for unit in units if unit in entries()]:
        # Flags are read by layers that were written for them.
        taken = () if entry.is_plain else by_flag
        known |= {name: p for name, p in entry.parameters.items() if name not in taken}
    options: dict[str, Any] = {}
    for word in config.layer_option:
        name, _, value = word.partition("=")
        if name in known:
            options[name] = _converted(word, value, known[name].default)
            continue
        refuse(name in by_flag, _OTHERS, f"{name} has a flag", f"use {by_flag.get(name)}")
        empty = inspect.Parameter.empty
        shown = (n if p.default is empty else f"{n}={p.default}" for n, p in known.items())
        taken = f"it takes {', '.join(shown) or 'no options'}"
        remedy = f"{did_you_mean(name, known, '')} {taken}".strip()
        raise OptionError(_OTHERS, f"{[*units, 'the last layer'][0]} takes no {name!r}", remedy)
    return options


def _converted(word: str, value: str, default: Any) -> Any:
    """Return a value of the type of the default; without one, what Python reads it as."""
    if isinstance(default, str):
        return value
    truth = {"true": True, "false": False}
    try:
        read = truth[value.lower()] if value.lower() in truth else ast.literal_eval(value)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        read = value
    kind = cast("type[Any]", type(default))
    free = default is None or default is inspect.Parameter.empty
    refuse(
        not free and type(read) not in _KINDS.get(kind, (kind,)),
        _OTHERS,
        f"{word} is of another kind",
        f"the default is {default!r}",
    )
    return read


def _flags_of(flags: Sequence[Flag], word: str, *, pairs: bool) -> list[str] | None:
    """Return the flags that a name of the papers means, as words. None: it is not a name.

    pairs: whether --nac-mul decides how the model multiplies, or a name is one unit.
    """
    table = kinds.MODELS if pairs else kinds.UNITS
    name, entry = kinds.found_in(table, word), kinds.registered(word)
    if name is not None:
        return table[name].split()
    if entry is None:
        return None
    key, options = entry
    unit = [_LAYER, key]
    if pairs and key.endswith("MNAC"):
        unit = [_LAYER, f"{key.removesuffix('MNAC')}NAC", "--nac-mul", "mnac"]
    return unit + option_words(flags, options)


def option_words(flags: Sequence[Flag], options: Mapping[str, object]) -> list[str]:
    """Return the words that set layer options; of those without a flag, by --layer-option."""
    names = {flag.layer_option or flag.dest: flag.name for flag in flags}
    words: dict[str, list[str]] = {}
    for option, value in options.items():
        if option in names:
            words[names[option]] = [] if value is True else [f"{value}".replace(" ", "")]
        else:
            words.setdefault(_OTHERS, []).append(f"{option}={value}")
    return [word for flag, given in words.items() for word in (flag, *given)]


def with_flags(script: Any, typed: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
    """Return what was typed, with the flags that names of the papers stand for in their place.

    script: its description, a `ScriptSpec`.
    """
    given = dict(typed)
    for flag in [f for f in script.flags if callable(f.choices) and f.dest in typed]:
        (word,) = typed[flag.dest]
        if word in (flag.allowed() or ()):
            if flag.dest == "layer_type" and script.nac_mul_acts:
                _refuse_ambiguous(word, typed)
            continue
        words = _flags_of(script.flags, word, pairs=script.nac_mul_acts)
        if words is None:
            name = kinds.found_in(kinds.MODELS, word)
            if name is None:
                raise flag.no_choice(word)
            problem = f"{word} is a model of two layers, {script.name} trains one unit"
            remedy = f"type {kinds.MODELS[name]} for simple_function_static.py"
            raise OptionError(flag.name, problem, remedy)
        if flag.dest == "layer_type":
            given |= _read_name(script, word, words, typed)
        else:
            given[flag.dest] = [_one_unit(script, flag, word)]
    return given


def _read_name(
    script: Any, name: str, words: list[str], typed: Mapping[str, list[Any]]
) -> dict[str, list[Any]]:
    """Return the values of the flags of a name, which nothing that was typed contradicts."""
    known: dict[str, Flag] = {flag.name: flag for flag in script.flags}
    stands = f"{name} stands for {shlex.join(words)}"
    named: dict[str, list[str]] = {}
    for word in words:
        if word.startswith("--"):
            named[word] = []
        else:
            named[list(named)[-1]].append(word)
    read: dict[str, list[Any]] = {}
    for flag_name, values in named.items():
        flag = known.get(flag_name)
        if flag is None:
            if flag_name == "--first-layer":
                continue  # A script with one cell.
            remedy = "train it by a script that has it, see docs/flags.md"
            raise OptionError(_LAYER, f"{stands}; {script.name} has no {flag_name}", remedy)
        allowed = flag.allowed()
        if values and allowed is not None and values[0] not in allowed:
            if flag_name == _LAYER:
                raise flag.no_choice(name)
            raise OptionError(_LAYER, stands, f"{script.name} has no {flag_name} {values[0]}")
        read[flag.dest] = flag.read(values)
        if flag_name == _OTHERS:
            own = typed.get(flag.dest, [()])
            read[flag.dest] = [(*more, *one) for more in own for one in read[flag.dest]]
        elif flag_name != _LAYER and typed.get(flag.dest, read[flag.dest]) != read[flag.dest]:
            raise OptionError(flag.name, f"another value than {stands}", "leave one of them out")
    return read


def _one_unit(script: Any, flag: Flag, word: str) -> str:
    """Return the key of a name, for a flag that names nothing but one unit."""
    words = _flags_of(script.flags, word, pairs=False)
    if words is None:
        raise OptionError(flag.name, f"{word} is a pair of layers", "name one unit by its key")
    _, key, *options = words
    remedy = f"type the key, {key}, and its flags (docs/layers.md)"
    refuse(options, flag.name, f"{word} is {key} with options", remedy)
    if key not in (flag.allowed() or ()):
        raise flag.no_choice(word)
    return key


def _refuse_ambiguous(word: str, typed: Mapping[str, list[Any]]) -> None:
    """Refuse a key that papers have for another model, unless the second layer is named, too."""
    name = kinds.found_in(kinds.MODELS, word)
    entry = entries().get(word)
    if name is None or entry is None or entry.origin or {"nac_mul", "first_layer"} & set(typed):
        return
    alone = f"--layer-type {word} --nac-mul none for two layers of {word}"
    remedy = f"type {kinds.MODELS[name]} for the published model, or {alone}"
    is_another = kinds.MODELS[name] != f"--layer-type {word}"
    refuse(is_another, _LAYER, f"{word} alone has two meanings here", remedy)


_SHORT = {"seed": "s{}", "learning_rate": "lr={}", "operation": "{}", "id": "#{}"}
_HOW = {"verbose", "name_prefix", "id"}
"""Flags that say how runs are recorded."""


def varying(flags: Sequence[Flag], configs: Sequence[Config]) -> list[str]:
    """Return the flags in which runs differ; of two that differ together, the first."""
    varying: dict[str, list[str]] = {}
    for flag in [one for one in flags if one.result and one.dest not in _HOW]:
        values = [repr(getattr(config, flag.dest)) for config in configs]
        if len(set(values)) == 1:
            continue
        pairs = (set(zip(values, others, strict=True)) for others in varying.values())
        if not any(len(both) == len(set(values)) for both in pairs):
            varying[flag.dest] = values
    return list(varying)


def label(config: Config, dests: Sequence[str]) -> str:
    """Return the values of these flags in one short text."""
    parts: list[str] = []
    for dest in dests:
        value = getattr(config, dest)
        if dest == "layer_type":
            parts.append(layer_label(value))
        elif dest.endswith("_range"):
            parts.append(range_label(value))
        else:
            if isinstance(value, tuple):
                value = ",".join(map(str, cast("tuple[Any, ...]", value)))
            parts.append(_SHORT.get(dest, f"{dest}={{}}").format(value))
    return " ".join(parts)


def short_leaf(config: Config) -> str:
    """Return the folder name of a run with --short-names: its layers, and the flags it shows."""
    names = [(layer_label(key).replace(" ", ""), key) for key in units_of(config)]
    shown = (name if name.replace("-", "").isalnum() else key for name, key in names)
    layers = "+".join(shown) or config.script
    mul = getattr(config, "nac_mul", "none")
    parts = [layers + ("" if mul == "none" else f"+{mul}"), label(config, config.short_names)]
    return " ".join(filter(None, parts)).replace("/", "|")


def layer_label(key: str) -> str:
    entry = entries().get(key)
    return plain(entry.label) if entry is not None and entry.label else key


def range_label(value: Any) -> str:
    """Return `U[1,2)` for the text or the list of a range."""
    label = f"U{value}".replace(" ", "")
    return half_open(label) if label.count("[") == 1 else label


def half_open(label: str) -> str:
    """Return a range as every axis and table prints it: `U[1,2)`, which has no upper end."""
    return label.replace("]", ")")


def units_label(config: Config) -> str:
    """Return the layers of a run, each with its key where that is another word."""
    named = {key: layer_label(key) for key in units_of(config)}
    return " + ".join(name if name == key else f"{name} ({key})" for key, name in named.items())
