"""The page in a headless Chromium: desk and phone, light and dark, and nothing from elsewhere."""

import re
import shutil
import subprocess
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from stable_nalu.result import command, stored
from tests.processes import started
from tests.result.made_up import write
from tests.tools.page_reader import read_page

pytestmark = [pytest.mark.slow, pytest.mark.browser]
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
BROWSER = next((path for name in NAMES if (path := shutil.which(name))), None)
WIDTHS = {"desk": 1200, "phone": 390}
THEMES = {"dark": 0, "light": 1}
"""Colours that a reader prefers, as Chromium numbers them."""
READABLE = 4.5
"""The least contrast of text and what is behind it (WCAG 2, level AA)."""
HEIGHT = 2400
FRAME = """<!DOCTYPE html><html><head><link rel="icon" href="data:,"></head>
<body style="margin:0"><iframe src="/index.html" style="border:0" width="{width}" height="{height}">
</iframe></body></html>"""
"""Chromium's window has a least width, which is more than that of a phone; a frame has none."""

MEASURE = """<script>
const luminance = ([r, g, b]) => [r, g, b].map(c => c / 255).map(
  c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4
).reduce((sum, c, k) => sum + c * [0.2126, 0.7152, 0.0722][k], 0);
const colour = text => text.match(/[\\d.]+/g).map(Number);
const behind = element => {
  const found = colour(frames[0].getComputedStyle(element).backgroundColor);
  return found.length == 4 && found[3] == 0 && element.parentElement
    ? behind(element.parentElement) : found;
};
const contrast = element => {
  const ink = colour(frames[0].getComputedStyle(element).color);
  const [a, b] = [ink, behind(element)].map(luminance);
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
};
onload = () => {
  const page = frames[0].document, told = document.documentElement.dataset;
  const tables = [...page.querySelectorAll("table")];
  told.folded = tables.filter(table => !table.checkVisibility()).length;
  page.querySelectorAll("summary").forEach(summary => summary.click());
  told.window = frames[0].innerWidth;
  told.width = page.documentElement.scrollWidth;
  told.tables = tables.filter(table => table.checkVisibility() && table.offsetHeight > 0).length;
  told.stuck = tables.filter(table => {
    const box = table.parentElement;
    return box.offsetWidth > page.body.clientWidth ||
      table.offsetWidth > box.clientWidth &&
      frames[0].getComputedStyle(box).overflowX !== "auto";
  }).length;
  const texts = [...page.querySelectorAll("body, h2, p, a[href], th, td, pre, code, summary")];
  told.contrast = Math.floor(100 * Math.min(...texts.map(contrast)));
  told.paper = Math.round(100 * luminance(behind(page.body)));
  told.requests = frames[0].performance.getEntriesByType("resource").length;
};
</script>"""


@pytest.fixture(scope="module", autouse=True)
def _installed():
    if BROWSER is None:
        pytest.skip("no Chromium here: apt-get install chromium, or brew install chromium")


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The page in the checkout and one of made-up results."""
    folder = tmp_path_factory.mktemp("made-up")
    write("simple_mul", folder / "data", range(3))
    words = ["--report", "--data", str(folder / "data"), "--report-out", str(folder)]
    assert command.main(words) == 0
    return {"made-up": folder, "checkout": stored.DATA.parent}


class Handler(SimpleHTTPRequestHandler):
    """Notes what is asked for; `/frame-390.html` shows the page that wide, and measures it."""

    def log_request(self, code="-", size="-"):
        self.server.asked.append((self.path, int(code)))

    def do_GET(self):
        width = re.fullmatch(r"/frame-(\d+)\.html", self.path)
        if width is None:
            super().do_GET()
            return
        body = FRAME.format(width=width[1], height=HEIGHT).replace("</body>", f"{MEASURE}</body>")
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(body.encode())


@pytest.fixture
def serve():
    """Starts a server of a folder; its address and what was asked of it."""
    servers = []

    def start(folder):
        handler = partial(Handler, directory=str(folder))
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        server.asked = []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_address[1]}", server.asked

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def browse(profile, width, theme, *words):
    """What Chromium writes; no other host can be reached."""
    command_line = [
        *(BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"),
        *("--no-first-run", "--disable-background-networking", "--disable-component-update"),
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
        f"--user-data-dir={profile}",
        f"--window-size={width},{HEIGHT}",
        f"--blink-settings=preferredColorScheme={THEMES[theme]}",
        *words,
    ]
    pipe = subprocess.PIPE
    with started(command_line, stdout=pipe, stderr=pipe, text=True) as process:
        out, errors = process.communicate()
    assert process.returncode == 0, errors
    return out


@pytest.mark.parametrize(
    ("which", "device", "theme"),
    [
        ("made-up", "desk", "light"),
        ("made-up", "phone", "dark"),
        ("checkout", "desk", "dark"),
        ("checkout", "phone", "light"),
    ],
)
def test_loads_whole_and_fits(which, device, theme, pages, serve, tmp_path):
    address, asked = serve(pages[which])
    width = WIDTHS[device]
    words = "--dump-dom", f"{address}/frame-{width}.html"
    dom = browse(tmp_path / "profile", width, theme, *words)
    found = dict(re.findall(r'data-(\w+)="(\d+)"', dom.split("<head>")[0]))
    tables, _ = read_page(pages[which] / "index.html")
    assert int(found["tables"]) == sum(map(len, tables.values())) >= 2
    assert 0 < int(found["folded"]) < int(found["tables"])
    assert int(found["window"]) == width
    assert int(found["width"]) <= width, "the page itself scrolls sideways"
    assert found["stuck"] == "0", "a table is wider than its box, which does not scroll"
    assert int(found["contrast"]) >= 100 * READABLE
    assert int(found["paper"]) <= 5 if theme == "dark" else int(found["paper"]) >= 90
    assert found["requests"] == "0"
    assert asked == [(f"/frame-{width}.html", 200), ("/index.html", 200)]
