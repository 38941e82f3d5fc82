"""Robustness of multiplication units: the arithmetic data set over ranges."""

from __future__ import annotations

from stable_nalu.paper.ranges import INTERPOLATION_ORDER
from stable_nalu.papers import MISTRY_2022_ROBUST

from ..entry import Entry, Runs, Threshold
from ..kinds import Panels
from ..source import Series

RUNS = Runs("interpolation.range", Threshold(), expected=INTERPOLATION_ORDER)
_FOLDER = "FTS_NAU_NMU_ranges"
_NOISE = f"{_FOLDER}/sNMU-noise-ranges"

# The path of the published plots, the name of the experiment, and its name in the README.
BASELINE = ("FTS_NAU_NMU_ranges_baseline", f"{_FOLDER}/nau-nmu", "nau-nmu")
NOISE_1_5 = ("FTS_NAU_NMU_ranges_noise-1-5", f"{_FOLDER}/nau-Nnmu", "nau-Nnmu")
BATCH = (f"{_FOLDER}/batch_sNMU", "batch_sNMU")


def _noise(low: str, high: str) -> tuple[str, ...]:
    written = f"{_NOISE}/{low}-{high}"
    return (f"{_NOISE}/FTS_nau-snmu_{low}-{high}", written, written.removeprefix(f"{_FOLDER}/"))


def _key(key: str, shows: str, series: dict[str, tuple[str, ...]], number: str = "") -> Entry:
    part = Panels("{key}", RUNS, "Interpolation range")
    found = tuple(Series(files, label) for label, files in series.items())
    return Entry(key, MISTRY_2022_ROBUST, number, shows, (part,), found)


ENTRIES = (
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
)
