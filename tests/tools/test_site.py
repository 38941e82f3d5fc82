"""The built site in a headless Chromium: search, phone, dark, links; nothing from elsewhere."""

import importlib.util
import json
import os
import subprocess
import sys
import threading
from functools import partial
from html import unescape
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from tests.tools.test_browser import BROWSER, READABLE, THEMES, browse

pytestmark = [pytest.mark.slow, pytest.mark.browser]
ROOT = Path(__file__).resolve().parents[2]
PAGES = ("", "flags", "api", "layers", "layer/SignNMRU", "layer/NALU", "reproduction", "gallery")
FRAME = """<!DOCTYPE html><link rel="icon" href="data:,">
<img src="/hold"><iframe src="{page}" width="{width}" height="2000"></iframe><script>
const light = ([r, g, b]) => [r, g, b].map(c => c / 255).map(
  c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4
).reduce((sum, c, k) => sum + c * [0.2126, 0.7152, 0.0722][k], 0);
// Any CSS colour, also one of hsla(), as red, green, blue and alpha.
const canvas = Object.assign(document.createElement("canvas"), {{width: 1, height: 1}});
const drawing = canvas.getContext("2d", {{willReadFrequently: true}});
const colour = text => {{
  drawing.clearRect(0, 0, 1, 1); drawing.fillStyle = text; drawing.fillRect(0, 0, 1, 1);
  const [r, g, b, a] = drawing.getImageData(0, 0, 1, 1).data; return [r, g, b, a / 255];
}};
const over = ([r, g, b, a], under) => [r, g, b].map((c, k) => a * c + (1 - a) * under[k]);
const style = element => frames[0].getComputedStyle(element);
const behind = element => {{
  const own = colour(style(element).backgroundColor), up = element.parentElement;
  return own[3] == 1 ? own.slice(0, 3) : over(own, up ? behind(up) : [255, 255, 255]);
}};
const contrast = element => {{
  const paper = behind(element), ink = over(colour(style(element).color), paper);
  const [a, b] = [light(ink), light(paper)];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}};
const measure = () => {{
  const page = frames[0].document;
  const found = [...page.querySelectorAll(".md-search-result__item a")];
  const texts = [...page.querySelectorAll(
    "article :is(p, a, th, td, code, h2, h3, math, svg.response)"
  )].filter(element => !element.matches(".headerlink") && element.checkVisibility() &&
    element.textContent.trim());
  const worst = texts.map(element => [contrast(element), element]).reduce(
    (a, b) => b[0] < a[0] ? b : a);
  const told = document.createElement("pre");
  told.textContent = JSON.stringify({{
    window: frames[0].innerWidth, width: page.documentElement.scrollWidth,
    paper: light(behind(page.body)), contrast: worst[0], worst: worst[1].outerHTML.slice(0, 80),
    found: found.map(link => link.getAttribute("href")),
    elsewhere: frames[0].performance.getEntriesByType("resource").map(entry => entry.name)
      .filter(name => !name.startsWith(location.origin)),
  }});
  document.body.replaceChildren(told);
  fetch("/release");
}};
const wait = left => {{
  const wanted = !location.search.includes("q=") ||
    frames[0].document.querySelector(".md-search-result__item");
  wanted || !left ? measure() : setTimeout(() => wait(left - 1), 100);
}};
document.querySelector("iframe").onload = () => setTimeout(() => wait(300), 300);
</script>"""
"""A page in a frame as wide as a screen, which is replaced by what was measured of it.

Until then the picture `/hold` is not answered, so that Chromium does not end."""


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


class Handler(SimpleHTTPRequestHandler):
    """Serves the site; `/frame.html?width=390&page=/api/` shows and measures a page that wide."""

    def log_request(self, code="-", size="-"):
        self.server.asked.append((self.path, int(code)))

    def do_GET(self):
        asked = urlsplit(self.path)
        if asked.path in ("/hold", "/release"):
            if asked.path == "/hold":
                self.server.released.wait(60)
            self.server.released.set()
            self.send_response(204)
            self.end_headers()
            return
        if asked.path != "/frame.html":
            super().do_GET()
            return
        named = {name: values[0] for name, values in parse_qs(asked.query).items()}
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(FRAME.format(**named).encode())


@pytest.fixture(scope="module")
def look(site, tmp_path_factory):
    """Returns what is measured of a page."""
    if BROWSER is None:
        pytest.skip("no Chromium here: apt-get install chromium, or brew install chromium")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(site)))
    server.asked = []
    threading.Thread(target=server.serve_forever, daemon=True).start()

    def measured(page, width, theme):
        server.asked.clear()
        server.released = threading.Event()
        address = f"http://127.0.0.1:{server.server_address[1]}/frame.html"
        profile = tmp_path_factory.mktemp("profile")
        asked = f"{address}?width={width}&page={page}"
        dom = browse(profile, width, theme, "--dump-dom", asked)
        assert {code for _, code in server.asked} <= {200, 204, 304}, server.asked
        return json.loads(unescape(dom.partition("<pre>")[2].partition("</pre>")[0]))

    yield measured
    server.shutdown()
    server.server_close()


def test_search_finds_a_layer(look):
    found = look("/?q=NMRU", 1280, "light")
    assert any("layer/SignNMRU/" in link for link in found["found"]), found


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("theme", THEMES)
def test_fits_a_phone_and_is_legible(page, theme, look):
    found = look(f"/{page}/".replace("//", "/"), 390, theme)
    assert found["window"] == 390
    assert found["width"] <= 390, "the page itself scrolls sideways"
    assert found["paper"] < 0.05 if theme == "dark" else found["paper"] > 0.9
    assert found["contrast"] >= READABLE, found["worst"]
    assert found["elsewhere"] == []


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
