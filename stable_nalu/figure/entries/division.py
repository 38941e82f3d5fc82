"""Learning division: single modules over ranges, distributions and small divisors."""

from __future__ import annotations

from pathlib import PurePath

from stable_nalu.paper.index import EXPERIMENTS
from stable_nalu.paper.ranges import INTERPOLATION_ORDER
from stable_nalu.papers import MISTRY_2022_DIVISION
from stable_nalu.statistics.setups import FLAT

from ..entry import Entry, Runs, Threshold
from ..kinds import GoldErrors, Panels
from ..source import Series

SINGLE = Threshold(flat=FLAT)
MIXED_SIGNS = (
    "U[-2,2]",
    "U[-2,-0.1] & U[0.1,2]",
    "U[0.1,2] & U[-2,-0.1]",
    "U[-2,-1] & U[1,2]",
    "U[1,2] & U[-2,-1]",
)
SAMPLED = (
    "B:[10,100]",
    "TN(-1,3):[-5,10]",
    "TN(1,3):[-10,5]",
    "TN(0,1):[-5,5]",
    "U:[-50,50]",
    "U:[-100,100]",
)
SMALL = ("U[0,0.0001]", "U[0,0.001]", "U[0,0.01]", "U[0,0.1]", "U[0,1]")

_EXTRA = "sltr-in10/nmru-extra"
_OTHER_PATHS = {
    "sltr-in2/realnpu-modifications/init/XUC": "realnpu-modifications/init/XUC",
    "sltr-in2/realnpu-modifications/L2": "realnpu-modifications/L2",
    "sltr-in2/realnpu_modified": "sltr-in2/realnpu-modified",
    "RealNPU-mod_inSize2_lr/5e-4": "RealNPU-mod_inSize2_lr/RealNPU-mod_inSize2_lr/5e-4",
    **{
        f"{_EXTRA}/{name}": f"nmru-extra/{name}"
        for name in (
            "nmru",
            "nmru_gnc-1",
            "sign-nmru_gnc-F",
            "sign-nmru_gnc-1_gate-1",
            "lr-1e-3",
            "lr-1e-1",
            "sgd",
        )
    },
}
"""Table of a model -> where the published plots, or other scripts, have it."""


def _panels(
    expected: tuple[str, ...],
    x: str = "interpolation.range",
    operation: str = "div",
    threshold: Threshold = SINGLE,
) -> Panels:
    runs = Runs(x, threshold, "single", expected=expected)
    return Panels(stem="{key}_op-" + operation, runs=runs, x_label="Interpolation range")


_RANGE, _SIGNS = _panels(INTERPOLATION_ORDER), _panels(MIXED_SIGNS)
_DISTRIBUTION = _panels(SAMPLED, "distribution")


def _trained(key: str, number: str, shows: str, part: Panels = _RANGE) -> Entry:
    """Return the figure of an experiment: a series for each of its models."""
    series = []
    for model in EXPERIMENTS[key].models:
        other = _OTHER_PATHS.get(model.csv)
        series.append(Series((model.csv, other) if other else (model.csv,), model.label))
    return Entry(key, MISTRY_2022_DIVISION, number, shows, (part,), tuple(series))


def _near_zero(task: str, number: str, text: str) -> Entry:
    key, operation = f"nips-divBy0-{task}", "div" if task == "hard" else "reciprocal"
    limits = Threshold(parameter=f"zero.range.{task}")
    part = _panels(SMALL, operation=operation, threshold=limits)
    series = tuple(Series((PurePath(m.csv).name,), m.label) for m in EXPERIMENTS[key].models)
    folders = (f"SLTR_divBy0/{task}", f"in2_divBy0/{task}")
    shows = f"Division by small numbers, {text}"
    return Entry(key, MISTRY_2022_DIVISION, number, shows, (part,), series, folders)


GOLD = Entry(
    "divBy0_gold_test_errors",
    MISTRY_2022_DIVISION,
    "Figure 5",
    "Division by small numbers: errors of exact weights",
    (
        GoldErrors(
            stem="{key}",
            panels=(
                ("easy", "Input: [a]; Output: 1/a"),
                ("medium", "Input: [a,b]; Output: 1/a"),
                ("hard", "Input: [a,b]; Output: a/b"),
            ),
            order=("RealNPU", "RealNPU (eps=0)", "NRU", "NMRU"),
        ),
    ),
    (Series(("divBy0_test_errors",)),),
)

ENTRIES = (
    _trained("nips-realnpu-L1", "Figure 1a", "Real NPU: L1 penalty off and on"),
    _trained("nips-realnpu-L1_sweep", "Figure 1b", "Real NPU: strength of the L1 penalty"),
    _trained("nips-realnpu-clipping", "Figure 2a", "Real NPU: clipping of gate and weights"),
    _trained(
        "nips-realnpu-discretisation",
        "Figure 2b",
        "Real NPU: penalties towards discrete gate and weights",
    ),
    _trained("nips-realnpu-init", "Figure 2c", "Real NPU: initialisation"),
    _trained("nips-sltr-in2", "Figure 3", "Two inputs, no redundancy"),
    _trained(
        "mixed-sign-ds_realnpu-modified",
        "Figure 4",
        "Inputs of mixed sign, modified Real NPU",
        _SIGNS,
    ),
    _trained("nips-sltr-in10", "Figure 6", "Ten inputs, with redundancy"),
    _trained("nips-in2-nru-lr", "Figure 10", "NRU: learning rates"),
    _trained("nips-realnpu-L2", "Figure 14", "Real NPU: L1 and L2 penalties"),
    _trained("nips-sltr-in10-npu", "Figure 15", "NPU against Real NPU"),
    _trained("nips-in10-realnpu-W-reg", "Figure 16", "Real NPU: weights to {-1,1} or to {-1,0,1}"),
    _trained("nips-in10-nmru-ablation", "Figure 17", "NMRU: ablation"),
    _trained("nips-in10-nmru-lr", "Figure 18", "NMRU: learning rates"),
    _trained("nips-in10-nmru-optimiser", "Figure 19", "NMRU: optimisers"),
    _trained(
        "nips-in10-nru-separate-mag-sign", "Figure 20", "NRU: magnitude and sign together or apart"
    ),
    _trained("nips-sltr-in10-losses-realnpu", "Figure 21", "Real NPU: losses"),
    _trained("nips-sltr-in10-losses-nru", "Figure 22", "NRU: losses"),
    _trained("nips-sltr-in10-losses-nmru", "Figure 23", "NMRU: losses"),
    _trained("in2-mixedSigns", "", "Inputs of mixed sign, two inputs", _SIGNS),
    _trained("in10-mixedSigns", "", "Inputs of mixed sign, ten inputs", _SIGNS),
    _trained("nips-in2-realnpu-lr", "", "Modified Real NPU: learning rates"),
    GOLD,
    _trained(
        "nips-in2-distributions",
        "Figure 6 (README, second table)",
        "Input distributions, 2 inputs",
        _DISTRIBUTION,
    ),
    _trained(
        "nips-in10-distributions", "Figure 7", "Input distributions, 10 inputs", _DISTRIBUTION
    ),
    _near_zero("easy", "Figure 11", "[a] to 1/a"),
    _near_zero("medium", "Figure 12", "[a,b] to 1/a"),
    _near_zero("hard", "Figure 13", "[a,b] to a/b"),
)
