"""Learning division: single modules over ranges, distributions and small divisors."""

from __future__ import annotations

from stable_nalu.catalogue.ranges import INTERPOLATION_ORDER
from stable_nalu.papers import MISTRY_2022_DIVISION

from ..entry import Entry, Runs, Threshold
from ..kinds import GoldErrors, Panels
from ..source import Series

SINGLE = Threshold(flat=1e-5)
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

_RANGE = Panels(
    stem="{key}_op-div",
    runs=Runs(
        x="interpolation.range",
        threshold=SINGLE,
        names="single",
        expected=INTERPOLATION_ORDER,
    ),
    x_label="Interpolation range",
)


def _over(expected: tuple[str, ...]) -> Panels:
    runs = Runs(x="interpolation.range", threshold=SINGLE, names="single", expected=expected)
    return Panels(stem="{key}_op-div", runs=runs, x_label="Interpolation range")


def _key(
    key: str,
    number: str,
    shows: str,
    series: dict[str, str | tuple[str, ...]],
    part: Panels = _RANGE,
) -> Entry:
    """Return a figure of labelled files; several paths of one file are tried in turn."""
    found = tuple(
        Series((files,) if isinstance(files, str) else files, label)
        for label, files in series.items()
    )
    return Entry(key, MISTRY_2022_DIVISION, number, shows, (part,), found)


def _in(folder: str, series: dict[str, str]) -> dict[str, str | tuple[str, ...]]:
    return {label: f"{folder}/{name}" for label, name in series.items()}


def _either(*files: str) -> tuple[str, ...]:
    return files


MODULES = {
    "Real NPU (baseline)": "realnpu_baseline",
    "Real NPU (modified)": "realnpu_modified",
    "NRU": "nru",
    "NMRU": "sign-nmru",
}
_MOD = "sltr-in2/realnpu-modifications"
_EXTRA = "sltr-in10/nmru-extra"
_BASELINE = "sltr-in2/realnpu_baseline"
_RATES = "RealNPU-mod_inSize2_lr"


def _losses(model: str) -> dict[str, str | tuple[str, ...]]:
    names = {"MSE": model, "PCC": f"{model}_pcc", "MAPE": f"{model}_mape"}
    return _in("sltr-in10", names)


def _extra(name: str) -> tuple[str, ...]:
    """Return a file's paths: batch scripts write it below sltr-in10, published plots omit that."""
    return _either(f"{_EXTRA}/{name}", f"nmru-extra/{name}")


_SWEEP = "L1_beta_sweep"
_CORRECT_EPS = "NMRU_correctEps/inSize-10_signNMRU-gnc-1_lr-1e-2"

RANGES = (
    _key(
        "nips-realnpu-L1",
        "Figure 1a",
        "Real NPU: L1 penalty off and on",
        {"L1 off": f"{_MOD}/L1F", "L1 on": _BASELINE},
    ),
    _key(
        "nips-realnpu-L1_sweep",
        "Figure 1b",
        "Real NPU: strength of the L1 penalty",
        {
            "(1e-11,1e-9)": f"{_MOD}/{_SWEEP}/1e-11_1e-9",
            "(1e-9,1e-7)": _BASELINE,
            "(1e-8,1e-6)": f"{_MOD}/{_SWEEP}/1e-8_1e-6",
            "(1e-7,1e-5)": f"{_MOD}/{_SWEEP}/1e-7_1e-5",
            "(1e-5,1e-3)": f"{_MOD}/{_SWEEP}/1e-5_1e-3",
            "(1e-3,1e-1)": f"{_MOD}/{_SWEEP}/1e-3_1e-1",
            "(1e-1,10)": f"{_MOD}/{_SWEEP}/1e-1_10",
        },
    ),
    _key(
        "nips-realnpu-clipping",
        "Figure 2a",
        "Real NPU: clipping of gate and weights",
        {"None": _BASELINE} | _in(f"{_MOD}/clip", {"G": "G", "W": "W", "GW": "GW"}),
    ),
    _key(
        "nips-realnpu-discretisation",
        "Figure 2b",
        "Real NPU: penalties towards discrete gate and weights",
        {
            "None": f"{_MOD}/clip/GW",
            "G": f"{_MOD}/discretisation/G1",
            "GW": f"{_MOD}/discretisation/G1-W1",
        },
    ),
    _key(
        "nips-realnpu-init",
        "Figure 2c",
        "Real NPU: initialisation",
        {
            "Xavier-Uniform": f"{_MOD}/discretisation/G1-W1",
            "Xavier-Uniform Constrained": _either(
                f"{_MOD}/init/XUC", "realnpu-modifications/init/XUC"
            ),
        },
    ),
    _key("nips-sltr-in2", "Figure 3", "Two inputs, no redundancy", _in("sltr-in2", MODULES)),
    _key(
        "mixed-sign-ds_realnpu-modified",
        "Figure 4",
        "Inputs of mixed sign, modified Real NPU",
        {"Real NPU (modified)": "sltr-in2/mixed-sign-ds_realnpu-modified"},
        _over(MIXED_SIGNS),
    ),
    _key("nips-sltr-in10", "Figure 6", "Ten inputs, with redundancy", _in("sltr-in10", MODULES)),
    _key(
        "nips-in2-nru-lr",
        "Figure 10",
        "NRU: learning rates",
        {
            "1e-3": "sltr-in2/nru-extra/lr-1e-3",
            "1e-2": "sltr-in2/nru-extra/lr-1e-2",
            "1e-1": "sltr-in2/nru-extra/lr-1e-1",
            "1": "sltr-in2/nru",
        },
    ),
    _key(
        "nips-realnpu-L2",
        "Figure 14",
        "Real NPU: L1 and L2 penalties",
        {
            "No reg": f"{_MOD}/L1F",
            "L1": _BASELINE,
            "L2": _either(f"{_MOD}/L2", "realnpu-modifications/L2"),
        },
    ),
    _key(
        "nips-sltr-in10-npu",
        "Figure 15",
        "NPU against Real NPU",
        {
            "Real NPU (modified)": "sltr-in10/realnpu_modified",
            "NPU (no constraints)": "sltr-in10/npu/realMod",
            "NPU (clip & reg)": "sltr-in10/npu/realMod_Reg-Wim-l1_clip-wig",
        },
    ),
    _key(
        "nips-in10-realnpu-W-reg",
        "Figure 16",
        "Real NPU: weights to {-1,1} or to {-1,0,1}",
        {
            "{-1,1}": "sltr-in10/realnpu_modified",
            "{-1,0,1}": "sltr-in10/realnpu_modified_W-nau-reg",
        },
    ),
    _key(
        "nips-in10-nmru-ablation",
        "Figure 17",
        "NMRU: ablation",
        {
            "vanilla": _extra("nmru"),
            "gnc": _extra("nmru_gnc-1"),
            "sign": _extra("sign-nmru_gnc-F"),
            "gnc+sign": "sltr-in10/sign-nmru",
            "gnc+sign+gating": _extra("sign-nmru_gnc-1_gate-1"),
        },
    ),
    _key(
        "nips-in10-nmru-lr",
        "Figure 18",
        "NMRU: learning rates",
        {"1e-3": _extra("lr-1e-3"), "1e-2": "sltr-in10/sign-nmru", "1e-1": _extra("lr-1e-1")},
    ),
    _key(
        "nips-in10-nmru-optimiser",
        "Figure 19",
        "NMRU: optimisers",
        {"sgd": _extra("sgd"), "adam": "sltr-in10/sign-nmru"},
    ),
    _key(
        "nips-in10-nru-separate-mag-sign",
        "Figure 20",
        "NRU: magnitude and sign together or apart",
        {"together": "sltr-in10/nru", "separate": "sltr-in10/nru-sepSign"},
    ),
    _key(
        "nips-sltr-in10-losses-realnpu",
        "Figure 21",
        "Real NPU: losses",
        _losses("realnpu_modified"),
    ),
    _key("nips-sltr-in10-losses-nru", "Figure 22", "NRU: losses", _losses("nru")),
    _key("nips-sltr-in10-losses-nmru", "Figure 23", "NMRU: losses", _losses("sign-nmru")),
    _key(
        "nips-sltr-in10-losses-nmru-correctEps",
        "",
        "NMRU: losses, with the corrected epsilon",
        {"MSE": _CORRECT_EPS, "PCC": f"{_CORRECT_EPS}_pcc", "MAPE": f"{_CORRECT_EPS}_mape"},
    ),
    _key(
        "in2-mixedSigns",
        "",
        "Inputs of mixed sign, two inputs",
        {
            "Real NPU (modified)": "mixedSigns-in2/realnpu-modified",
            "NRU": "mixedSigns-in2/nru",
            "NMRU": "mixedSigns-in2/nmru",
        },
        _over(MIXED_SIGNS),
    ),
    _key(
        "in10-mixedSigns",
        "",
        "Inputs of mixed sign, ten inputs",
        {
            "Real NPU (modified)": _either(
                "mixedSigns-in10/realnpu_mod", "mixedSigns-in10/realnpu-modified"
            ),
            "NRU": "mixedSigns-in10/nru",
            "NMRU": "mixedSigns-in10/nmru",
        },
        _over(MIXED_SIGNS),
    ),
    _key(
        "nips-in2-realnpu-lr",
        "",
        "Modified Real NPU: learning rates",
        {
            "5e-1": f"{_RATES}/5e-1",
            "5e-2": f"{_RATES}/5e-2",
            "5e-3": _either("sltr-in2/realnpu_modified", "sltr-in2/realnpu-modified"),
            "5e-4": _either(f"{_RATES}/5e-4", f"{_RATES}/{_RATES}/5e-4"),
        },
    ),
)


def _distributions(inputs: int, number: str) -> Entry:
    folder = f"sltr-in{inputs}/distributions"
    part = Panels(
        stem="{key}_op-div",
        runs=Runs(
            x="distribution",
            threshold=SINGLE,
            names="single",
            expected=SAMPLED,
        ),
        x_label="Interpolation range",
    )
    series = {
        "Real NPU (modified)": _either(f"{folder}/realnpu_modified", f"{folder}/realnpu"),
        "NRU": f"{folder}/nru",
        "NMRU": f"{folder}/sign-nmru",
    }
    shows = f"Input distributions, {inputs} inputs"
    return _key(f"nips-in{inputs}-distributions", number, shows, series, part)


def _near_zero(task: str, number: str, text: str) -> Entry:
    operation = "div" if task == "hard" else "reciprocal"
    part = Panels(
        stem="{key}_op-" + operation,
        runs=Runs(
            x="interpolation.range",
            threshold=Threshold(parameter=f"zero.range.{task}"),
            names="single",
            expected=SMALL,
            inclusive=True,
        ),
        x_label="Interpolation range",
    )
    names = {"Real NPU": "realnpu", "NRU": "nru", "NMRU": "signNMRU"}
    series = tuple(Series((name,), label) for label, name in names.items())
    folders = (f"SLTR_divBy0/{task}", f"in2_divBy0/{task}")
    shows = f"Division by small numbers, {text}"
    return Entry(
        f"nips-divBy0-{task}", MISTRY_2022_DIVISION, number, shows, (part,), series, folders
    )


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
    *RANGES,
    GOLD,
    _distributions(2, "Figure 6 (README, second table)"),
    _distributions(10, "Figure 7"),
    _near_zero("easy", "Figure 11", "[a] to 1/a"),
    _near_zero("medium", "Figure 12", "[a,b] to 1/a"),
    _near_zero("hard", "Figure 13", "[a,b] to a/b"),
)
