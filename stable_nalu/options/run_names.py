"""Run names: the fields, how each is written and read back, and the names of published logs.

A field is written as a pattern, such as `lr-{optimizer:optimizer}-{learning_rate:rate}`: the flags
whose values it shows, and the form of each. The order of fields in a script's list is their order
in the name, which readers address by position. Optional fields stand at the end and vanish while
their flags are at the default. Names are read where a run has no record.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from string import Formatter
from typing import Any, cast

from . import flags
from .flag import Config, Flag, FlagGroup

Columns = dict[str, Any]

AMPERSAND, UNION = "&", "∪"
"""Sign between the parts of a two-part range: in single-layer tables, in the others."""

COLLIDING = "safe and max-safe print the same letter"
_NUMBER = r"-?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?"
_BOUNDS = rf"({_NUMBER})-({_NUMBER})"
_PART = rf"\[({_NUMBER}), ({_NUMBER})\]"


@dataclass(frozen=True)
class Notation:
    """How a value is written in a name.

    pattern: regular expression of its text.
    read: makes a cell of a table from the text.
    write: makes the text from the value of a flag.
    exact: makes the cell from the value, where the text says less.
    partial: why two values can have one text, where they can.
    """

    pattern: str = ".+"
    read: Callable[[str], Any] = str
    write: Callable[[Any], str] = str
    exact: Callable[[Any], Any] | None = None
    partial: str = ""

    def cell(self, value: Any) -> Any:
        return self.exact(value) if self.exact else self.read(self.write(value))


def _coded(codes: Mapping[Any, str]) -> Notation:
    read = {code: value for value, code in codes.items()}
    return Notation("|".join(read), read.__getitem__, codes.__getitem__)


def _read_range(text: str) -> str:
    pairs = re.findall(_PART, text) or re.findall(f"^{_BOUNDS}$", text)
    return f" {UNION} ".join(f"U[{low},{high}]" for low, high in pairs)


_RANGE = Notation(rf"{_BOUNDS}|{_PART}-{_PART}", _read_range, lambda v: f"{v[0]}-{v[1]}")
# A form is a line of a table.
# fmt: off
_NOTATIONS: dict[str, Notation] = {
    "": Notation(),
    "word": Notation("[^-]+"),
    "int": Notation(r"-?\d+", int),
    "float": Notation(_NUMBER, float, exact=float),
    "rate": Notation(_NUMBER, float, "{:.5f}".format, float, "printed with five decimals"),
    "bool": _coded({True: "T", False: "F"}),
    "weight": Notation("[TF]", lambda t: float(t == "T"), lambda v: "T" if v else "F", float),
    "limit": Notation(f"F|{_NUMBER}", lambda t: None if t == "F" else float(t),
        lambda v: "F" if v is None else str(v)),
    "pair": _RANGE,
    "range": replace(_RANGE, partial="only the first two parts are printed"),
    "joined": Notation("[^_]+", str, lambda v: "".join(map(str, v))),
    "ends": Notation(r"[\d-]+", str, lambda v: "-".join(map(str, sum(v, [])))),
    "listed": Notation("[^_]+", str, lambda v: v.replace(",", "-")),
    "words": Notation(".+", str, lambda v: re.sub(r"[/\s]+", "", "&".join(v)).replace("_", "."),
        partial="blanks and strokes are not printed"),
    "lengths": Notation(r"[\d-]+", str, lambda v: "-".join(map(str, v))),
    "control": Notation(".*", lambda t: "regualized" if t == "r" else "clip",
        lambda v: "r" if v == "regualized" else "c"),
    "optimizer": Notation(r"adam|sgd|adamw|nadam|(?:flux-)?rmsprop|[\w.]+-[0-9a-f]{8}\(\)",
        lambda t: {"adam": "Adam", "sgd": "SGD"}.get(t, t)),
    "criterion": Notation("mse|mape|pcc-mse|pcc"),
    "switch": Notation(r"(?:-\d+)?", lambda t: int(t[1:]) if t else None, "-{}".format),
    "suffix": Notation("(?:-TC)?", bool, lambda v: "-TC" if v else ""),
    "TC": Notation("TC", bool, lambda v: "TC" if v else ""),
    "scale": _coded({"heim": "H", "madsen": "M"}),
    "initial": Notation("W|bias|b", lambda t: t[0], lambda v: v[0]),
    "whole": Notation("W|bias|b", lambda t: t[0]),
    "clip": Notation("n|w|g|wg|wig", str, lambda v: "n" if v == "none" else v),
    "options": Notation(".+", str, lambda v: "-".join(v).replace("_", "."),
        partial="underscores, which part the fields, are printed as dots"),
    "init": Notation("xuc?", str, lambda v: "xu" if v == "xavier-uniform" else "xuc"),
}
"""The forms of values, as patterns of fields name them."""

_COLUMNS = {
    "oob_mode": "oob.control", "mnac_epsilon": "epsilon.zero", "optimizer": "learning.optimizer",
    "momentum": "learning.momentum", "sample_distribution": "train.distribution",
    "regualizer_l1": "l1", "regualizer_npu_w": "regualizer.npu.W",
    "realnpu_reg_type": "regualizer.npu.W.type", "npu_Wr_init": "npu.W_real.init",
    "clip_grad_norm": "grad.norm.clip", "clip_grad_value": "grad.value.clip",
    "mnist_outputs": "hidden.size",
}
"""Flag -> its column, where that is not named alike."""

_NALU_MUL = {"safe": "s", "max-safe": "s", "trig": "t", "mnac": "m"}
_NALU_GATE = {"regualized": "r", "gumbel": "u", "obs-gumbel": "uu", "linear": "l",
    "independent": "i"}
_NAC_MUL = {"normal": "n", "safe": "s", "max-safe": "s", "mnac": "m", "npu": "npu",
    "real-npu": "npur"}
# fmt: on


@dataclass(frozen=True)
class NameField:
    """One `_`-separated field.

    text: what it prints for a configuration, or None for nothing.
    flags: dests of the flags whose value it shows.
    partial: flags of which two values can share a text, and why.
    optional: the field vanishes while all its flags are at their default.
    pattern: how it is read; "": it is not.
    """

    text: Callable[[Config], str | None]
    flags: tuple[str, ...]
    partial: Mapping[str, str] = field(default_factory=dict[str, str])
    optional: bool = False
    pattern: str = ""

    def read(self, text: str) -> Columns | None:
        """Return the columns that a text holds; None for the text of another field."""
        expression, forms = _compiled(self.pattern)
        match = expression.fullmatch(text)
        if match is None:
            return None
        return {column_of(dest): form.read(match[dest]) for dest, form in forms.items()}


@cache
def _compiled(pattern: str) -> tuple[re.Pattern[str], dict[str, Notation]]:
    """Return the regular expression of a field, and the forms of the flags that it holds."""
    expression, forms = "", dict[str, Notation]()
    for literal, dest, form, _ in Formatter().parse(pattern):
        expression += literal
        if dest is not None:
            forms[dest] = _NOTATIONS[form or ""]
            expression += f"(?P<{dest}>{forms[dest].pattern})"
    return re.compile(expression), forms


def column_of(dest: str) -> str:
    return _COLUMNS.get(dest, dest.replace("_", "."))


def template(pattern: str) -> NameField:
    """Return a field written as a pattern over flags, such as `b{batch_size:int}`."""
    forms = _compiled(pattern)[1]
    plain = re.sub(r":\w+}", "}", pattern)

    def text(c: Config) -> str:
        return plain.format_map({d: form.write(getattr(c, d)) for d, form in forms.items()})

    partial = {dest: form.partial for dest, form in forms.items() if form.partial}
    return NameField(text, tuple(forms), partial, pattern=pattern)


def either(flag: str, when_true: str, when_false: str) -> NameField:
    return NameField(lambda c: when_true if getattr(c, flag) else when_false, (flag,))


def trailing(inner: NameField) -> NameField:
    """Return a field that vanishes at the default, for options younger than the script's names."""
    return replace(inner, optional=True)


def of_flags(*declared: Flag) -> Iterator[NameField]:
    """Yield the fields that flags say of themselves, which vanish at their defaults.

    A text without a flag in it is shown while its switch is on.
    """
    for flag in declared:
        if flag.in_name and "{" not in flag.in_name:
            text = flag.in_name
            yield NameField(lambda c, text=text: text, (flag.dest,), optional=True, pattern=text)
        elif flag.in_name:
            yield trailing(template(flag.in_name))


def all_trailing(*fields: NameField | str) -> Iterator[NameField]:
    """Yield fields that vanish at their defaults; a text holds patterns, with blanks between."""
    for one in fields:
        own = map(template, one.split()) if isinstance(one, str) else [one]
        yield from map(trailing, own)


NALU_FLAGS = ("nalu_bias", "nalu_two_nac", "nalu_two_gate", "nalu_mul", "nalu_gate")


def nalu_codes(c: Config) -> list[str]:
    """Return what a name says of a NALU's gate and weights."""
    switches = {"b": c.nalu_bias, "2n": c.nalu_two_nac, "2g": c.nalu_two_gate}
    codes = [code for code, is_on in switches.items() if is_on]
    return [*codes, *filter(None, (_NALU_MUL.get(c.nalu_mul), _NALU_GATE.get(c.nalu_gate)))]


def two_layer_model(c: Config) -> str:
    """Return what the name of a run of two layers, or of a cell, begins with."""
    name = c.layer_type.lower()
    if c.nac_mul != "none":
        name += "-nac-"
    if getattr(c, "first_layer", None) == "MultiWeightNAU":
        name += "-mwnac"
    name += _NAC_MUL.get(c.nac_mul, "")
    codes = nalu_codes(c)
    return name + ("-nalu-" + "".join(codes) if codes else "")


def criterion(c: Config) -> str:
    is_both = c.train_criterion == "pcc-mse"
    return f"pcc-mse-{c.pcc2mse_iteration}" if is_both else c.train_criterion


RECURRENT_MODEL = NameField(
    two_layer_model, ("layer_type", "nac_mul", *NALU_FLAGS), {"nalu_mul": COLLIDING}
)
RATE = template("lr-{optimizer:optimizer}-{learning_rate:rate}-{momentum:float}")
PENALTY_FIELDS = (
    template("rs-{regualizer_scaling:word}-{regualizer_shape:word}"),
    template("eps-{mnac_epsilon:float}"),
    template("rl-{regualizer_scaling_start:float}-{regualizer_scaling_end:float}"),
    template("r-{regualizer:float}-{regualizer_z:float}-{regualizer_oob:float}"),
)
OPERATION, OOB = template("op-{operation}"), template("oob-{oob_mode:control}")
BATCH_SIZE, SEED = template("b{batch_size:int}"), template("s{seed:int}")
_PLAIN_SIZES = template("z-{input_size:float}-{subset_ratio:float}-{overlap_ratio:float}")
_SIZES = NameField(
    lambda c: "z-simple" if c.simple else str(_PLAIN_SIZES.text(c)),
    (*_PLAIN_SIZES.flags, "simple"),
    pattern=_PLAIN_SIZES.pattern,
)
COMMON = (
    *(OPERATION, OOB, *PENALTY_FIELDS),
    *(template("i-{interpolation_range:range}"), template("e-{extrapolation_range:range}"), _SIZES),
    *(BATCH_SIZE, SEED, template("h{hidden_size:int}"), template("z{num_subsets:int}"), RATE),
)
"""Fields 2 to 15 of the arithmetic scripts."""

L1 = template("L1{regualizer_l1:bool}")
BETA = template(
    "rb-{regualizer_beta_start:float}-{regualizer_beta_end:float}"
    "-{regualizer_beta_step:int}-{regualizer_beta_growth:int}"
)
NPU_WEIGHT = template("rWnpu-{regualizer_npu_w:float}")
NPU_WEIGHT_AND_TYPE = template("rWnpu-{regualizer_npu_w:float}-{realnpu_reg_type:initial}")
GATE = template("rg-{regualizer_gate:float}")
SCALE_TYPE = template("r{reg_scale_type:scale}")
NPU_CLIP = template("clip-{npu_clip:clip}")
NPU_INIT = template("WrI-{npu_Wr_init:init}")
SINGLE_PENALTIES = (L1, BETA, NPU_WEIGHT_AND_TYPE, GATE, SCALE_TYPE, NPU_CLIP, NPU_INIT)
PRECISION = template("p-{pytorch_precision:int}")
NMU_NOISE = template("nM{nmu_noise:bool}")
NAU_NOISE = template("nA{nau_noise:bool}")
BETA_NAU = template("Bnau{beta_nau:bool}")
NOISE_RANGE = template("n-{noise_range:pair}")
GRAD_NORM = template("gn-{clip_grad_norm:limit}")
GRAD_VALUE = template("gv-{clip_grad_value:limit}")
LOG_INTERVAL = template("TB-{log_interval:int}")
ID = template("id{id:int}")
TRASH_CELL = template("{trash_cell:TC}")
NPU_WEIGHT_SWITCH = template("rWnpu{regualizer_npu_w:weight}")
REALNPU_TYPE = template("rt-{realnpu_reg_type:whole}")
WEIGHT_SETS = template("ws-{W_set_count:int}")
REINIT = template("r{reinit:bool}-{reinit_epoch_interval:int}-{reinit_max_stored_losses:int}")


def distribution(text: Callable[[Config], str], why: str) -> NameField:
    """Return the field of a distribution of inputs, which scripts print in part; `why` says how."""
    flag = "sample_distribution"
    return NameField(text, (flag,), {flag: why}, pattern="D-{sample_distribution}")


_CRITERION_FLAGS = ("train_criterion", "pcc2mse_iteration")
_SWITCH_POINT = {"pcc2mse_iteration": "printed with criterion pcc-mse only"}
CRITERION = NameField(criterion, _CRITERION_FLAGS, _SWITCH_POINT)
CRITERION_TRASH = NameField(
    lambda c: criterion(c) + ("-TC" if c.trash_cell else ""),
    (*_CRITERION_FLAGS, "trash_cell"),
    _SWITCH_POINT,
    pattern="{train_criterion:criterion}{pcc2mse_iteration:switch}{trash_cell:suffix}",
)
_NALU = NameField(lambda c: "nalu-" + "".join(nalu_codes(c)), NALU_FLAGS, {"nalu_mul": COLLIDING})
LAYER_OPTIONS_TRAILING = tuple(
    all_trailing(
        *(OOB, "rs-{regualizer_shape} eps-{mnac_epsilon}", _NALU, NOISE_RANGE, NMU_NOISE),
        *(NAU_NOISE, BETA_NAU, PRECISION),
        "lo-{layer_option:options} ng-{nalu_gate_shape:word} ni-{nalu_init}",
    )
)


def format_leaf(
    fields: Sequence[NameField], config: Config, defaults: Mapping[str, Any], *, short: bool = False
) -> str:
    """Return a run's folder name: what the fields print, joined.

    short: without those fields behind the common ones that are at their defaults.
    """
    texts: list[str | None] = []
    for place, known in enumerate(fields):
        vanishes = known.optional or (short and place > len(COMMON))
        if not (vanishes and all(getattr(config, f) == defaults.get(f) for f in known.flags)):
            texts.append(known.text(config))
    return "_".join(text for text in texts if text is not None)


_SIMPLE_TASK: Columns = {"input.size": 4.0, "subset.ratio": None, "overlap.ratio": None}
"""Columns that the simple task fixes."""


def read_fields(leaf: str, fields: Sequence[NameField]) -> Columns:
    """Return the columns of the parts of a name, but for the first, that are of such fields."""
    every = (_read_any(text, fields[1:]) or {} for text in leaf.split("_")[1:])
    return {column: cell for columns in every for column, cell in columns.items()}


def _read_any(text: str, fields: Iterable[NameField]) -> Columns | None:
    return next(filter(None, (known.read(text) for known in fields)), None)


def has_field(leaf: str, *letters: str) -> bool:
    """Return whether a name has a field that begins so, for each of the beginnings."""
    texts = leaf.split("_")[1:]
    return all(any(text.startswith(letter) for text in texts) for letter in letters)


def columns_of(fields: Sequence[NameField], dests: Iterable[str], config: Config) -> Columns:
    """Return the options of a run from its configuration: all that can change what it computes.

    What a run name of an arithmetic script can hold is as `parse_leaf` returns it, but for learning
    rates, which are not rounded. Other options keep their flag names.
    """
    own = config.as_dict()
    results = {dest: own[dest] for dest in dests if dest in own}
    model, common, later = fields[0], tuple(fields[1 : len(COMMON) + 1]), fields[len(COMMON) + 1 :]
    if common != COMMON:
        return {dest.replace("_", "."): _plain(value) for dest, value in results.items()}
    forms: dict[str, Notation] = {}
    # All arithmetic scripts have a column for the range of noise, though only some print it.
    for known in (*COMMON, *(one for one in later if one.pattern), NOISE_RANGE):
        forms |= _compiled(known.pattern)[1]
    columns: Columns = {"model_code": model.text(config)}
    for dest, value in results.items():
        columns[column_of(dest)] = forms[dest].cell(value) if dest in forms else _plain(value)
    if config.simple:
        columns |= _SIMPLE_TASK
    if "train.distribution" in columns:
        shown = next(f for f in fields if f.flags == ("sample_distribution",))
        columns["train.distribution"] = str(shown.text(config)).removeprefix("D-")
    if "train.criterion" in columns:
        columns["trash.cell"] = bool(config.trash_cell)
        if config.train_criterion != "pcc-mse":
            columns["pcc2mse.iteration"] = None
    return columns


def _plain(value: Any) -> Any:
    several = isinstance(value, list | tuple)
    return " ".join(map(str, cast("list[Any]", value))) if several else value


def range_label(value: Any) -> str:
    """Return a range as run names hold it, such as `U[1,2]`."""
    return _RANGE.cell(value)


def canonical(label: str, sign: str = AMPERSAND) -> str:
    """Return a range label with this sign between its parts, in place of `u`, `&` or `∪`."""
    for other in ("u", AMPERSAND, UNION):
        label = label.replace(f" {other} ", f" {sign} ")
    return label


def signed(columns: Columns, sign: str) -> Columns:
    """Return the columns with another sign between the parts of two-part ranges.

    Tables of the arithmetic data set have `∪`, tables of single layers have `&`.
    """
    ranges = ("interpolation.range", "extrapolation.range")
    return columns | {name: canonical(columns[name], sign) for name in ranges if name in columns}


_DECLARED = [one for one in vars(flags).values() if isinstance(one, Flag | FlagGroup)]
_FLAGS = (flag for one in _DECLARED for flag in ([one] if isinstance(one, Flag) else one))
_YOUNG = dict.fromkeys(flag.in_name for flag in _FLAGS if flag.in_name)

_LATER = (
    *(L1, BETA, NPU_WEIGHT, GATE, SCALE_TYPE, NPU_CLIP, NPU_INIT),
    *(PRECISION, NMU_NOISE, NAU_NOISE, BETA_NAU, CRITERION_TRASH, ID),
    *(NOISE_RANGE, template("D-{sample_distribution}"), NPU_WEIGHT_AND_TYPE),
    *(GRAD_NORM, LOG_INTERVAL, NPU_WEIGHT_SWITCH, REALNPU_TYPE, TRASH_CELL),
    *(WEIGHT_SETS, GRAD_VALUE, REINIT, template("x-{extrapolation_rule:word}")),
    *map(template, _YOUNG),
)
"""Fields behind the common ones, of all arithmetic scripts; the first that fits reads a text."""

_OLDEST = {
    **{"hidden.size": 2, "learning.optimizer": "Adam"},
    **{"learning.rate": 0.001, "learning.momentum": 0.0},
}
"""Of the oldest names, which lack these fields."""


def parse_leaf(leaf: str) -> Columns:
    """Return the columns that a run name of an arithmetic script holds.

    Fields 1 to 15 are read by position, later ones by what they begin with. Numbers compare as
    parsed: `r-10` and `r-10.0` give the same. `model_code` is field 1 as it stands.
    """
    model, *rest = leaf.split("_")
    columns: Columns = {"model_code": model}
    for text, known in zip(rest, COMMON, strict=False):
        own = _SIMPLE_TASK if text == "z-simple" else known.read(text)
        if own is None:
            form = re.sub(r":\w+", "", known.pattern)
            raise ValueError(f"run name {leaf!r}: field {text!r} is not of the form {form}")
        columns |= own
    columns |= {n: cell for n, cell in _OLDEST.items() if n not in columns}
    for text in rest[len(COMMON) :]:
        own = _read_any(text, _LATER)
        if own is None:
            raise ValueError(f"run name {leaf!r}: field {text!r} is not known")
        columns |= own
    return columns
