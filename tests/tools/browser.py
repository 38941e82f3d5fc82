"""What Chromium makes of pages: facts that a script notes, at any width, in light and dark."""

import json
import re
import shutil
import subprocess
import threading
from contextlib import contextmanager
from functools import partial
from html import unescape
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.processes import started

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
BROWSER = next((path for name in NAMES if (path := shutil.which(name))), None)
THEMES = {"dark": 0, "light": 1}
"""Colours that a reader prefers, as Chromium numbers them."""
READABLE = 4.5
"""The least contrast of text and what is behind it (WCAG 2, level AA)."""
HEIGHT = 2400
SCRIPTS = Path(__file__).parent
CONTRAST = (SCRIPTS / "contrast.js").read_text("utf-8")
FRAME = (SCRIPTS / "frame.html").read_text("utf-8")
"""A page in a frame as wide as a screen, which is replaced by what was measured of it.

Chromium's window has a least width, which is more than that of a phone; a frame has none. Until
then the picture `/hold` is not answered, so that Chromium does not end."""


def browse(profile, width, theme, address, *more):
    """The document that Chromium makes of an address; no other host can be reached."""
    if BROWSER is None:
        pytest.skip("no Chromium here: apt-get install chromium, or brew install chromium")
    words = [
        *(BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"),
        *("--no-first-run", "--disable-background-networking", "--disable-component-update"),
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
        *(f"--user-data-dir={profile}", f"--window-size={width},{HEIGHT}"),
        *(f"--blink-settings=preferredColorScheme={THEMES[theme]}", *more),
        *("--dump-dom", address),
    ]
    pipe = subprocess.PIPE
    with started(words, stdout=pipe, stderr=pipe, text=True) as process:
        out, errors = process.communicate()
    assert process.returncode == 0, errors
    return out


def measured(text, script, address, folder, *, width, theme, budget=20000):
    """The document behind a script in a page, and what that has noted in its `dataset`."""
    page = folder / "page.html"
    own = f"<script>{CONTRAST}{script}</script></html>"
    page.write_text(text.replace("</html>", own), encoding="utf-8")
    time = f"--virtual-time-budget={budget}"
    out = browse(folder / "profile", width, theme, f"file://{page}#{address}", time)
    return out, dict(re.findall(r'data-(\w+)="([^"]*)"', out.partition("<head")[0]))


class Handler(SimpleHTTPRequestHandler):
    """Notes what is asked for; `/frame.html` is the frame that is measured."""

    def log_request(self, code="-", size="-"):
        self.server.asked.append((self.path, int(code)))

    def do_GET(self):
        if self.path == "/frame.html":
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(self.server.frame.encode())
        elif self.path in ("/hold", "/release"):
            if self.path == "/hold":
                self.server.released.wait(60)
            self.server.released.set()
            self.send_response(204)
            self.end_headers()
        else:
            super().do_GET()


@contextmanager
def served(folder):
    """Lends a server of a folder."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def look(server, profile, page, width, theme, *, texts, more="page => ({})", until="body"):
    """What is measured of a page and its texts, once an element is there; `more` adds to it."""
    server.asked, server.released = [], threading.Event()
    parts = {"PAGE": page, "WIDTH": width, "HEIGHT": HEIGHT, "CONTRAST": CONTRAST}
    parts |= {"MORE": more, "TEXTS": texts, "UNTIL": until}
    server.frame = re.sub("|".join(parts), lambda found: str(parts[found[0]]), FRAME)
    address = f"http://127.0.0.1:{server.server_address[1]}/frame.html"
    dom = browse(profile, width, theme, address)
    assert {code for _, code in server.asked} <= {200, 204, 304}, server.asked
    return json.loads(unescape(dom.partition("<pre>")[2].partition("</pre>")[0]))
