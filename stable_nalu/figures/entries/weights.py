"""Weights along training: single modules, and the last layer of the pairs of digits."""

from __future__ import annotations

from stable_nalu.papers import MISTRY_2022_DIVISION, MISTRY_2022_ROBUST

from ..entry import Entry
from ..kinds import Path
from ..source import Series

LAST_LAYER = (("label2out.w0", "label2out.w1"),)
MODULE = (("weights.w0", "weights.w1"), ("gate.g0", "gate.g1"))
_MULTIPLY = ("static-mnist/mul", "weight-paths")
_MODULE_SERIES = (Series(("realnpu_modified",), "Real NPU (modified)"),)
_MODULE_FOLDERS = ("sltr-in2", "weight-paths")


def _digits(key: str, shows: str, series: dict[str, str]) -> Entry:
    parts = tuple(
        Path(
            stem=f"{name}_fNA_labels2out-path",
            columns=LAST_LAYER,
            time="epoch",
            limits=(0.0, 1.5),
            file=name,
        )
        for name in series.values()
    )
    found = tuple(Series((name,), label) for label, name in series.items())
    return Entry(key, MISTRY_2022_ROBUST, "Figures 13–20", shows, parts, found, _MULTIPLY)


ENTRIES = (
    _digits(
        "weights_path-isolated",
        "Weights of the last layer along training, isolated digits",
        {
            "fc": "1digit_conv-fc_Adam",
            "nmu": "1digit_conv-nmu_Adam",
            "snmu [1,5]": "1digit_conv-snmu",
            "snmu [1,1+1/sd(x)]": "1digit_conv-batch-snmu",
        },
    ),
    _digits(
        "weights_path-colour-concat",
        "Weights of the last layer along training, digits in colour channels",
        {
            "fc": "fc_MSE_Adam-lr0.001_TPS-no-concat-conv",
            "nmu": "nmu_MSE_Adam-lr0.001_TPS-no-concat-conv",
            "snmu [1,5]": "snmu_MSE_Adam-lr0.001_TPS-no-concat-conv",
            "snmu [1,1+1/sd(x)]": "batch-snmu_MSE_Adam-lr0.001_TPS-no-concat-conv",
        },
    ),
    Entry(
        "weights_path",
        MISTRY_2022_DIVISION,
        "",
        "Weights and gates of a single module along training",
        (
            Path(
                stem="{key}_sNA",
                columns=MODULE,
                time="step",
                limits=(-1.0, 1.0),
                every=1000,
                file="realnpu_modified",
            ),
            Path(
                stem="{key}_sNA_L2",
                columns=MODULE[:1],
                time="step",
                limits=(-1.0, 1.0),
                every=1000,
                file="realnpu_modified",
                show="distance",
            ),
        ),
        _MODULE_SERIES,
        _MODULE_FOLDERS,
    ),
    Entry(
        "weight2gate_ratio",
        MISTRY_2022_DIVISION,
        "",
        "How far the weights of a single module move, over how far its gates do",
        (
            Path(
                stem="{key}",
                columns=MODULE,
                time="step",
                limits=(-1.0, 1.0),
                every=10,
                shown=100,
                file="realnpu_modified",
                show="ratio",
            ),
        ),
        _MODULE_SERIES,
        _MODULE_FOLDERS,
    ),
)
