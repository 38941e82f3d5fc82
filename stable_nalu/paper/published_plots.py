"""The commands that the READMEs of the papers draw their figures with, by the key of the figure."""

from __future__ import annotations

CSVS = "/data/nalms/csvs/"
"""Folder of exported tables, as the READMEs name it."""

_DIVISION = f"{CSVS}r_results/neurips-2021/"
_SURFACES = "/data/nalms/plots/2d-surface-plots/"
_FTS = f"{CSVS} /data/nalms/plots/FTS_NAU_NMU_ranges/"
_STATIC = f"{CSVS}static-mnist/mul/ /data/nalms/plots/static-mnist/"
_IN2, _IN10 = "sltr-in2", "sltr-in10"
_RANGES = {
    "nips-realnpu-L1": _IN2,
    "nips-realnpu-L1_sweep": _IN2,
    "nips-realnpu-clipping": _IN2,
    "nips-realnpu-discretisation": _IN2,
    "nips-realnpu-init": _IN2,
    "nips-sltr-in2": _IN2,
    "nips-sltr-in10": _IN10,
    "nips-in2-nru-lr": _IN2,
    "nips-realnpu-L2": _IN2,
    "nips-sltr-in10-npu": _IN10,
    "nips-in10-realnpu-W-reg": _IN10,
    "nips-in10-nmru-ablation": _IN10,
    "nips-in10-nmru-lr": _IN10,
    "nips-in10-nmru-optimiser": _IN10,
    "nips-in10-nru-separate-mag-sign": _IN10,
    "nips-sltr-in10-losses-realnpu": _IN10,
    "nips-sltr-in10-losses-nru": _IN10,
    "nips-sltr-in10-losses-nmru": _IN10,
}
"""Figures of one form, with the name of the file that is written."""

PLOTS = {
    **{
        key: f"neurips_range.r None {_DIVISION} {name} op-div None {key}"
        for key, name in _RANGES.items()
    },
    "mixed-sign-ds_realnpu-modified": f"neurips_range.r {CSVS}sltr-in2/ {_DIVISION} "
    "mixed-sign-ds_realnpu-modified op-div None",
    "divBy0_gold_test_errors": "divBy0_gold_test_errors.r",
    **{
        f"nips-{size}-distributions": f"neurips_range_distributions.r "
        f"{CSVS}sltr-{size}/distributions/ {_DIVISION} sltr-{size}-distributions op-div None "
        f"nips-{size}-distributions"
        for size in ("in2", "in10")
    },
    **{
        f"nips-divBy0-{task}": f"neurips_range_divBy0.r {CSVS}SLTR_divBy0/{task} "
        f"{_DIVISION}divBy0/ divBy0-{task} op-{operation} None nips-divBy0-{task} "
        f"zero.range.{task}"
        for task, operation in (("easy", "reciprocal"), ("medium", "reciprocal"), ("hard", "div"))
    },
    "surface-mul": f"plot_two_input_surface.r {_SURFACES}csvs/ {_SURFACES}2D-surface-mul mul",
    "robust-benchmark_sltr_mul": f"plot_results.r {CSVS}<experiment_name> "
    "data/nalms/plots/benchmark/sltr-in2/ benchmark_sltr op-mul None benchmark_sltr_mul",
    "fts-snmu-noise-ranges": f"plot_fts_results.r {_FTS} fts-snmu-noise-ranges "
    "fts-snmu-noise-ranges",
    "fts-2021-final": f"plot_fts_results.r {_FTS} fts-2021-final fts-2021-final",
    "static-mnist-mul-isolated": f"plot_results.r {_STATIC}1digit_conv/ "
    "2DMNIST-static-mnist-mul-isolated None static-mnist-mul-isolated",
    "static-mnist-mul-colour-concat": f"plot_results.r {_STATIC}"
    "MSE_Adam-lr0.001_TPS-no-concat-conv/ 2DMNIST-static-mnist-mul-colour-concat None "
    "static-mnist-mul-colour-concat",
    "robust-sequential_mnist_prod_long": f"sequential_mnist_prod_long.r {CSVS} "
    "/data/nalms/plots/sequential_mnist_prod/ sequential_mnist_prod_long",
    "weights_path-isolated": f"weights_path.r {CSVS}<experiment_name> "
    "/data/nalms/plots/weight-paths/ <LOAD CSV FILENAME (excluding the .csv)> _labels2out-path",
}
"""Key of a figure -> what follows `Rscript`; of one without folders, these are the current one."""


def folders(key: str) -> tuple[str, str]:
    """Return the folder that a command reads and the one it writes to, as far as it names them."""
    words = PLOTS[key].split()[1:3]
    read, written = words if words else ("None", "")
    if read == "None" or "<" in read:
        read = CSVS
    if not written.endswith("/"):
        written = written.rpartition("/")[0]
    return read, written


def plot_words(key: str) -> list[str]:
    """Return the words behind `python3` that draw the same figure here."""
    read, written = folders(key)
    words = ["export/plot.py", key, "--csv-dir", read.rstrip("/")]
    return [*words, "--out-dir", written.rstrip("/")] if written else words
