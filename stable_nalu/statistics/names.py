"""Read run names: the options of a run, and the labels of its model and operation.

Models are known by field 1 of a run name. Runs are grouped by labels, so that models with the same
label count as one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from stable_nalu.catalogue.ranges import AMPERSAND, UNION, canonical
from stable_nalu.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd

MODELS = {
    "linear": "Linear",
    "relu": "ReLU",
    "relu6": "ReLU6",
    "lstm": "LSTM",
    "nac": r"$\mathrm{NAC}_{+}$",
    "nac-nac-n": r"$\mathrm{NAC}_{\bullet}$",
    "mnac": r"$\mathrm{NAC}_{\bullet}$",
    "posnac-nac-n": r"$\mathrm{NAC}_{\bullet,\sigma}$",
    "reregualizedlinearposnac-nac-n": r"$\mathrm{NAC}_{\bullet,\mathrm{NMU}}$",
    "nalu": "NALU",
    "nalu-gr": "G-NALU",
    "nalu-nalu-2n": "NALU (separate)",
    "inalu": "iNALU",
    "reregualizedlinearnac": "NAU",
    "reregualizedlinearnac-nac-m": "NMU",
    "reregualizedlinearmnac": "NMU",
    "reregualizedlinearnalu-nalu-2nm": "Gated NAU/NMU",
    "regualizedlinearnac-nac-m": r"NMU, $\mathbf{W} = \mathbf{\hat{W}}$",
    "sillyreregualizedlinearnac-nac-m": r"NMU, $\mathbf{z} = \mathbf{W} \odot \mathbf{x}$",
    "reregualizedlinearnac-nac-npur": "Real NPU",
    "reregualizedlinearnac-nac-npu": "NPU",
    "realnpu": "Real NPU",
    "npu": "NPU",
    "mcfc": "MCFC",
    "mulmcfc": "MulMCFC",
    "mulmcfcsigninalu": "MulMCFC (sign: iNALU)",
    "mulmcfcsignrealnpu": "MulMCFC (sign: Real NPU)",
}
"""Field 1 of a run name -> label; a model that is not here is shown as it stands."""

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
    """Return the label of a model, given field 1 of a run name."""
    labels = MODELS | (ROBUSTNESS_MODELS if robustness else {})
    return labels.get(code, code)


def operation_label(operation: str, *, latex: bool = False) -> str:
    """Return the label of an operation, given with or without the prefix `op-`."""
    name = operation.removeprefix("op-")
    return OPERATIONS.get(name, (name, name))[0 if latex else 1]


def model_order(label: str) -> tuple[bool, str]:
    """Return the sort key of a label: LaTeX labels first, then alphabetical."""
    return not label.startswith("$"), label


def ablation_suffix(regualizer: float, regualizer_oob: float) -> str:
    """Return what a label gains when the sparsity penalty or the clamp of weights is off."""
    sparsity = r", no $\mathcal{R}_{sparse}$" if regualizer == 0 else ""
    return sparsity + (", no W-clamp" if regualizer_oob == 0 else "")


def expand_names(names: Iterable[str]) -> pd.DataFrame:
    """Return a table of one row per run name, with its options as `expand_name` returns them."""
    import pandas as pd

    try:
        options = [expand_name(name) for name in names]
    except ValueError as error:
        raise UsageError(str(error)) from None
    return pd.DataFrame(options, columns=None if options else ["name", "model"])


def expand_name(name: str) -> Columns:
    """Return the options of a run of an arithmetic script, with its name.

    `model` is the label, `model_code` is field 1. Raises ValueError for a name that ends before
    its seed.
    """
    columns = parse_leaf(name)
    if "seed" not in columns:
        raise ValueError(f"run name {name!r} is not of an arithmetic task: it has no seed")
    single = is_single_module(columns["input.size"], columns["subset.ratio"])
    for column in ("interpolation.range", "extrapolation.range"):
        columns[column] = canonical(columns[column], AMPERSAND if single else UNION)
    return {"name": name, "model": model_label(columns["model_code"])} | columns


def is_single_module(input_size: float, subset_ratio: float | None) -> bool:
    """Return whether the operands are single inputs, that is subsets of size one."""
    return subset_ratio is not None and round(input_size * subset_ratio, 6) == 1


_NUMBER = r"-?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?"
_PAIR = re.compile(rf"({_NUMBER})-({_NUMBER})")
_NESTED = re.compile(rf"\[({_NUMBER}), ({_NUMBER})\]-\[({_NUMBER}), ({_NUMBER})\]")
_OPTIMIZERS = {"adam": "Adam", "sgd": "SGD"}
Columns = dict[str, Any]


def parse_leaf(leaf: str, *, union: str = "∪") -> Columns:
    """Return the columns that a run name of an arithmetic script holds.

    Fields 1 to 15 are read by position, later ones by what they begin with. Numbers compare as
    parsed: `r-10` and `r-10.0` give the same. `model_code` is field 1 as it stands.

    union: sign between the parts of a two-part range, `∪` in tables of the arithmetic data set
        and `&` in those of single layers.
    """
    model, *rest = leaf.split("_")
    columns: Columns = {"model_code": model}
    readers = _readers(union)
    common, tail = rest[: len(readers)], rest[len(readers) :]
    for text, (name, read) in zip(common, readers, strict=False):
        columns |= _apply(leaf, name, read, text)
    columns.setdefault("hidden.size", 2)
    for key, value in _optimizer("lr-adam-0.00100-0.0").items():
        columns.setdefault(key, value)
    for text in tail:
        columns |= _tail(leaf, text)
    return columns


def _apply(leaf: str, name: str, read: Callable[[str], Columns], text: str) -> Columns:
    try:
        return read(text)
    except (ValueError, IndexError, KeyError):
        raise ValueError(f"run name {leaf!r}: field {text!r} does not hold {name}") from None


def _readers(union: str) -> tuple[tuple[str, Callable[[str], Columns]], ...]:
    return (
        ("the operation", lambda t: {"operation": _after("op-", t)}),
        ("the range control", _oob_control),
        ("the penalty's scaling and shape", _scaling),
        ("an epsilon", lambda t: {"epsilon.zero": float(_after("eps-", t))}),
        (
            "the penalty's ramp",
            lambda t: _numbers("rl-", t, "regualizer.scaling.start", "regualizer.scaling.end"),
        ),
        (
            "the penalties' weights",
            lambda t: _numbers("r-", t, "regualizer", "regualizer.z", "regualizer.oob"),
        ),
        ("a range", lambda t: {"interpolation.range": _range(_after("i-", t), union)}),
        ("a range", lambda t: {"extrapolation.range": _range(_after("e-", t), union)}),
        ("the data sizes", _data),
        ("the batch size", lambda t: {"batch.size": int(_after("b", t))}),
        ("the seed", lambda t: {"seed": int(_after("s", t))}),
        ("the hidden size", lambda t: {"hidden.size": int(_after("h", t))}),
        ("the number of subsets", lambda t: {"num.subsets": int(_after("z", t))}),
        ("the optimizer", _optimizer),
    )


def _after(prefix: str, text: str) -> str:
    if not text.startswith(prefix):
        raise ValueError(text)
    return text.removeprefix(prefix)


def _numbers(prefix: str, text: str, *columns: str) -> Columns:
    pattern = "-".join([rf"({_NUMBER})"] * len(columns))
    match = re.fullmatch(pattern, _after(prefix, text))
    if match is None:
        raise ValueError(text)
    return dict(zip(columns, map(float, match.groups()), strict=True))


def _oob_control(text: str) -> Columns:
    return {"oob.control": "regualized" if _after("oob-", text) == "r" else "clip"}


def _scaling(text: str) -> Columns:
    scaling, shape = _after("rs-", text).split("-")
    return {"regualizer.scaling": scaling, "regualizer.shape": shape}


def _range(text: str, union: str) -> str:
    if nested := _NESTED.fullmatch(text):
        return "U[{},{}] {} U[{},{}]".format(*nested.groups()[:2], union, *nested.groups()[2:])
    pair = _PAIR.fullmatch(text)
    if pair is None:
        raise ValueError(text)
    return "U[{},{}]".format(*pair.groups())


def _data(text: str) -> Columns:
    if text == "z-simple":
        return {"input.size": 4.0, "subset.ratio": None, "overlap.ratio": None}
    return _numbers("z-", text, "input.size", "subset.ratio", "overlap.ratio")


def _optimizer(text: str) -> Columns:
    name, numbers = _after("lr-", text).split("-", 1)
    return {"learning.optimizer": _OPTIMIZERS[name]} | _numbers(
        "", numbers, "learning.rate", "learning.momentum"
    )


_TAIL: tuple[tuple[str, Callable[[re.Match[str]], Columns]], ...] = (
    (r"D-(.+)", lambda m: {"train.distribution": m[1]}),
    (rf"n-({_NUMBER})-({_NUMBER})", lambda m: {"noise.range": f"U[{m[1]},{m[2]}]"}),
    (r"L1([TF])", lambda m: {"l1": m[1] == "T"}),
    (
        rf"rb-({_NUMBER})-({_NUMBER})-(\d+)-(\d+)",
        lambda m: {
            "regualizer.beta.start": float(m[1]),
            "regualizer.beta.end": float(m[2]),
            "regualizer.beta.step": int(m[3]),
            "regualizer.beta.growth": int(m[4]),
        },
    ),
    (
        r"rWnpu-(-?\d+)-([Wb])",
        lambda m: {"regualizer.npu.W": float(m[1]), "regualizer.npu.W.type": m[2]},
    ),
    (r"rWnpu-(-?\d+)", lambda m: {"regualizer.npu.W": float(m[1])}),
    (r"rWnpu([TF])", lambda m: {"regualizer.npu.W": float(m[1] == "T")}),
    (r"rg-(-?\d+)", lambda m: {"regualizer.gate": float(m[1])}),
    (r"r([HM])", lambda m: {"reg.scale.type": {"H": "heim", "M": "madsen"}[m[1]]}),
    (
        r"r([TF])-(\d+)-(\d+)",
        lambda m: {
            "reinit": m[1] == "T",
            "reinit.epoch.interval": int(m[2]),
            "reinit.max.stored.losses": int(m[3]),
        },
    ),
    (r"clip-(n|w|g|wg|wig)", lambda m: {"npu.clip": m[1]}),
    (r"WrI-(xuc?)", lambda m: {"npu.W_real.init": m[1]}),
    (r"p-(32|64)", lambda m: {"pytorch.precision": int(m[1])}),
    (r"nM([TF])", lambda m: {"nmu.noise": m[1] == "T"}),
    (r"nA([TF])", lambda m: {"nau.noise": m[1] == "T"}),
    (r"Bnau([TF])", lambda m: {"beta.nau": m[1] == "T"}),
    (r"gn-(.+)", lambda m: {"grad.norm.clip": None if m[1] == "F" else float(m[1])}),
    (r"gv-(.+)", lambda m: {"grad.value.clip": None if m[1] == "F" else float(m[1])}),
    (r"TB-(\d+)", lambda m: {"log.interval": int(m[1])}),
    (
        r"(mse|mape|pcc-mse|pcc)(?:-(\d+))?(-TC)?",
        lambda m: {
            "train.criterion": m[1],
            "pcc2mse.iteration": None if m[2] is None else int(m[2]),
            "trash.cell": m[3] is not None,
        },
    ),
    (r"id(-?\d+)", lambda m: {"id": int(m[1])}),
    (r"rt-(W|bias)", lambda m: {"regualizer.npu.W.type": m[1][0]}),
    (r"ws-(\d+)", lambda m: {"W.set.count": int(m[1])}),
    (r"TC", lambda m: {"trash.cell": True}),
)


def _tail(leaf: str, text: str) -> Columns:
    for pattern, read in _TAIL:
        if match := re.fullmatch(pattern, text):
            return read(match)
    raise ValueError(f"run name {leaf!r}: field {text!r} is not known")
