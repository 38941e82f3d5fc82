"""Figures drawn from the kept results, on one page: `python3 -m tools.gallery`.

A figure is drawn when the outcomes of all its runs are kept, or the models whose predictions it
shows, or when it is computed without runs.
Those of measured experiments read their kept rows as they read exported files.
The page names every other figure with the command that makes it.
"""

import contextlib
import io
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from stable_nalu.base.files import CHECKOUT, atomic_text_file
from stable_nalu.base.papers import STUDIES
from stable_nalu.base.script import ScriptParser, bar, begin, exit_code
from stable_nalu.figure.entries import render
from stable_nalu.figure.runs import Context, Drawing
from stable_nalu.paper.index import EXPERIMENTS, all_entries
from stable_nalu.result.document import filled
from stable_nalu.result.stored import DATA, kept_keys, read
from stable_nalu.result.trained import Folders, OtherTable, other_tables

from .kept_runs import kept, kept_files
from .long_table import anchor_of
from .notes import cut_short, finding

FOLDER = CHECKOUT / "docs" / "gallery"
COLORS = 64
"""Number of colours of a picture: few, so that the page stays small."""

DPI = 110
"""Makes a figure of the usual width as wide as a README shows it."""

TEMPLATE = Path(__file__).parent / "templates" / "gallery.md"


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


def draw(entry: Drawing, folder: Path, data: Path = DATA) -> list[str]:
    with drawn_from(entry, folder, data) as context:
        render(context, folder, ("png",), DPI, side=False)
    for path in folder.glob("*.png"):
        reduce_colors(path)
    return context.warnings


@contextlib.contextmanager
def drawn_from(entry: Drawing, folder: Path, data: Path) -> Iterator[Context]:
    """Lend what an entry is drawn from: kept runs, or tables that are written for it."""
    if kept_files(entry, data):
        yield kept(entry, data)
    elif entry.needs == {"nothing"}:
        yield Context(entry, folder)
    else:
        with TemporaryDirectory() as out, contextlib.redirect_stdout(io.StringIO()):
            space = Folders(Path(out))
            for table in written_tables(entry, space):
                source = None if table.source is None else table.kept_in(data)
                replace(table, source=source).write()
            yield Context(entry, space.csv)


def written_tables(entry: Drawing, space: Folders) -> list[OtherTable]:
    """Return the tables of an entry that are written without exported runs."""
    shown = (found for found in EXPERIMENTS.values() if entry.key in found.figure_keys)
    return [table for found in shown for table in other_tables(found, found.models, space)]


def drawable(entry: Drawing, data: Path = DATA) -> bool:
    """Say whether an entry can be drawn: of formulas, kept runs of all files, or kept models."""
    tables = written_tables(entry, Folders(data))
    written = tables and all(t.kept_in(data).exists() for t in tables if t.source is not None)
    return bool(written or entry.needs == {"nothing"} or kept_files(entry, data))


def reduce_colors(path: Path) -> None:
    from PIL import Image

    with Image.open(path) as image:
        small = image.convert("RGB").quantize(COLORS, dither=Image.Dither.NONE)
    small.save(path, optimize=True)


def pictures(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*") if path.suffix in (".png", ".tex"))


def page(entries: Mapping[str, Drawing], folder: Path, data: Path = DATA) -> str:
    """Return the page: figures by paper, from the files in the folder, then the rest."""
    drawn = {key: entry for key, entry in entries.items() if drawable(entry, data)}
    papers = {paper: [e for e in drawn.values() if e.paper == paper] for paper in STUDIES}
    return filled(
        TEMPLATE,
        papers={paper: own for paper, own in papers.items() if own},
        place=place,
        caption=lambda entry: caption(entry, data),
        pictures=lambda entry: pictures(folder / entry.key),
        missing=[
            {"figure": f"{e.title} ({place(e)})", "command": f"`{command(e)}`"}
            for key, e in entries.items()
            if key not in drawn
        ],
    )


def place(entry: Drawing) -> str:
    return f"{entry.paper.short_title} {entry.number}".strip() if entry.paper else ""


def caption(entry: Drawing, data: Path) -> str:
    """Say which runs a drawing shows, which of them were cut short, and what is to be seen."""
    models = [table.name for table in written_tables(entry, Folders(data)) if table.source]
    files, texts = kept_files(entry, data) or {}, []
    keys = list(dict.fromkeys(files.values()))
    if models:
        keys = [key for key in kept_keys(data) if entry.key in EXPERIMENTS[key].figure_keys]
        link = "[kept models](../reproduction/data/models)"
        texts.append(f"Predictions of {link}: {', '.join(models)}.")
    for key in keys:
        experiment, rows = EXPERIMENTS[key], read(key, data)
        own = [model for model in experiment.models if not files or model.csv in files]
        shown = rows.loc[rows["model"].isin([model.key for model in own])]
        if not models:
            short, every = cut_short(experiment, shown), sum(model.runs for model in own)
            short = f", cut short: {short}" if short else ""
            link = f"[{key}](../reproduction/README.md#{anchor_of(experiment)})"
            texts.append(f"{len(shown):,} of {every:,} runs of {link}{short}.")
        texts.append(finding(experiment, shown))
    return " ".join(texts) or "Computed: no runs."


def command(entry: Drawing) -> str:
    for key, experiment in EXPERIMENTS.items():
        if entry.key in experiment.figure_keys and experiment.models:
            return f"python3 experiments/reproduce.py {key}"
    return f"python3 export/plot.py {entry.key} --csv-dir PATH"


if __name__ == "__main__":
    begin()
    sys.exit(main())
