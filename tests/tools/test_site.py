"""The built site in a headless Chromium: search, phone, dark, links; nothing from elsewhere."""

import importlib.util
import os
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.tools.browser import READABLE, THEMES, look, served

pytestmark = [pytest.mark.slow, pytest.mark.browser]
ROOT = Path(__file__).resolve().parents[2]
PAGES = ("", "flags", "layer/SignNMRU", "reproduction")
TEXTS = "article :is(p, a, th, td, code, h2, h3, math, svg.response)"
RESULTS = ".md-search-result__item"
LINKS = f"page => ({{found: [...page.querySelectorAll('{RESULTS} a')].map(e => e.pathname)}})"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    if importlib.util.find_spec("material") is None:
        pytest.skip("the packages of the site are not here: `make docs` installs them")
    folder = tmp_path_factory.mktemp("site")
    words = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr.strip()) == (0, "")
    return folder


@pytest.fixture(scope="module")
def server(site):
    """A server of the site."""
    with served(site) as server:
        yield server


def test_search_finds_a_layer(server, tmp_path):
    how = {"texts": "body", "more": LINKS, "until": RESULTS}
    found = look(server, tmp_path, "/?q=NMRU", 1280, "light", **how)
    assert any("layer/SignNMRU/" in link for link in found["found"]), found


@pytest.mark.parametrize(
    ("page", "theme"), [(page, [*THEMES][k % 2]) for k, page in enumerate(PAGES)]
)
def test_fits_a_phone_and_is_legible(page, theme, server, tmp_path):
    found = look(server, tmp_path, f"/{page}/".replace("//", "/"), 390, theme, texts=TEXTS)
    assert found["window"] == 390
    assert found["width"] <= 390, "the page itself scrolls sideways"
    assert found["paper"] < 0.05 if theme == "dark" else found["paper"] > 0.9
    assert found["contrast"] >= READABLE, found["worst"]
    assert {urlsplit(link).hostname for link in found["loaded"]} == {"127.0.0.1"}


class Links(HTMLParser):
    """The links of a page, and the places in it that links can lead to."""

    def __init__(self, text):
        super().__init__()
        self.links, self.places = set(), {""}
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.links |= {(tag, found[name]) for name in ("href", "src") if found.get(name)}
        self.places |= {found[name] for name in ("id", "name") if found.get(name)}


def test_no_link_is_broken_and_nothing_is_loaded_from_elsewhere(site):
    pages = {path: Links(path.read_text("utf-8")) for path in site.rglob("*.html")}
    assert len(pages) > 60
    broken = []
    for path, page in pages.items():
        for tag, link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                assert tag == "a" or parts.scheme == "data", (path, link)
                continue
            target = path.parent / unquote(parts.path) if parts.path[:1] != "/" else None
            target = site / unquote(parts.path).lstrip("/") if target is None else target
            target = Path(os.path.normpath(path if not parts.path else target))
            target = target / "index.html" if target.is_dir() else target
            places = pages[target].places if target in pages else {parts.fragment}
            if not target.exists() or unquote(parts.fragment) not in places:
                broken.append(f"{path.relative_to(site)}: {link}")
    assert not broken, "\n".join(sorted(broken))
