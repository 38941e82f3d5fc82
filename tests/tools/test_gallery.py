"""The gallery shows real results: what it draws, from which runs, and that its page is fresh."""

import pandas as pd
import pytest
import torch

from stable_nalu.figure.entries import made
from stable_nalu.figure.entry import Context
from stable_nalu.network import SingleLayerNetwork
from stable_nalu.paper.experiment import expected_runs, flags
from stable_nalu.paper.figures import all_entries, find, source_of
from stable_nalu.paper.index import EXPERIMENTS
from stable_nalu.result.judged import compact, judged_runs
from stable_nalu.result.pipeline import Folders
from stable_nalu.result.stored import add
from tests.figure.drawing import FAILED, FAST, means, metrics, solved_at
from tests.result.made_up import write
from tools import gallery
from tools.kept_runs import kept_source

ENTRIES = all_entries()


def test_every_picture_belongs_to_kept_results_or_is_computed_and_the_page_is_fresh():
    text = (gallery.FOLDER / "README.md").read_text(encoding="utf-8")
    assert text == gallery.page(ENTRIES, gallery.FOLDER), "make gallery"
    assert "made up" not in text.lower()
    folders = {path.name for path in gallery.FOLDER.iterdir() if path.is_dir()}
    for key, entry in ENTRIES.items():
        assert key in folders or f"`{gallery.command(entry)}`" in text
        assert (f'<a id="{key}"></a>' in text) == (key in folders)
    for key in folders:
        stems = {part.stem.replace("{key}", key) for part in ENTRIES[key].parts}
        found = list((gallery.FOLDER / key).iterdir())
        assert {path.stem for path in found} <= stems
        assert {path.suffix for path in found} <= {".png", ".tex"}
        assert found
    loose = [path.name for path in gallery.FOLDER.iterdir() if path.is_file()]
    assert loose == ["README.md"]


LENGTH = flags("--max-iterations 2000 --log-interval 1000")
"""Of the logs that are made up."""


def test_kept_runs_draw_the_figure_of_their_exports(tmp_path):
    experiment, entry = EXPERIMENTS["nips-divBy0-medium"], find("nips-divBy0-medium")
    space, data = Folders(tmp_path), tmp_path / "data"
    for place, model in enumerate(experiment.models):
        rows = {
            run.leaf: solved_at(1000 * (1 + number % 2), 1e-3 / (number + 1))
            if (number * 7 + place) % 5 > 1
            else FAILED
            for number, run in enumerate(expected_runs(model, range(3), LENGTH))
        }
        metrics(space.csv / f"{model.csv}.csv", rows)
    expected = [run for m in experiment.models for run in expected_runs(m, range(3), LENGTH)]
    tables = {m.csv: pd.read_csv(space.csv / f"{m.csv}.csv") for m in experiment.models}
    judged = judged_runs(experiment, tables, expected, lambda text: None)
    compacted = [
        compact(row) | {"iterations": 2000, "diverged": 0} for row in judged.to_dict("records")
    ]
    add(experiment, type(judged)(compacted), [], data)

    assert gallery.drawable(entry, data)
    kept_runs = kept_source(entry, data)
    sources = (source_of(entry, space.csv), kept_runs)
    (part,) = entry.parts
    exported, kept = (made(part, Context(entry, source, estimators=FAST)) for source in sources)
    assert [axes.get_title() for axes in exported.figure.axes[::2]][0] == "Success rate"
    for label in [one.label for one in entry.series]:
        for one, other in zip(exported.figure.axes, kept.figure.axes, strict=True):
            assert means(one, label) == pytest.approx(means(other, label), rel=1e-6, nan_ok=True)
            assert [t.get_text() for t in one.texts] == [t.get_text() for t in other.texts]
    (stem,) = (name for name in kept.side if name.endswith("_final_metrics"))
    numbers = [product.side[stem].set_index(["model", "parameter"]) for product in (exported, kept)]
    columns = ["success.rate.mean", "success.rate.upper", "converged.at.mean", "n", "failed"]
    for column in columns:
        one, other = (table[column] for table in numbers)
        assert one.to_dict() == pytest.approx(other.reindex(one.index).to_dict(), nan_ok=True)
    assert sources[1].warnings == []


def test_a_figure_with_a_file_that_is_not_kept_is_named_and_not_drawn(tmp_path):
    entry = find("nips-sltr-in10-npu")
    assert not gallery.drawable(entry, tmp_path)
    experiment = EXPERIMENTS["nips-sltr-in10-npu"]
    table = write(experiment.key, tmp_path / "whole", range(2))
    assert gallery.drawable(entry, tmp_path / "whole")
    part = table[table["model"] != experiment.models[0].key]
    add(experiment, part, [], tmp_path / "part")
    assert not gallery.drawable(entry, tmp_path / "part")
    assert gallery.drawable(find("loss_landscape"), tmp_path)
    assert gallery.command(entry).startswith("python3 experiments/reproduce.py ")


def save(path, layer, **options):
    model = SingleLayerNetwork(layer, 2, 1, **options)
    torch.save({"model_state_dict": model.state_dict(), "args": None}, path)
