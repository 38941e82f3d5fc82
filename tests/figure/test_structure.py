"""What each kind of drawing consists of: panels, series, labels, intervals."""

import pytest

from stable_nalu.figure.entries import entry_of_files, find
from stable_nalu.figure.entry import Context
from stable_nalu.figure.kinds import EpochCurves
from stable_nalu.figure.source import Source
from stable_nalu.figure.style import drawing
from tests.figure.drawing import by_gid, legend_texts, means, products, texts


def figures(key, folder):
    return [product.figure for product in products(key, folder)[0] if product.figure is not None]


def titles(figure):
    return [axes.get_title() for axes in figure.axes if axes.get_title()]


def tick_texts(ticks):
    return [tick.get_text() for tick in ticks]


def test_histograms_hold_every_run(tmp_path):
    (figure,) = figures("function_task_static_nalu", tmp_path)
    models = ("Gated NAU/NMU", "NALU (separate)", "NALU (shared)")
    heads = [title.split("\n")[0] for title in titles(figure)]
    assert heads == [f"{w} – {m}" for w in ("Multiplication", "Addition") for m in models]
    for axes in figure.axes:
        assert sum(bar.get_height() for bar in axes.patches) == 4
        assert "n = 4, failed: " in axes.get_title()
    assert legend_texts(figure) == ["solved", "not solved"]


@pytest.mark.slow
def test_success_rates_over_four_parameters(tmp_path):
    entry = find("function_task_static_mul_paramaters")
    for part, figure in zip(entry.parts, figures(entry.key, tmp_path), strict=True):
        assert titles(figure) == ["Hidden Size", "Input Size", "Overlap Ratio", "Subset Ratio"]
        assert len({axes.get_position().y0 for axes in figure.axes}) == 4 // part.columns
        for axes, (_, _, runs) in zip(figure.axes, part.panels, strict=True):
            assert len(axes.texts) == 2 * len(runs.expected)
            assert all("/4" in text.get_text() for text in axes.texts)


def test_curves_over_epochs_have_ribbons(tmp_path):
    entry = find("static-mnist-mul-colour-concat")
    made = dict(zip(entry.parts, figures(entry.key, tmp_path), strict=True))
    labels = [one.label for one in entry.series]
    for part, figure in made.items():
        if isinstance(part, EpochCurves):
            (axes,) = figure.axes
            assert axes.get_ylabel() == part.y_label
            assert all(len(by_gid(axes, f"{label} interval")) == 1 for label in labels)
            assert legend_texts(figure) == [f"{label} (n = 4)" for label in labels]


def test_curves_of_runs_that_end_apart_say_how_many_there_are(tmp_path):
    (tmp_path / "a.csv").write_text(
        "name,epoch,metric.test.output.acc\n0_f0_op-mul_nalmT_learnLT_s0,0,10\n"
        "0_f0_op-mul_nalmT_learnLT_s0,1,30\n0_f1_op-mul_nalmT_learnLT_s0,0,20\n"
    )
    entry = entry_of_files("curve", [tmp_path / "a.csv"], ["x"], "mine")
    with drawing():
        figure, side = entry.parts[0].drawn(Context("mine", entry.series, Source(tmp_path)))
    assert side["mine_plot_data"]["mean"].tolist() == [15, 30]
    assert legend_texts(figure) == ["x (n = 1 to 2)"]


def test_violins_in_the_published_order(tmp_path):
    figure = figures("div-1digit_conv-Adam-s3Init", tmp_path)[1]
    assert tick_texts(figure.axes[0].get_yticklabels()) == [
        f"{model}\n(n = 4)" for model in ("DIV", "Real NPU (mod)", "NRU", "NMRU")
    ]


def test_errors_of_exact_weights(tmp_path):
    (figure,) = figures("divBy0_gold_test_errors", tmp_path)
    assert titles(figure) == [
        "Input: [a]; Output: 1/a",
        "Input: [a,b]; Output: 1/a",
        "Input: [a,b]; Output: a/b",
    ]
    assert legend_texts(figure) == ["RealNPU", "RealNPU (eps=0)", "NRU", "NMRU"]
    for axes in figure.axes:
        errors = [error for line in axes.lines for error in line.get_ydata()]
        low, high = axes.get_ylim()
        assert low < min(errors)
        assert high > max(errors)
        ticks = tick_texts(axes.get_xticklabels())
        assert ticks == [f"U[0,1e{power:+d})" for power in range(-8, 1)]


def test_accuracy_by_class(tmp_path):
    (figure,) = figures("class_accs-mul-1digit_conv-Adam", tmp_path)
    assert [len(axes.patches) for axes in figure.axes] == [50, 50]
    assert [axes.get_ylim() for axes in figure.axes] == [(0, 1), (0.96, 1.0)]
    labels = ["mul", "fc", "nmu", "snmu", "snmu [1,1+1/sd(x)]"]
    assert legend_texts(figure) == labels


def test_confusion_matrix(tmp_path):
    (figure,) = figures("confusion_matrix", tmp_path)
    counts = [int(text.get_text()) for text in figure.axes[0].texts]
    assert len(counts) == 100
    assert f"n = {sum(counts)} digits" in texts(figure)


def test_surfaces(tmp_path):
    (figure,) = figures("surface-mul", tmp_path)
    assert titles(figure) == [one.label for one in find("surface-mul").series]
    *facets, bar = figure.axes
    assert bar.get_ylabel() == "Prediction"
    assert len(tick_texts(bar.get_yticklabels())) == 6
    for axes in facets:
        assert len(by_gid(axes, "interpolation")) == len(by_gid(axes, "extrapolation")) == 1


def test_landscapes(tmp_path):
    made = figures("loss_landscape", tmp_path)
    heads = [figure.axes[0].get_title().split(",")[0] for figure in made]
    assert heads == ["NAC•", "NMU", "NRU", "NRU with tanh gates"]
    for figure in made:
        assert (figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()) == ("$w_1$", "$w_2$")


def test_paths_of_weights_and_gates(tmp_path):
    """As `plot.py --csv --kind path` draws them: a star at either end of every run's path."""
    columns = "name,step,weights.w0,weights.w1,gate.g0,gate.g1\n"
    rows = [f"run{n},{step},0.{n},-0.{step},0,1\n" for n in range(4) for step in range(3)]
    (tmp_path / "a.csv").write_text(columns + "".join(rows))
    entry = entry_of_files("path", [tmp_path / "a.csv"], ["Real NPU (modified)"], "mine")
    with drawing():
        path, side = entry.parts[0].drawn(Context("mine", entry.series, Source(tmp_path)))
    assert path.axes[0].get_title() == "Real NPU (modified)"
    assert path.axes[1].get_ylabel() == "step"
    assert len([line for line in path.axes[0].lines if line.get_marker() == "*"]) == 2 * 2 * 4
    assert len(side["mine_plot_data"]) == 12


def test_products_by_training_length_by_outputs_and_by_length(tmp_path):
    """Three figures of the published scripts that are in no paper; x is what each is about."""
    (figure,) = figures("sequential_mnist_prod_boundary_interpolation", tmp_path)
    assert set(means(figure.axes[0], "NALU")) == {2, 3, 4, 5}
    made, _ = products("sequential_mnist_prod_boundary_output", tmp_path)
    assert made[0].stem == "sequential_mnist_prod_hidden_size_l9"
    assert set(means(made[0].figure.axes[0], "NMU")) == {1, 2, 3, 4, 5, 6}
    (figure,) = figures("sequential_mnist_prod_horizon_output", tmp_path)
    assert legend_texts(figure) == [f"NMU, outputs: {count}" for count in range(1, 7)]
    assert set(means(figure.axes[0], "NMU, outputs: 3")) == set(range(1, 10))
    # No run is solved at most lengths: the axis goes on to them.
    for axes in figure.axes[:3]:
        low, high = axes.get_xlim()
        assert low <= 1
        assert high >= 9
