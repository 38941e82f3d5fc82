"""The options of a run, from its record or its name, and the labels of its model and operation.

Models are known by field 1 of a run name. Runs are grouped by labels, so that models with the same
label count as one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache
from string import Formatter
from typing import TYPE_CHECKING, Any, NamedTuple

from stable_nalu.errors import UsageError
from stable_nalu.paper.labels import MODELS
from stable_nalu.paper.ranges import AMPERSAND, UNION, canonical

if TYPE_CHECKING:
    import pandas as pd

    from stable_nalu.options import Config
    from stable_nalu.writer.run_record import RunRecord

Columns = dict[str, Any]

ROBUSTNESS_MODELS = {"signnmru": "Sign NMRU"}
"""Labels that only the robustness figures use."""

OPERATIONS = {
    "mul": (r"$\bm{\times}$", "×"),
    "div": (r"$\bm{\mathbin{/}}$", "/"),
    "add": (r"$\bm{+}$", "+"),
    "sub": (r"$\bm{-}$", "-"),
    "root": (r"$\sqrt{z}$", "√z"),
    "squared": (r"$z^2$", "z²"),
    "reciprocal": (r"$1\bm{\mathbin{/}z}$", "1/z"),
    "cumsum": ("cumsum", "cumsum"),
    "cumprod": ("cumprod", "cumprod"),
}
"""Operation -> LaTeX and plain label, in the order of tables."""


def model_label(code: str, *, robustness: bool = False) -> str:
    """Return the label of a model, given field 1 of a run name, or else that of its unit."""
    labels = MODELS | (ROBUSTNESS_MODELS if robustness else {})
    return labels.get(code) or unit_label(code)


def unit_label(code: str) -> str:
    """Return what the table of layers calls a unit; one that is not known is shown as it stands."""
    from stable_nalu.layer import entries

    return next((e.shown for key, e in entries().items() if key.lower() == code), code)


def plain(label: str) -> str:
    """Return a label without LaTeX, for terminals and documents."""
    text = label.replace(r"\bullet", "•").replace(r"\sigma", "σ").replace(r"\odot", "⊙")
    text = text.replace(r"\mathcal{R}_{sparse}", "R_sparse")
    text = re.sub(r"\\(?:mathrm|mathbf|hat|bm)\b", "", text)
    return re.sub(r"[${}\\]", "", text)


def operation_label(operation: str, *, latex: bool = False) -> str:
    """Return the label of an operation, given with or without the prefix `op-`."""
    name = operation.removeprefix("op-")
    return OPERATIONS.get(name, (name, name))[0 if latex else 1]


def model_order(label: str) -> tuple[bool, str]:
    """Return the sort key of a label: LaTeX labels first, then alphabetical."""
    return not label.startswith("$"), label


def expand_names(names: Iterable[str]) -> pd.DataFrame:
    """Return a table of one row per run name, with its options as `expand_name` returns them."""
    import pandas as pd

    try:
        options = [expand_name(name) for name in names]
    except ValueError as error:
        raise UsageError(str(error)) from None
    return pd.DataFrame(options, columns=None if options else ["name", "model"])


_OF_MODEL = {"layer.option": "", "nalu.gate.shape": "matrix", "nalu.init": "default"}
"""Column that makes another model of a unit -> its value where it does not."""


def expand_name(name: str, columns: Columns | None = None) -> Columns:
    """Return the options of a run of an arithmetic script, with its name.

    `model` is the label, `model_code` is field 1. Raises ValueError for a name that ends before
    its seed.

    columns: the options; None: those that the name holds.
    """
    columns = dict(columns or parse_leaf(name))
    if "seed" not in columns:
        raise ValueError(f"run name {name!r} is not of an arithmetic task: it has no seed")
    single = is_single_module(columns["input.size"], columns["subset.ratio"])
    columns = signed(columns, AMPERSAND if single else UNION)
    label = model_label(columns["model_code"])
    # A table of runs has empty cells where the script of a run does not have the option.
    own = [columns[n] for n, usual in _OF_MODEL.items() if columns.get(n) not in (None, usual)]
    return {"name": name, "model": f"{label} ({', '.join(own)})" if own else label} | columns


def is_single_module(input_size: float, subset_ratio: float | None) -> bool:
    """Return whether the operands are single inputs, that is subsets of size one."""
    return subset_ratio is not None and round(input_size * subset_ratio, 6) == 1


_NUMBER = r"-?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?"
_BOUNDS = rf"({_NUMBER})-({_NUMBER})"
_PART = rf"\[({_NUMBER}), ({_NUMBER})\]"
_OPTIMIZERS = {"adam": "Adam", "sgd": "SGD"}


class _Kind(NamedTuple):
    """How a value stands in a run name, and how the text or the flag's value becomes a cell."""

    pattern: str
    of_text: Callable[[str], Any]
    of_value: Callable[[Any], Any]


def _range(text: str) -> str:
    pairs = re.findall(_PART, text) or [re.fullmatch(_BOUNDS, text).groups()]  # pyright: ignore[reportOptionalMemberAccess] — the pattern of the kind
    return _union(pairs)


def _range_of_value(value: Any) -> str:
    return _union(value[:2] if isinstance(value[0], list | tuple) else [value])


def _union(pairs: Iterable[Any]) -> str:
    return f" {UNION} ".join(f"U[{low},{high}]" for low, high in pairs)


_KINDS = {
    "text": _Kind(".+", str, str),
    "word": _Kind("[^-]+", str, str),
    "float": _Kind(_NUMBER, float, float),
    "int": _Kind(r"-?\d+", int, int),
    "bool": _Kind("[TF]", lambda t: t == "T", bool),
    "weight": _Kind("[TF]", lambda t: float(t == "T"), float),
    "limit": _Kind(
        f"F|{_NUMBER}",
        lambda t: None if t == "F" else float(t),
        lambda v: None if v is None else float(v),
    ),
    "range": _Kind(rf"{_BOUNDS}|{_PART}-{_PART}", _range, _range_of_value),
    "control": _Kind(".*", lambda t: "regualized" if t == "r" else "clip", str),
    "optimizer": _Kind("|".join(_OPTIMIZERS), _OPTIMIZERS.__getitem__, _OPTIMIZERS.__getitem__),
    "criterion": _Kind("mse|mape|pcc-mse|pcc", str, str),
    "switch": _Kind(r"(?:-\d+)?", lambda t: int(t[1:]) if t else None, int),
    "suffix": _Kind("(?:-TC)?", bool, bool),
    "TC": _Kind("TC", bool, bool),
    "scale": _Kind("[HM]", {"H": "heim", "M": "madsen"}.__getitem__, str),
    "initial": _Kind("W|bias|b", lambda t: t[0], lambda v: v[0]),
    "clip": _Kind("n|w|g|wg|wig", str, lambda v: "n" if v == "none" else v),
    "options": _Kind(".+", str, lambda v: "-".join(v).replace("_", ".")),
    "init": _Kind("xuc?", str, lambda v: "xu" if v == "xavier-uniform" else "xuc"),
}
_COMMON = (
    ("the operation", "op-{operation:text}"),
    ("the range control", "oob-{oob.control:control}"),
    ("the penalty's scaling and shape", "rs-{regualizer.scaling:word}-{regualizer.shape:word}"),
    ("an epsilon", "eps-{epsilon.zero:float}"),
    ("the penalty's ramp", "rl-{regualizer.scaling.start:float}-{regualizer.scaling.end:float}"),
    ("the penalties' weights", "r-{regualizer:float}-{regualizer.z:float}-{regualizer.oob:float}"),
    ("a range", "i-{interpolation.range:range}"),
    ("a range", "e-{extrapolation.range:range}"),
    ("the data sizes", "z-{input.size:float}-{subset.ratio:float}-{overlap.ratio:float}"),
    ("the batch size", "b{batch.size:int}"),
    ("the seed", "s{seed:int}"),
    ("the hidden size", "h{hidden.size:int}"),
    ("the number of subsets", "z{num.subsets:int}"),
    (
        "the optimizer",
        "lr-{learning.optimizer:optimizer}-{learning.rate:float}-{learning.momentum:float}",
    ),
)
"""Fields 2 to 15, with the columns that they hold: what each is, and how it is written."""

_TAIL = (
    "D-{train.distribution:text}",
    "n-{noise.range:range}",
    "L1{l1:bool}",
    "rb-{regualizer.beta.start:float}-{regualizer.beta.end:float}"
    "-{regualizer.beta.step:int}-{regualizer.beta.growth:int}",
    "rWnpu-{regualizer.npu.W:float}-{regualizer.npu.W.type:initial}",
    "rWnpu-{regualizer.npu.W:float}",
    "rWnpu{regualizer.npu.W:weight}",
    "rg-{regualizer.gate:float}",
    "r{reg.scale.type:scale}",
    "r{reinit:bool}-{reinit.epoch.interval:int}-{reinit.max.stored.losses:int}",
    "clip-{npu.clip:clip}",
    "WrI-{npu.W_real.init:init}",
    "p-{pytorch.precision:int}",
    "nM{nmu.noise:bool}",
    "nA{nau.noise:bool}",
    "Bnau{beta.nau:bool}",
    "gn-{grad.norm.clip:limit}",
    "gv-{grad.value.clip:limit}",
    "TB-{log.interval:int}",
    "{train.criterion:criterion}{pcc2mse.iteration:switch}{trash.cell:suffix}",
    "id{id:int}",
    "rt-{regualizer.npu.W.type:initial}",
    "ws-{W.set.count:int}",
    "{trash.cell:TC}",
    "lo-{layer.option:options}",
    "ng-{nalu.gate.shape:word}",
    "ni-{nalu.init:text}",
    "x-{extrapolation.rule:word}",
    "rm{random.models:int}",
)
"""Later fields, in any order."""

_FLAGS = {
    "oob.control": "oob_mode",
    "epsilon.zero": "mnac_epsilon",
    "learning.optimizer": "optimizer",
    "learning.momentum": "momentum",
    "train.distribution": "sample_distribution",
    "l1": "regualizer_l1",
    "regualizer.npu.W": "regualizer_npu_w",
    "regualizer.npu.W.type": "realnpu_reg_type",
    "npu.W_real.init": "npu_Wr_init",
    "grad.norm.clip": "clip_grad_norm",
    "grad.value.clip": "clip_grad_value",
}
"""Column -> its flag, where that is not named alike."""

_RANGES = ("interpolation.range", "extrapolation.range")
_SIMPLE = {"input.size": 4.0, "subset.ratio": None, "overlap.ratio": None}
_OLDEST = {
    "hidden.size": 2,
    "learning.optimizer": "Adam",
    "learning.rate": 0.001,
    "learning.momentum": 0.0,
}
"""Of the oldest names, which lack these fields."""


def parse_leaf(leaf: str) -> Columns:
    """Return the columns that a run name of an arithmetic script holds.

    Fields 1 to 15 are read by position, later ones by what they begin with. Numbers compare as
    parsed: `r-10` and `r-10.0` give the same. `model_code` is field 1 as it stands.
    """
    model, *rest = leaf.split("_")
    columns: Columns = {"model_code": model}
    for text, (what, pattern) in zip(rest, _COMMON, strict=False):
        found = _SIMPLE if text == "z-simple" else _match(pattern, text)
        if found is None:
            raise ValueError(f"run name {leaf!r}: field {text!r} does not hold {what}")
        columns |= found
    columns = {**columns, **{n: cell for n, cell in _OLDEST.items() if n not in columns}}
    for text in rest[len(_COMMON) :]:
        found = next(filter(None, (_match(pattern, text) for pattern in _TAIL)), None)
        if found is None:
            raise ValueError(f"run name {leaf!r}: field {text!r} is not known")
        columns |= found
    return columns


def signed(columns: Columns, sign: str) -> Columns:
    """Return the columns with another sign between the parts of two-part ranges.

    It is `∪` in tables of the arithmetic data set, and `&` in those of single layers.
    """
    return columns | {name: canonical(columns[name], sign) for name in _RANGES if name in columns}


def _match(pattern: str, text: str) -> Columns | None:
    expression, columns = _compiled(pattern)
    match = expression.fullmatch(text)
    if match is None:
        return None
    return {name: kind.of_text(match[f"c{k}"]) for k, (name, kind) in enumerate(columns)}


@cache
def _compiled(pattern: str) -> tuple[re.Pattern[str], list[tuple[str, _Kind]]]:
    """Return the regular expression of a field, and the columns and kinds of its groups."""
    expression, columns = "", []
    for literal, name, kind, _ in Formatter().parse(pattern):
        expression += literal
        if name is not None:
            expression += f"(?P<c{len(columns)}>{_KINDS[str(kind)].pattern})"
            columns.append((name, _KINDS[str(kind)]))
    return re.compile(expression), columns


def record_columns(record: RunRecord) -> Columns:
    """Return the options of a run from its record, as `config_columns` does."""
    from stable_nalu.options import Config
    from stable_nalu.task import SCRIPTS

    spec = SCRIPTS[record.script]
    return config_columns(Config(spec.name, record.config, fixed=spec.fixed))


def config_columns(config: Config) -> Columns:
    """Return the options of a run from its configuration: all that can change what it computes.

    What a run name of an arithmetic script can hold is as `parse_leaf` returns it, but for learning
    rates, which are not rounded. Other options are called as their flags.
    """
    from stable_nalu.options.name_fields import COMMON
    from stable_nalu.task import SCRIPTS

    spec, own = SCRIPTS[config.script], config.as_dict()
    dests = [flag.dest for flag in spec.flags if flag.result and flag.dest in own]
    if COMMON[0] not in spec.name_fields:
        return {dest.replace("_", "."): _plain(own[dest]) for dest in dests}
    fields = (*(pattern for _, pattern in _COMMON), *_TAIL)
    kinds = dict(pair for field in fields for pair in _compiled(field)[1])
    names = {flag: name for name, flag in _FLAGS.items()}
    columns: Columns = {"model_code": spec.name_fields[0].text(config)}
    for dest in dests:
        name, value = names.get(dest, dest.replace("_", ".")), own[dest]
        columns[name] = kinds[name].of_value(value) if name in kinds else _plain(value)
    if config.simple:
        columns |= _SIMPLE
    if "train.distribution" in columns:
        shown = next(f for f in spec.name_fields if f.flags == ("sample_distribution",))
        columns["train.distribution"] = str(shown.text(config)).removeprefix("D-")
    if "train.criterion" in columns:
        columns["trash.cell"] = bool(config.trash_cell)
        if config.train_criterion != "pcc-mse":
            columns["pcc2mse.iteration"] = None
    return columns


def _plain(value: Any) -> Any:
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else value
