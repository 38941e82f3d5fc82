"""Robustness of multiplication units: the arithmetic data set over ranges, trained weights."""

from __future__ import annotations

from stable_nalu.paper.ranges import INTERPOLATION_ORDER
from stable_nalu.papers import MISTRY_2022_ROBUST

from ..entry import Entry, Runs, Threshold
from ..kinds import Distances, Panels
from ..source import Series

RUNS = Runs("interpolation.range", Threshold(), expected=INTERPOLATION_ORDER)
_FOLDER = "FTS_NAU_NMU_ranges"
_NOISE = f"{_FOLDER}/sNMU-noise-ranges"

# The path of the published plots, the name of the experiment, and its name in the README.
BASELINE = ("FTS_NAU_NMU_ranges_baseline", f"{_FOLDER}/nau-nmu", "nau-nmu")
NOISE_1_5 = ("FTS_NAU_NMU_ranges_noise-1-5", f"{_FOLDER}/nau-Nnmu", "nau-Nnmu")
BATCH = (f"{_FOLDER}/batch_sNMU", "batch_sNMU")
PCC_NOISE = ("FTS_nau-Nnmu-epsPcc-750K-mse",)
PCC_MSE = ("FTS_nau-nmu-pcc750Kmse",)


def _noise(low: str, high: str) -> tuple[str, ...]:
    written = f"{_NOISE}/{low}-{high}"
    return (f"{_NOISE}/FTS_nau-snmu_{low}-{high}", written, written.removeprefix(f"{_FOLDER}/"))


def _key(key: str, shows: str, series: dict[str, tuple[str, ...]], number: str = "") -> Entry:
    part = Panels("{key}", RUNS, "Interpolation range")
    found = tuple(Series(files, label) for label, files in series.items())
    return Entry(key, MISTRY_2022_ROBUST, number, shows, (part,), found)


_RANGES = (
    _key(
        "fts-snmu-noise-ranges",
        "sNMU on the arithmetic data set: ranges of the noise",
        {
            "[0.01,0.05]": _noise("0.01", "0.05"),
            "[0.1,0.5]": _noise("0.1", "0.5"),
            "[1,2]": _noise("1", "2"),
            "[1,5]": NOISE_1_5,
            "[5,10]": _noise("5", "10"),
            "[10,20]": _noise("10", "20"),
            "[1,1+1/sd(x)]": BATCH,
        },
        "Figure 5",
    ),
    _key(
        "fts-2021-final",
        "NMU and sNMU on the arithmetic data set",
        {"NMU": BASELINE, "sNMU": NOISE_1_5},
        "Figure 7",
    ),
    _key(
        "fts-snmu-test",
        "sNMU: three ranges of the noise",
        {"[1,5]": NOISE_1_5, "[5,10]": _noise("5", "10"), "[10,20]": _noise("10", "20")},
    ),
    _key(
        "fts-2021",
        "NMU and sNMU: losses",
        {
            "NMU": BASELINE,
            "NMU (PCC)": ("FTS_nau-nmu-pcc",),
            "NMU (PCC-MSE)": PCC_MSE,
            "sNMU (MSE)": NOISE_1_5,
            "sNMU (PCC-MSE)": PCC_NOISE,
        },
    ),
    _key(
        "fts-icml2020",
        "NMU, sNMU, PCC-MSE loss and beta-initialised NAU",
        {
            "NMU": BASELINE,
            "sNMU": NOISE_1_5,
            "PCC-MSE": PCC_NOISE,
            "bNAU": ("FTS_beta-nau-Nnmu_ranges-pcc-750K-mse",),
        },
    ),
    _key(
        "fts-icml2020-rebuttal",
        "NMU and sNMU under PCC losses",
        {
            "NAU-sNMU PCC-MSE": PCC_NOISE,
            "NAU-NMU PCC-MSE": PCC_MSE,
            "NAU-NMU PCC": ("FTS_nau-nmu-pcc",),
        },
    ),
    _key(
        "fts-noise",
        "sNMU, batch sNMU and NMU with stochastic gates",
        {"sNMU": NOISE_1_5, "Batch sNMU": BATCH, "stg-NMU": ("FTS_nau-stg_nmu",)},
    ),
    _key(
        "fts-mape",
        "NMU and sNMU under the MAPE loss",
        {
            "nmu (mse)": BASELINE,
            "nmu (mape)": (f"{_FOLDER}/FTS_nau-nmu-mape",),
            "snmu (mape)": (f"{_FOLDER}/FTS_nau-snmu-mape",),
        },
    ),
)

DISTRIBUTIONS = {
    "truncated-normal-0-1--5-5": "truncated normal [-5,5]",
    "uniform-1-2": "uniform [1,2]",
    "uniform--2--1": "uniform [-2,-1]",
    "exponential-500-0-0": "exponential 500",
}
"""Base name of the exported weights -> training distribution."""


def _series(base: str) -> Series:
    """Return the step that was cut out of an export, or the export itself."""
    return Series((f"{base}_expanded_100K_step", base), DISTRIBUTIONS[base])


ENTRIES = (
    *_RANGES,
    *(
        Entry(
            f"robustness-{base}",
            MISTRY_2022_ROBUST,
            "",
            f"Distance to the exact weights by configuration, {text}",
            (Distances(stem=f"{base}_ci", by="configuration"),),
            (_series(base),),
            published=base,
        )
        for base, text in DISTRIBUTIONS.items()
    ),
    Entry(
        "robustness-distributions",
        MISTRY_2022_ROBUST,
        "",
        "Distance to the exact weights by training distribution",
        (Distances(stem="distributions_violin", by="distribution"),),
        tuple(_series(base) for base in DISTRIBUTIONS),
    ),
)
