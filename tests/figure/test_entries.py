"""Every lookup key is there and is drawn from files of its own."""

import pytest

from stable_nalu.base.errors import UsageError
from stable_nalu.paper.index import (
    EXPERIMENTS,
    OTHER_KEYS,
    all_entries,
    find_figure,
    known,
    listing,
)
from stable_nalu.result.stored import DATA, read
from tests.figure.checks import CHECKS
from tests.figure.drawing import legend_texts, products, texts
from tools.kept_runs import files_of

ENTRIES = all_entries()


def test_the_list_names_every_key_once_and_a_figure_belongs_to_one_experiment():
    keys = [line.split()[0] for line in listing().splitlines() if line.startswith("  ")]
    assert sorted(keys) == sorted(ENTRIES)
    owners = [key for experiment in EXPERIMENTS.values() for key in experiment.figure_keys]
    assert len(set(owners)) == len(owners)
    assert set(ENTRIES) <= set(owners)
    assert len(ENTRIES) >= 86


@pytest.mark.parametrize("other", OTHER_KEYS)
def test_other_names_lead_to_the_key(other):
    assert other not in EXPERIMENTS
    assert other not in ENTRIES
    entry = find_figure(other)
    assert entry.key == OTHER_KEYS[other]
    if entry.key in EXPERIMENTS:
        assert known(other) is EXPERIMENTS[entry.key]


def test_keys_that_are_no_figure_say_what_to_draw():
    assert known("sequential_mnist_prod_errors").key == "sequential_mnist_prod_long"
    assert known("weights_path-isolated").key == "static-mnist-appendix"
    for key, says in {
        "nips-sltr-in3": "did you mean nips-sltr-in2",
        "static-mnist-appendix": "no figure of its own; draw weights_path-isolated, ",
        "robust-batch-snmu": "no figure of its own; experiments/reproduce.py",
    }.items():
        with pytest.raises(UsageError, match=says):
            find_figure(key)


# One of every kind; the others are drawn for the gallery.
DRAWN = (
    "nips-in10-nmru-optimiser",
    "simple_mul",
    "function_task_static_mul_overlap",
    "function_task_static_nalu",
    "divBy0_gold_test_errors",
    "surface-mul",
    "static-mnist-mul-isolated",
    "div-1digit_conv-Adam-s3Init",
    "class_accs-mul-1digit_conv-Adam",
    "confusion_matrix",
    "weights_path-isolated",
    "static-mnist-mul-colour-concat",
    "loss_landscape",
)
SLOW = ("sequential_mnist_prod_errors", "nips-in2-realnpu-lr", "benchmark_sltr_mul", *CHECKS)


@pytest.mark.parametrize(
    "key", [*DRAWN, *(pytest.param(k, marks=pytest.mark.slow) for k in SLOW if k not in DRAWN)]
)
def test_a_key_is_drawn(key, tmp_path):
    made, source = products(key, tmp_path)
    entry = ENTRIES[key]
    if key in CHECKS:
        CHECKS[key]([product.figure for product in made if product.figure is not None])
    assert [text for text in source.warnings if "no file" in text] == []
    for part, product in zip(entry.parts, made, strict=True):
        assert (product.figure is None) == (part.kind.__name__ == "table")
        if part.kind.__name__ == "table":
            assert f"tab:{part.options['label']}" in product.text
            assert product.text.count("\\\\") > 2
        elif part.kind.__name__ == "sweep_panels":
            check_panels(entry, part.options, product.figure)
        elif part.kind.__name__ == "scatter":
            assert len(legend_texts(product.figure)) >= 6
            ticks = [t.get_text() for t in product.figure.axes[0].get_xticklabels()]
            assert len(ticks) == len(entry.series)
            assert [int(tick.rpartition("n = ")[2]) for tick in ticks] == runs_of_series(entry)


def runs_of_series(entry):
    """Four made-up runs each, or three of three folds; or those that are kept."""
    kept = files_of(entry, DATA)
    models = {model.label: model for model in known(entry.key).models}
    if not kept:
        return [len(models[one.name].seeds[:4]) for one in entry.series]
    (key,) = set(kept.values())
    counts = read(key, DATA)["model"].value_counts()
    return [counts[models[one.name].key] for one in entry.series]


def check_panels(entry, options, figure):
    """Three panels with counts below each, all series in the legend, n in words."""
    titles = [axes.get_title() for axes in figure.axes if axes.get_title()]
    assert titles == ["Success rate", "Solved at iteration step", "Sparsity error"]
    assert len(figure.axes) == 6
    shown = legend_texts(figure)
    labels = [one.label for one in entry.series]
    if None not in labels:
        assert [text.split(" (n = ")[0] for text in shown] == labels
    expected = [model for one in entry.series for model in (one.label, *one.expects) if model]
    for model in (*options["runs"].models, *expected):
        assert any(text.startswith(model) for text in shown)
    assert "n = " in texts(figure) + " ".join(shown)
    success = figure.axes[0]
    bars = [a for a in success.get_children() if str(a.get_gid()).endswith(" interval")]
    assert len(bars) == len(shown)
    assert all(len(bar.get_segments()) for bar in bars)
    if options["runs"].expected and options.get("style") != "line":
        assert len(success.get_xticks()) >= len(options["runs"].expected)
