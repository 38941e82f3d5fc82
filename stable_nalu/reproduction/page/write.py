"""From kept results to the files of the page."""

from __future__ import annotations

from pathlib import Path

from tqdm import tqdm

from stable_nalu.catalogue.index import EXPERIMENTS
from stable_nalu.errors import UsageError
from stable_nalu.files import atomic_text_file

from ..stored import DATA, stored_keys
from . import headline, html, markdown
from .contents import page
from .section import result

DRAWING = "headline.svg"


def write_page(data: Path = DATA) -> list[Path]:
    """Write `index.html`, `README.md` and the headline drawing beside the folder of results.

    From the results of the checkout, the headline table of its README, too.
    """
    keys = tqdm(stored_keys(data), desc="figures", disable=None, leave=False)
    results = [result(EXPERIMENTS[key], data) for key in keys]
    found = headline.findings(data)
    blocks = page(results, found, data.parent, DRAWING)
    files = {
        "index.html": html.render(blocks),
        "README.md": markdown.render(blocks),
        DRAWING: headline.drawing(found) + "\n",
    }
    written = _write(data.parent, files)
    if data.resolve() == DATA:
        readme = headline.README.read_text(encoding="utf-8")
        written += _write(headline.README.parent, {"README.md": headline.refreshed(readme)})
    return written


def _write(folder: Path, files: dict[str, str]) -> list[Path]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            with atomic_text_file(folder / name) as file:
                file.write(text)
    except OSError as error:
        raise UsageError(f"cannot write {folder}: {error.strerror}") from None
    return [folder / name for name in files]
