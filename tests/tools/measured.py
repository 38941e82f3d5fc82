"""What Chromium makes of one page without a network: facts that a script in the page notes."""

import re
import shutil
import subprocess

import pytest

from tests.processes import started

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
CONTRAST = """
const luminance = c => c.match(/[\\d.]+/g).slice(0, 3).map(v => v / 255)
  .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
  .reduce((sum, v, k) => sum + v * [0.2126, 0.7152, 0.0722][k], 0);
const behind = e => { const c = getComputedStyle(e).backgroundColor;
  return /, 0\\)$/.test(c) && e.parentElement ? behind(e.parentElement) : c; };
const contrast = e => { const [a, b] = [getComputedStyle(e).color, behind(e)].map(luminance);
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05); };
"""
"""JavaScript: the contrast of an element's text and what is behind it (WCAG 2)."""


def measured(text, script, address, folder, *, width, colours, budget=20000):
    """Return the document behind a script, and what that has noted in its `dataset`."""
    if BROWSER is None:
        pytest.skip("no Chromium here: apt-get install chromium, or brew install chromium")
    page = folder / "page.html"
    own = f"<script>{CONTRAST}{script}</script></html>"
    page.write_text(text.replace("</html>", own), encoding="utf-8")
    words = [
        *(BROWSER, "--headless", "--no-sandbox", "--disable-gpu", f"--window-size={width},900"),
        *(f"--user-data-dir={folder / 'profile'}", f"--virtual-time-budget={budget}"),
        *("--dump-dom", f"--blink-settings=preferredColorScheme={colours}"),
        f"file://{page}#{address}",
    ]
    with started(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        out, _ = process.communicate()
    return out, dict(re.findall(r'data-(\w+)="([^"]*)"', out.partition("<head")[0]))
