"""Figures drawn from the kept results, on one page: `python3 -m tools.gallery`.

A figure is drawn when the outcomes of all its runs are kept, or the models whose predictions it
shows, or when it is computed without runs.
Those of measured experiments read their kept rows as they read exported files.
The page names every other figure with the command that makes it.
"""

import io
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

from PIL import Image

from stable_nalu.base.files import CHECKOUT, atomic_text_file
from stable_nalu.base.papers import STUDIES
from stable_nalu.base.script import ScriptParser, bar, begin, exit_code
from stable_nalu.figure.entries import render
from stable_nalu.figure.runs import Context, Drawing
from stable_nalu.paper.index import EXPERIMENTS, all_entries
from stable_nalu.result.document import filled
from stable_nalu.result.stored import DATA, kept_keys, read
from stable_nalu.result.trained import Folders, OtherTable, other_tables

from . import FOLDER as TEXTS
from .kept_runs import kept, kept_files
from .long_table import anchor_of
from .notes import cut_short, finding

FOLDER = CHECKOUT / "docs" / "gallery"
COLORS = 64
"""Number of colours of a picture: few, so that the page stays small."""

DPI = 110
"""Makes a figure of the usual width as wide as a README shows it."""


def main(argv: Sequence[str] | None = None) -> int:
    parser = ScriptParser(description=__doc__)
    parser.add_argument("--out-dir", metavar="PATH", type=Path, default=FOLDER)
    args = parser.parse_args(argv)
    return exit_code("gallery", lambda: draw_all(all_entries(), args.out_dir))


def draw_all(entries: Mapping[str, Drawing], folder: Path, data: Path = DATA) -> None:
    """Draw the entries that kept results are enough for, and write the page of all."""
    drawn = {key: entry for key, entry in entries.items() if drawable(entry, data)}
    for old in folder.iterdir() if folder.is_dir() else ():
        if old.is_dir() and old.name not in drawn and set(old.iterdir()) <= set(pictures(old)):
            shutil.rmtree(old)
    for entry in bar(drawn.values(), unit="figures", what="gallery"):
        for old in pictures(folder / entry.key):
            old.unlink()
        draw(entry, folder / entry.key, data)
    folder.mkdir(parents=True, exist_ok=True)
    with atomic_text_file(folder / "README.md") as file:
        file.write(page(entries, folder, data))


def draw(entry: Drawing, folder: Path, data: Path = DATA) -> None:
    """Draw an entry from kept runs, or from tables that are written for it."""
    with TemporaryDirectory() as out:
        space, context = Folders(Path(out)), Context(entry, folder)
        if kept_files(entry, data):
            context = kept(entry, data)
        elif entry.needs != {"nothing"}:
            with redirect_stdout(io.StringIO()):
                for table in written_tables(entry, space):
                    source = None if table.source is None else table.kept_in(data)
                    replace(table, source=source).write()
            context = Context(entry, space.csv)
        render(context, folder, ("png",), DPI, side=False)
    for path in folder.glob("*.png"):
        with Image.open(path) as image:
            small = image.convert("RGB").quantize(COLORS, dither=Image.Dither.NONE)
        small.save(path, optimize=True)


def written_tables(entry: Drawing, space: Folders) -> list[OtherTable]:
    """Return the tables of an entry that are written without exported runs."""
    shown = (found for found in EXPERIMENTS.values() if entry.key in found.figure_keys)
    return [table for found in shown for table in other_tables(found, found.models, space)]


def drawable(entry: Drawing, data: Path = DATA) -> bool:
    """Say whether an entry can be drawn: of formulas, kept runs of all files, or kept models."""
    tables = written_tables(entry, Folders(data))
    written = tables and all(t.kept_in(data).exists() for t in tables if t.source is not None)
    return bool(written or entry.needs == {"nothing"} or kept_files(entry, data))


def pictures(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*") if path.suffix in (".png", ".tex"))


def page(entries: Mapping[str, Drawing], folder: Path, data: Path = DATA) -> str:
    """Return the page: figures by paper, from the files in the folder, then the rest."""
    drawn = {key: entry for key, entry in entries.items() if drawable(entry, data)}
    papers = {paper: [e for e in drawn.values() if e.paper == paper] for paper in STUDIES}
    return filled(
        TEXTS / "gallery.md",
        papers={paper: own for paper, own in papers.items() if own},
        place=place,
        models_of=lambda entry: models_of(entry, data),
        shown_in=lambda entry: list(shown_in(entry, data)),
        pictures=lambda entry: pictures(folder / entry.key),
        missing=[
            {"figure": f"{e.title} ({place(e)})", "command": f"`{command(e)}`"}
            for key, e in entries.items()
            if key not in drawn
        ],
    )


def place(entry: Drawing) -> str:
    return f"{entry.paper.short_title} {entry.number}".strip() if entry.paper else ""


def models_of(entry: Drawing, data: Path) -> list[str]:
    """Return the kept models whose predictions a drawing shows."""
    return [table.name for table in written_tables(entry, Folders(data)) if table.source]


def shown_in(entry: Drawing, data: Path) -> Iterator[SimpleNamespace]:
    """Yield which runs of an experiment a drawing shows, how short they are, and their finding."""
    files = kept_files(entry, data) or {}
    keys: Iterable[str] = dict.fromkeys(files.values())
    if models_of(entry, data):
        keys = [key for key in kept_keys(data) if entry.key in EXPERIMENTS[key].figure_keys]
    for key in keys:
        experiment, rows = EXPERIMENTS[key], read(key, data)
        own = [model for model in experiment.models if not files or model.csv in files]
        runs = rows.loc[rows["model"].isin([model.key for model in own])]
        counts = {"runs": len(runs), "planned": sum(model.runs for model in own)}
        words = {"short": cut_short(experiment, runs), "finding": finding(experiment, runs)}
        yield SimpleNamespace(key=key, anchor=anchor_of(experiment), **counts, **words)


def command(entry: Drawing) -> str:
    for key, experiment in EXPERIMENTS.items():
        if entry.key in experiment.figure_keys and experiment.models:
            return f"python3 experiments/reproduce.py {key}"
    return f"python3 export/plot.py {entry.key} --csv-dir PATH"


if __name__ == "__main__":
    begin()
    sys.exit(main())
