"""All figures on one page: `python3 -m stable_nalu.figures.gallery` (`make gallery`).

Drawn from results where there are some, else from made-up data, and marked as such.
"""

from __future__ import annotations

import argparse
import multiprocessing
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path

from tqdm import tqdm

from stable_nalu.errors import UsageError
from stable_nalu.files import atomic_text_file
from stable_nalu.machine import CHECKOUT, cores
from stable_nalu.papers import STUDIES
from stable_nalu.statistics.estimators import PUBLISHED, Estimators

from .entries import all_entries
from .entry import Entry
from .product import Context
from .render import Output, render
from .source import Source
from .specimen import USUAL, Extent, write_specimen

FOLDER = CHECKOUT / "docs" / "gallery"
STAMP = "Made-up data, not results."
COLORS = 96
"""Colours of a PNG of the gallery: few, so that the page stays small."""

DPI = 90
QUICK = Estimators("frozen", "scaled")
"""What means of made-up data are made with."""

HEAD = """# Figures and tables

Written by `make gallery`. Each is made by `python3 export/plot.py KEY --csv-dir PATH`.
{origin}
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Draw every entry and write the page; the result is the exit code."""
    parser = argparse.ArgumentParser(prog="stable_nalu.figures.gallery", description=__doc__)
    parser.add_argument("--csv-dir", metavar="PATH", help="exported results (default: made-up)")
    parser.add_argument("--out-dir", metavar="PATH", default=str(FOLDER))
    args = parser.parse_args(argv)
    try:
        csv_dir = Path(args.csv_dir) if args.csv_dir else None
        processes = cores()
        draw_all(list(all_entries().values()), Path(args.out_dir), csv_dir, processes=processes)
    except UsageError as error:
        sys.stderr.write(f"gallery: error: {error}\n")
        return 2
    return 0


def draw_all(
    entries: Sequence[Entry],
    folder: Path,
    csv_dir: Path | None = None,
    extent: Extent = USUAL,
    processes: int = 1,
) -> None:
    """Draw the entries into `folder`, with an index page."""
    draw = partial(drawn, folder=folder, csv_dir=csv_dir, extent=extent)
    sections = []
    with closing(tqdm(total=len(entries), disable=None, unit="figure")) as bar:
        for text in _each(draw, entries, processes):
            sections.append(text)
            bar.update()
    origin = "" if csv_dir else "\n**The data here are made up: no number was measured.**\n"
    folder.mkdir(parents=True, exist_ok=True)
    with atomic_text_file(folder / "README.md") as file:
        file.write(HEAD.format(origin=origin) + contents(entries) + "".join(sections))


def _each(draw: Callable[[Entry], str], entries: Sequence[Entry], processes: int) -> Iterator[str]:
    if processes == 1:
        yield from map(draw, entries)
        return
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        yield from pool.map(draw, entries)


def drawn(entry: Entry, folder: Path, csv_dir: Path | None, extent: Extent) -> str:
    """Draw one entry; its section of the page."""
    with tempfile.TemporaryDirectory() as made_up:
        if csv_dir is None:
            write_specimen(entry, Path(made_up), extent)
        source = Source(csv_dir or Path(made_up), entry.folders)
        stamp = "" if csv_dir else STAMP
        estimators = PUBLISHED if csv_dir else QUICK
        context = Context(entry.key, entry.series, source, estimators=estimators, stamp=stamp)
        output = Output(folder / safe(entry.key), ("png",), dpi=DPI, side=False)
        try:
            written = render(entry, context, output)
        except UsageError as error:
            return section(entry, folder, [], [str(error)])
    for path in written:
        if path.suffix == ".png":
            reduce_colors(path)
    return section(entry, folder, written, source.warnings if csv_dir else [])


def safe(key: str) -> str:
    """A key as the name of a folder."""
    return re.sub(r"[^\w.+-]", "_", key)


def reduce_colors(path: Path) -> None:
    """Rewrite a PNG with a palette."""
    from PIL import Image

    with Image.open(path) as image:
        small = image.convert("RGB").quantize(COLORS, dither=Image.Dither.NONE)
    small.save(path, optimize=True)


def contents(entries: Sequence[Entry]) -> str:
    """Links to all sections, by paper."""
    lines = []
    for paper in STUDIES:
        lines.append(f"\n**{paper.title}** ({paper.reference}):\n")
        for entry in entries:
            if entry.paper == paper:
                anchor = re.sub(r"[^\w\- ]", "", entry.key.lower()).replace(" ", "-")
                lines.append(f"- [{entry.key}](#{anchor}): {entry.shows}")
    return "\n".join(lines) + "\n"


def section(entry: Entry, folder: Path, written: Sequence[Path], warnings: Sequence[str]) -> str:
    """Heading, what it shows, images, tables."""
    lines = [
        f"\n## {entry.key}\n",
        f"{entry.shows}. {entry.paper and entry.paper.title} {entry.number}".strip() + ".\n",
    ]
    for path in written:
        if path.suffix == ".png":
            lines.append(f"![{path.stem}]({path.relative_to(folder).as_posix()})")
        else:
            lines.append(f"`{path.name}`:\n\n```latex\n{path.read_text()}```\n")
            path.unlink()
    lines += [f"- {text}" for text in warnings]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    raise SystemExit(main())
