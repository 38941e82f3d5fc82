"""Figures drawn from the kept results, on one page: `python3 -m tools.gallery`.

A figure is drawn when the outcomes of all its runs are kept, or the models whose predictions it
shows, or when it is computed without runs.
Those of measured experiments read their kept rows as they read exported files.
The page names every other figure with the command that makes it.
"""

from __future__ import annotations

import contextlib
import functools
import io
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

from stable_nalu.figure.entries import all_entries
from stable_nalu.figure.entry import Context, Entry, Output, render
from stable_nalu.figure.source import Source
from stable_nalu.files import atomic_text_file
from stable_nalu.machine import CHECKOUT
from stable_nalu.paper.drawing import Series
from stable_nalu.paper.experiment import Model, seeds_text
from stable_nalu.paper.index import EXPERIMENTS
from stable_nalu.papers import STUDIES
from stable_nalu.process import begin
from stable_nalu.result.compare import cut_short
from stable_nalu.result.judged import OUTCOME, identity_of, planned
from stable_nalu.result.stored import DATA, read, stored_keys
from stable_nalu.result.tables import Folders, OtherTable, other_tables
from stable_nalu.script import ScriptParser, exit_code
from stable_nalu.statistics.names import plain

from .kept_runs import files_of, kept_source

if TYPE_CHECKING:
    import pandas as pd

FOLDER = CHECKOUT / "docs" / "gallery"
COLORS = 64
"""Number of colours of a picture: few, so that the page stays small."""

DPI = 110
"""Makes a figure of the usual width as wide as a README shows it."""

HEAD = """# Figures and tables

Written by `make gallery`, from the results in [docs/reproduction/data](../reproduction/data), which
are compared with the published ones in [docs/reproduction](../reproduction/README.md), or computed
where a figure needs no runs. Figures that need more than is kept stand at the end, each with the
command that makes it.
"""


@dataclass
class KeptRuns(Source):
    """Kept outcomes of runs in place of exported files.

    tables: path of an exported file, without `.csv` -> its runs, one per row.
    """

    tables: Mapping[str, Any] = field(default_factory=dict)

    def find(self, files: Iterable[str]) -> Path | None:
        """Return the first of the files whose runs are kept."""
        return next((p for p in self.candidates(files) if p.as_posix() in self.tables), None)

    def expect(self, files: Sequence[str], missed: Iterable[str]) -> Path | None:
        """Find a file, or warn of what the figure lacks without it."""
        path = self.find(files)
        if path is None:
            self.warn(f"no runs are kept of {', '.join(map(plain, missed))}")
        return path

    def judged_runs(self, series: Series) -> pd.DataFrame | None:
        """Return the kept runs of a series."""
        path = self.find(series.files)
        return None if path is None else self.tables[path.as_posix()]


def main(argv: Sequence[str] | None = None) -> int:
    """Draw what can be drawn, write the page and return the exit code."""
    parser = ScriptParser(description=__doc__)
    parser.add_argument("--out-dir", metavar="PATH", default=str(FOLDER))
    args = parser.parse_args(argv)
    return exit_code("gallery", lambda: draw_all(all_entries(), Path(args.out_dir)))


def draw_all(entries: Mapping[str, Entry], folder: Path, data: Path = DATA) -> None:
    """Draw the entries that kept results are enough for, and write the page of all."""
    drawn = {key: entry for key, entry in entries.items() if drawable(entry, data)}
    for old in folder.iterdir() if folder.is_dir() else ():
        if old.is_dir() and old.name not in drawn and set(old.iterdir()) <= set(pictures(old)):
            shutil.rmtree(old)
    for entry in tqdm(drawn.values(), disable=None, unit="figure"):
        for old in pictures(folder / entry.key):
            old.unlink()
        draw(entry, folder / entry.key, data)
    folder.mkdir(parents=True, exist_ok=True)
    with atomic_text_file(folder / "README.md") as file:
        file.write(page(entries, folder, data))


def draw(entry: Entry, folder: Path, data: Path = DATA) -> list[str]:
    """Draw one entry into its folder and return what is missing from it."""
    output = Output(folder, ("png",), dpi=DPI, side=False)
    with drawn_from(entry, folder, data) as source:
        render(entry, Context(entry.key, entry.series, source), output)
    for path in folder.glob("*.png"):
        reduce_colors(path)
    return source.warnings


@contextlib.contextmanager
def drawn_from(entry: Entry, folder: Path, data: Path) -> Iterator[Source]:
    """Lend what an entry is drawn from: kept runs, or tables that are written for it."""
    if files_of(entry, data):
        with kept_source(entry, data) as source:
            yield source
    elif needs_nothing(entry):
        yield Source(folder)
    elif is_written(entry, data):
        with TemporaryDirectory() as out, contextlib.redirect_stdout(io.StringIO()):
            space = Folders(Path(out))
            for table in written_tables(entry, space):
                table.from_kept(data).write()
            yield Source(space.csv, entry.folders)
    else:
        yield KeptRuns(Path(), entry.folders, tables=tables_of(entry, data))


def written_tables(entry: Entry, space: Folders) -> list[OtherTable]:
    """Return the tables of an entry that are written without exported runs."""
    shown = (found for found in EXPERIMENTS.values() if entry.key in found.figure_keys)
    return [table for found in shown for table in other_tables(found, found.models, space)]


def is_written(entry: Entry, data: Path) -> bool:
    """Say whether an entry shows such tables, and the models that they are of are kept."""
    tables = written_tables(entry, Folders(data))
    models = [table.kept_in(data) for table in tables if table.source is not None]
    return bool(tables) and all(path.exists() for path in models)


def computed(entry: Entry) -> bool:
    """Say whether an entry is computed without runs."""
    tables = written_tables(entry, Folders(FOLDER))
    without_models = bool(tables) and all(table.source is None for table in tables)
    return without_models or needs_nothing(entry)


def needs_nothing(entry: Entry) -> bool:
    """Say whether an entry is drawn from formulas alone."""
    return all(part.NEEDS == "nothing" for part in entry.parts)


def drawable(entry: Entry, data: Path = DATA) -> bool:
    """Say whether an entry can be drawn: computed, of kept models, or of kept runs of all files."""
    if computed(entry) or is_written(entry, data) or files_of(entry, data):
        return True
    source = KeptRuns(Path(), entry.folders, tables=dict.fromkeys(kept_models(entry, data)))
    enough = all(part.NEEDS == "outcomes" for part in entry.parts)
    found = all(source.find(one.files) for one in entry.series)
    return enough and found and _has_its_models(entry, data)


def _has_its_models(entry: Entry, data: Path) -> bool:
    """Say whether runs are kept of a model that the entry shows: files may hold others, too."""
    kept = kept_models(entry, data)
    own = EXPERIMENTS[entry.key].models if entry.key in EXPERIMENTS else ()
    files = {model.csv: kept[model.csv] for model in own if model.csv in kept}
    trained = {model for key in files.values() for model in read(key, data)["model"]}
    return not own or any(model.key in trained for model in own)


def kept_models(entry: Entry, data: Path = DATA) -> dict[str, str]:
    """Return exported file -> experiment that its runs are kept under; the entry's own wins."""

    def rank(key: str) -> tuple[bool, bool]:
        return key != entry.key, entry.key not in EXPERIMENTS[key].figure_keys

    return {csv: min(keys, key=rank) for csv, keys in kept_files(data).items()}


@functools.cache
def kept_files(data: Path) -> dict[str, list[str]]:
    """Return exported file -> every experiment that runs of it are kept under."""
    found: dict[str, list[str]] = {}
    for key in stored_keys(data):
        trained = set(read(key, data)["model"])
        for csv in {model.csv for model in EXPERIMENTS[key].models if model.key in trained}:
            found.setdefault(csv, []).append(key)
    return found


def tables_of(entry: Entry, data: Path = DATA) -> dict[str, pd.DataFrame]:
    """Return exported file -> its kept runs, for the files that the entry reads."""
    files = kept_models(entry, data)
    source = KeptRuns(Path(), entry.folders, tables=dict.fromkeys(files))
    paths = [path.as_posix() for one in entry.series if (path := source.find(one.files))]
    return {path: named_runs(files[path], path, data) for path in paths}


def named_runs(key: str, csv: str, data: Path = DATA) -> pd.DataFrame:
    """Return the kept runs of one exported file, with the names that they were trained under."""
    experiment, kept = EXPERIMENTS[key], read(key, data)
    models = [model for model in experiment.models if model.csv == csv]
    runs = {}
    for model in models:
        seeds = set(kept.loc[kept["model"] == model.key, "seed"])
        runs |= planned(experiment, model, sorted(seeds))
    own = kept.loc[kept["model"].isin([model.key for model in models])]
    names = [runs[identity_of(experiment, row)].leaf for row in own.to_dict("records")]
    return own[[*OUTCOME]].assign(solved=own["solved"].astype(bool), name=names)


def reduce_colors(path: Path) -> None:
    """Rewrite a PNG with a palette of few colours."""
    from PIL import Image

    with Image.open(path) as image:
        small = image.convert("RGB").quantize(COLORS, dither=Image.Dither.NONE)
    small.save(path, optimize=True)


def pictures(folder: Path) -> list[Path]:
    """Return the pictures and LaTeX tables of a folder, by name."""
    return sorted(path for path in folder.glob("*") if path.suffix in (".png", ".tex"))


def page(entries: Mapping[str, Entry], folder: Path, data: Path = DATA) -> str:
    """Return the page: figures by paper, from the files in the folder, then the rest."""
    drawn = [entry for entry in entries.values() if drawable(entry, data)]
    lines = [HEAD]
    for paper in STUDIES:
        own = [entry for entry in drawn if entry.paper == paper]
        if own:
            lines.append(f"\n**{paper.title}** ({paper.reference}):\n")
        lines += [f"- [{entry.key}](#{anchor(entry.key)}): {entry.shows}" for entry in own]
    for paper in STUDIES:
        for entry in drawn:
            if entry.paper == paper:
                lines += section(entry, folder, data)
    lines += ["\n## Not drawn\n", "These need runs, or files of runs, that are not kept.\n"]
    lines += ["| figure | command |", "|---|---|"]
    for entry in entries.values():
        if entry not in drawn:
            where = f"{entry.paper.short_title} {entry.number}".strip() if entry.paper else ""
            lines.append(f"| {entry.shows} ({where}) | `{command(entry)}` |")
    return "\n".join(lines) + "\n"


def anchor(key: str) -> str:
    """Return how links spell a heading."""
    return re.sub(r"[^\w\- ]", "", key.lower()).replace(" ", "-")


def section(entry: Entry, folder: Path, data: Path) -> list[str]:
    """Return heading, what it shows and of which runs, pictures, tables."""
    paper = f"{entry.paper.title} {entry.number}".strip() if entry.paper else ""
    lines = [f"\n## {entry.key}\n", f"{entry.shows}. {paper}. {origin(entry, data)}"]
    for path in pictures(folder / entry.key):
        mark = "!" if path.suffix == ".png" else "Table: "
        lines.append(f"\n{mark}[{path.stem}]({entry.key}/{path.name})")
    return lines


def origin(entry: Entry, data: Path) -> str:
    """Say which runs a drawing shows, and which of them were cut short."""
    if computed(entry):
        return "Computed: no runs."
    models = [table.name for table in written_tables(entry, Folders(data)) if table.source]
    if models:
        kept = "[kept models](../reproduction/data/models)"
        return f"Predictions of {kept}: {', '.join(models)}."
    measured = files_of(entry, data)
    kept_under = measured or kept_models(entry, data)
    source = KeptRuns(Path(), entry.folders, tables=dict.fromkeys(kept_under))
    files = {path.as_posix() for one in entry.series if (path := source.find(one.files))}
    of = {key: None for csv, key in kept_under.items() if csv in files}
    texts = []
    for key in of:
        kept = read(key, data)
        models = [model for model in EXPERIMENTS[key].models if model.csv in files]
        shown = kept.loc[kept["model"].isin([model.key for model in models])]
        published = sum(model.runs for model in models)
        link = f"[{key}](../reproduction/README.md#{EXPERIMENTS[key].stem})"
        text = f"{len(shown):,} of {published:,} runs of {link}"
        short = cut_short(EXPERIMENTS[key], shown)
        picked = chosen_seeds(models, shown)
        text += f", cut short: {short}" if short else ""
        text += f", with seeds beyond the first ones: {picked}" if picked else ""
        texts.append(text)
    return f"{'; '.join(texts)}."


def chosen_seeds(models: Iterable[Model], shown: pd.DataFrame) -> str:
    """Name models of which not just the first seeds are kept: their rates are no sample."""
    texts = []
    for model in models:
        seeds = sorted(set(shown.loc[shown["model"] == model.key, "seed"]))
        if seeds and seeds != list(range(len(seeds))):
            texts.append(f"{model.label} {seeds_text(seeds)}")
    return "; ".join(texts)


def command(entry: Entry) -> str:
    """Return the command that makes a figure which is not drawn here."""
    for key, experiment in EXPERIMENTS.items():
        if entry.key in experiment.figure_keys and experiment.models:
            return f"python3 experiments/reproduce.py {key}"
    return f"python3 export/plot.py {entry.key} --csv-dir PATH"


if __name__ == "__main__":
    begin()
    sys.exit(main())
