"""The gallery shows real results: what it draws, from which runs, and that its page is fresh."""

from stable_nalu.paper.index import EXPERIMENTS, all_entries, find_figure
from stable_nalu.result.stored import add
from tests.result.made_up import write
from tools import gallery

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


def test_a_figure_with_a_file_that_is_not_kept_is_named_and_not_drawn(tmp_path):
    entry = find_figure("nips-sltr-in10-npu")
    assert not gallery.drawable(entry, tmp_path)
    experiment = EXPERIMENTS["nips-sltr-in10-npu"]
    table = write(experiment.key, tmp_path / "whole", range(2))
    assert gallery.drawable(entry, tmp_path / "whole")
    part = table[table["model"] != experiment.models[0].key]
    add(experiment, part, [], tmp_path / "part")
    assert not gallery.drawable(entry, tmp_path / "part")
    assert gallery.drawable(find_figure("loss_landscape"), tmp_path)
    assert gallery.command(entry).startswith("python3 experiments/reproduce.py ")
