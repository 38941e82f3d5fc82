"""The fields of a run name: what each prints and which flags it stands for.

The order of fields in a script's list is their order in the name, which readers address by
position. Optional fields stand at the end and vanish while their flags are at the default.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from string import Formatter

from .flag import Config

COLLIDING = "safe and max-safe print the same letter"
_RANGE = "only the first two parts are printed"


@dataclass(frozen=True)
class NameField:
    """One `_`-separated field.

    text: what it prints for a configuration, or None for nothing.
    flags: dests of the flags whose value it shows.
    partial: those of them that two values can share a text for, and why.
    optional: the field vanishes while all its flags are at their default.
    """

    text: Callable[[Config], str | None]
    flags: tuple[str, ...]
    partial: Mapping[str, str] = field(default_factory=dict[str, str])
    optional: bool = False

    def prints(
        self, config: Config, defaults: Mapping[str, object], *, may_vanish: bool = False
    ) -> str | None:
        """Return the field's text; None when the name lacks the field."""
        vanishes = self.optional or may_vanish
        if vanishes and all(getattr(config, f) == defaults.get(f) for f in self.flags):
            return None
        return self.text(config)


def template(pattern: str, **partial: str) -> NameField:
    """Return a field written as a format string over flags, such as `b{batch_size}`."""
    names = [name for _, name, _, _ in Formatter().parse(pattern) if name]
    flags = tuple(dict.fromkeys(name.split("[")[0] for name in names))
    return NameField(lambda c: pattern.format_map(vars(c)), flags, partial)


def either(flag: str, when_true: str, when_false: str) -> NameField:
    """Return the field of a switch."""
    return NameField(lambda c: when_true if getattr(c, flag) else when_false, (flag,))


def trailing(inner: NameField) -> NameField:
    """Return a field that vanishes at the default, for options younger than the script's names."""
    return NameField(inner.text, inner.flags, inner.partial, optional=True)


NALU_FLAGS: tuple[str, ...] = (
    "nalu_bias",
    "nalu_two_nac",
    "nalu_two_gate",
    "nalu_mul",
    "nalu_gate",
)
_NALU_MUL = {"safe": "s", "max-safe": "s", "trig": "t", "mnac": "m"}
_NALU_GATE = {
    "regualized": "r", "gumbel": "u", "obs-gumbel": "uu", "linear": "l", "independent": "i",
}  # fmt: skip
_NAC_MUL = {"normal": "n", "safe": "s", "max-safe": "s", "mnac": "m"}
_NAC_MUL_NPU = {"npu": "npu", "real-npu": "npur"}


def nalu_codes(c: Config) -> list[str]:
    """Return what a name says of a NALU's gate and weights."""
    codes = [
        "b" if c.nalu_bias else "",
        "2n" if c.nalu_two_nac else "",
        "2g" if c.nalu_two_gate else "",
        _NALU_MUL.get(c.nalu_mul, ""),
        _NALU_GATE.get(c.nalu_gate, ""),
    ]
    return [code for code in codes if code]


def two_layer_model(c: Config) -> str:
    """Return what the name of a run of two layers, or of a cell, begins with."""
    name = c.layer_type.lower()
    if c.nac_mul != "none":
        name += "-nac-"
    if getattr(c, "first_layer", None) == "MultiWeightNAU":
        name += "-mwnac"
    name += (_NAC_MUL | _NAC_MUL_NPU).get(c.nac_mul, "")
    codes = nalu_codes(c)
    return name + ("-nalu-" + "".join(codes) if codes else "")


def _range_ends(letter: str, flag: str) -> NameField:
    pattern = f"{letter}-{{{flag}[0]}}-{{{flag}[1]}}"
    return template(pattern, **{flag: _RANGE})


def _data(c: Config) -> str:
    return "z-simple" if c.simple else f"z-{c.input_size}-{c.subset_ratio}-{c.overlap_ratio}"


RECURRENT_MODEL = NameField(
    two_layer_model, ("layer_type", "nac_mul", *NALU_FLAGS), {"nalu_mul": COLLIDING}
)
_RATE = template(
    "lr-{optimizer}-{learning_rate:.5f}-{momentum}", learning_rate="printed with five decimals"
)
PENALTY_FIELDS = (
    template("rs-{regualizer_scaling}-{regualizer_shape}"),
    template("eps-{mnac_epsilon}"),
    template("rl-{regualizer_scaling_start}-{regualizer_scaling_end}"),
    template("r-{regualizer}-{regualizer_z}-{regualizer_oob}"),
)
COMMON = (
    template("op-{operation}"),
    NameField(lambda c: "oob-r" if c.oob_mode == "regualized" else "oob-c", ("oob_mode",)),
    *PENALTY_FIELDS,
    _range_ends("i", "interpolation_range"),
    _range_ends("e", "extrapolation_range"),
    NameField(_data, ("input_size", "subset_ratio", "overlap_ratio", "simple")),
    template("b{batch_size}"),
    template("s{seed}"),
    template("h{hidden_size}"),
    template("z{num_subsets}"),
    _RATE,
)

PRECISION = template("p-{pytorch_precision}")
NMU_NOISE = either("nmu_noise", "nMT", "nMF")
NAU_NOISE = either("nau_noise", "nAT", "nAF")
BETA_NAU = either("beta_nau", "BnauT", "BnauF")
NOISE_RANGE = template("n-{noise_range[0]}-{noise_range[1]}")
ID = template("id{id}")
LAYER_OPTION = NameField(
    lambda c: "-".join(("lo", *c.layer_option)).replace("_", "."),
    ("layer_option",),
    {"layer_option": "underscores, which part the fields, are printed as dots"},
    optional=True,
)
NALU_TRAILING = (
    trailing(template("ng-{nalu_gate_shape}")),
    trailing(template("ni-{nalu_init}")),
)
RANDOM_MODELS = trailing(template("rm{random_models}"))


def or_false(prefix: str, flag: str) -> NameField:
    """Return the field of a number that may be none."""

    def text(c: Config) -> str:
        value = getattr(c, flag)
        return f"{prefix}-{'F' if value is None else value}"

    return NameField(text, (flag,))


GRAD_NORM = or_false("gn", "clip_grad_norm")


def criterion(c: Config) -> str:
    """Return what a name says of the training loss."""
    if c.train_criterion == "pcc-mse":
        return f"pcc-mse-{c.pcc2mse_iteration}"
    return c.train_criterion


_SWITCH_POINT = {"pcc2mse_iteration": "printed with criterion pcc-mse only"}
_CRITERION_FLAGS = ("train_criterion", "pcc2mse_iteration")
CRITERION = NameField(criterion, _CRITERION_FLAGS, _SWITCH_POINT)
SEQUENCES_TRAILING = tuple(
    trailing(inner)
    for inner in (
        template("i-{interpolation_length}"),
        template("e-{extrapolation_length}"),
        _range_ends("u", "input_range"),
        template("z-{input_size}-{subset_ratio}-{overlap_ratio}"),
        template("b{batch_size}"),
        template("h{hidden_size}"),
        _RATE,
        GRAD_NORM,
        RANDOM_MODELS,
    )
)
READER_TRAILING = tuple(
    trailing(inner)
    for inner in (
        template("n-{number_range}"),
        template("head-{head}"),
        template("e{embedding_size}"),
        template("h{hidden_size}"),
        template("b{batch_size}"),
        _RATE,
        GRAD_NORM,
    )
)
LAYER_OPTIONS_TRAILING = tuple(
    trailing(inner)
    for inner in (
        NameField(lambda c: f"oob-{c.oob_mode[0]}", ("oob_mode",)),
        template("rs-{regualizer_shape}"),
        template("eps-{mnac_epsilon}"),
        NameField(lambda c: "nalu-" + "".join(nalu_codes(c)), NALU_FLAGS, {"nalu_mul": COLLIDING}),
        NOISE_RANGE,
        NMU_NOISE,
        NAU_NOISE,
        BETA_NAU,
        PRECISION,
        LAYER_OPTION,
        *NALU_TRAILING,
    )
)


def format_leaf(
    fields: Sequence[NameField],
    config: Config,
    defaults: Mapping[str, object],
    separator: str,
    *,
    short: bool = False,
) -> str:
    """Return a run's folder name: what the fields print, joined.

    short: without those fields behind the common ones that are at their defaults.
    """
    texts = (
        f.prints(config, defaults, may_vanish=short and place > len(COMMON))
        for place, f in enumerate(fields)
    )
    return separator.join(text for text in texts if text is not None)
