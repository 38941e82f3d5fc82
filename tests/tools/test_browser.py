"""The page in a headless Chromium: desk and phone, light and dark, and nothing from elsewhere."""

import pytest

from stable_nalu.result import reproduce, stored
from tests.result.made_up import write
from tests.tools.browser import READABLE, SCRIPTS, look, served
from tests.tools.page_reader import read_page

pytestmark = [pytest.mark.slow, pytest.mark.browser]
WIDTHS = {"desk": 1200, "phone": 390}
TEXTS = "body, h2, p, a[href], th, td, pre, code, summary"
MORE = (SCRIPTS / "page.js").read_text("utf-8")


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The page in the checkout and one of made-up results."""
    folder = tmp_path_factory.mktemp("made-up")
    write("simple_mul", folder / "data", range(3))
    words = ["--report", "--data", str(folder / "data"), "--report-out", str(folder)]
    assert reproduce.main(words) == 0
    return {"made-up": folder, "checkout": stored.DATA.parent}


@pytest.mark.parametrize(
    ("which", "device", "theme"), [("made-up", "phone", "dark"), ("checkout", "desk", "light")]
)
def test_loads_whole_and_fits(which, device, theme, pages, tmp_path):
    width = WIDTHS[device]
    with served(pages[which]) as server:
        found = look(server, tmp_path, "/index.html", width, theme, texts=TEXTS, more=MORE)
    tables, _ = read_page(pages[which] / "index.html")
    assert found["tables"] == sum(map(len, tables.values())) >= 2
    assert 0 < found["folded"] < found["tables"]
    assert found["window"] == width
    assert found["width"] <= width, "the page itself scrolls sideways"
    assert found["stuck"] == 0, "a table is wider than its box, which does not scroll"
    assert found["contrast"] >= READABLE, found["worst"]
    assert found["paper"] <= 0.05 if theme == "dark" else found["paper"] >= 0.9
    assert found["loaded"] == []
    asked = {path for path, _ in server.asked}
    assert asked == {"/frame.html", "/index.html", "/hold", "/release"}
