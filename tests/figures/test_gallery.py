"""The page with all figures, on two of them."""

from stable_nalu.figures.catalogue import find
from stable_nalu.figures.gallery import STAMP, draw_all
from stable_nalu.figures.specimen import SMALL, write_specimen


def test_the_page_links_what_it_shows(tmp_path):
    entries = [find("nips-realnpu-L1"), find("simple_mul")]
    draw_all(entries, tmp_path, extent=SMALL)
    page = (tmp_path / "README.md").read_text()
    assert "made up" in page
    name = "nips-realnpu-L1/nips-realnpu-L1_op-div.png"
    assert f"({name})" in page
    assert (tmp_path / name).is_file()
    assert "```latex\n\\begin{table}" in page
    assert {path.suffix for path in tmp_path.rglob("*.*") if path.is_file()} == {".png", ".md"}
    assert STAMP.startswith("Made-up")


def test_made_up_files_are_the_same_every_time(tmp_path):
    entry = find("nips-sltr-in2")
    first = [write_specimen(entry, tmp_path / name, SMALL) for name in ("a", "b")]
    assert len(first[0]) == 4
    assert [p.read_bytes() for p in first[0]] == [p.read_bytes() for p in first[1]]
    assert write_specimen(entry, tmp_path / "a", SMALL) == []
