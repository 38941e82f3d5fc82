"""The page that compares kept results with the papers: `reproduce.py --report`.

It is written as Markdown; the HTML is rendered from that, and the pictures are matplotlib's.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from stable_nalu.errors import UsageError
from stable_nalu.files import atomic_text_file
from stable_nalu.machine import is_checkout
from stable_nalu.paper.index import EXPERIMENTS

from ..stored import DATA, measured_keys, stored_keys

CHECKOUTS = DATA.parent
"""The folder of the page in the checkout."""


def write_page(data: Path = DATA, out: Path | None = None) -> list[Path]:
    """Write `index.html`, `README.md` and their pictures, and return the paths.

    From the results of the checkout, the headline table of its README is written, too. Notes and
    reasons that are written by hand are read beside the folder of results.

    Args:
        data: the folder of kept results.
        out: the folder of the page; None means that of the checkout, for its own results only.
    """
    from tqdm import tqdm

    from . import headline, measured
    from .contents import page
    from .html import render
    from .section import result

    own = data.resolve() == DATA.resolve()
    if out is None and not (own and is_checkout()):
        raise UsageError("--report-out: say where to write the page of results in another folder")
    folder = out or CHECKOUTS
    kept, of_measures = stored_keys(data), measured_keys(data)
    if not (kept or of_measures):
        raise UsageError(f"--data: {data} holds no kept results")
    keys = tqdm(kept, desc="figures", disable=None, leave=False)
    found = headline.findings(data)
    text, pictures = page(
        [result(EXPERIMENTS[key], data) for key in keys],
        found,
        data,
        os.path.relpath(data, folder),
        [measured.result(EXPERIMENTS[key], data) for key in of_measures],
    )
    _refuse_strangers(folder, pictures)
    files = {"index.html": render(text, pictures), "README.md": text, **pictures}
    written = _write(folder, files)
    if own and folder.resolve() == CHECKOUTS.resolve():
        readme = headline.README.read_text(encoding="utf-8")
        written += _write(headline.README.parent, {"README.md": headline.refreshed(readme)})
    return written


def _refuse_strangers(folder: Path, pictures: Iterable[str]) -> None:
    """Refuse to write over a page, or a picture, that no page of this script shows."""
    from .contents import FIRST_WORDS

    pages = [path for name in ("README.md", "index.html") if (path := folder / name).exists()]
    texts = {path: path.read_text(encoding="utf-8", errors="replace") for path in pages}
    for path, text in texts.items():
        if FIRST_WORDS not in text:
            raise UsageError(f"--report-out: {path} is not a page of this script, and is kept")
    shown = texts.get(folder / "README.md", "")
    for name in pictures:
        if (folder / name).exists() and f"({name})" not in shown:
            raise UsageError(f"--report-out: no page there shows {folder / name}, which is kept")


def _write(folder: Path, files: dict[str, str]) -> list[Path]:
    try:
        for name, text in files.items():
            with atomic_text_file(folder / name) as file:
                file.write(text)
    except OSError as error:
        raise UsageError(f"cannot write {folder}: {error.strerror}") from None
    return [folder / name for name in files if "/" not in name]
