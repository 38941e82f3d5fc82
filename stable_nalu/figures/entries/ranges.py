"""The arithmetic data set over ranges: noise, losses and gates of the multiplication unit."""

from __future__ import annotations

from stable_nalu.catalogue.ranges import INTERPOLATION_ORDER
from stable_nalu.papers import MISTRY_2022_ROBUST

from ..entry import Entry, Series
from ..parts import Panels, Runs, Threshold

RUNS = Runs(
    x="interpolation.range",
    threshold=Threshold(),
    names="data-set",
    expected=INTERPOLATION_ORDER,
)
_FOLDER = "FTS_NAU_NMU_ranges"
_NOISE = f"{_FOLDER}/sNMU-noise-ranges"

# The first path of each is that of the published plots, the second the name of the experiment.
BASELINE = ("FTS_NAU_NMU_ranges_baseline", f"{_FOLDER}/nau-nmu")
NOISE_1_5 = ("FTS_NAU_NMU_ranges_noise-1-5", f"{_FOLDER}/nau-Nnmu")
BATCH = (f"{_FOLDER}/batch_sNMU",)
PCC_NOISE = ("FTS_nau-Nnmu-epsPcc-750K-mse",)
PCC_MSE = ("FTS_nau-nmu-pcc750Kmse",)


def _noise(low: str, high: str) -> tuple[str, ...]:
    return (f"{_NOISE}/FTS_nau-snmu_{low}-{high}", f"{_NOISE}/{low}-{high}")


def _key(key: str, number: str, shows: str, series: dict[str, tuple[str, ...]]) -> Entry:
    part = Panels(
        stem="{key}",
        runs=RUNS,
        x_label="Interpolation range",
        success="Extrapolation range success rate",
    )
    found = tuple(Series(files, label) for label, files in series.items())
    return Entry(key, MISTRY_2022_ROBUST, number, shows, (part,), found)


ENTRIES = (
    _key(
        "fts-snmu-noise-ranges",
        "Figure 5",
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
    ),
    _key(
        "fts-2021-final",
        "Figure 7",
        "NMU and sNMU on the arithmetic data set",
        {"NMU": BASELINE, "sNMU": NOISE_1_5},
    ),
    _key(
        "fts-snmu-test",
        "",
        "sNMU: three ranges of the noise",
        {"[1,5]": NOISE_1_5, "[5,10]": _noise("5", "10"), "[10,20]": _noise("10", "20")},
    ),
    _key(
        "fts-2021",
        "",
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
        "",
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
        "",
        "NMU and sNMU under PCC losses",
        {
            "NAU-sNMU PCC-MSE": PCC_NOISE,
            "NAU-NMU PCC-MSE": PCC_MSE,
            "NAU-NMU PCC": ("FTS_nau-nmu-pcc",),
        },
    ),
    _key(
        "fts-noise",
        "",
        "sNMU, batch sNMU and NMU with stochastic gates",
        {"sNMU": NOISE_1_5, "Batch sNMU": BATCH, "stg-NMU": ("FTS_nau-stg_nmu",)},
    ),
    _key(
        "fts-mape",
        "",
        "NMU and sNMU under the MAPE loss",
        {
            "nmu (mse)": BASELINE,
            "nmu (mape)": (f"{_FOLDER}/FTS_nau-nmu-mape",),
            "snmu (mape)": (f"{_FOLDER}/FTS_nau-snmu-mape",),
        },
    ),
)
