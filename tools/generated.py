"""Files that are made from the code, whole or between two comments: `python3 -m tools.generated`.

`--check` changes nothing and fails when a file is stale.
"""

import inspect
import json
import re
import shlex
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType

import stable_nalu
from stable_nalu.base.files import CHECKOUT, atomic_text_file, cells_of
from stable_nalu.base.papers import STUDIES, Paper
from stable_nalu.base.script import ScriptParser
from stable_nalu.layer import entries
from stable_nalu.layer.base import BasicLayer
from stable_nalu.layer.registry import SPELLINGS, LayerEntry
from stable_nalu.options import Flag
from stable_nalu.options.flag import MODELS, UNITS, registered
from stable_nalu.options.flags import option_words
from stable_nalu.paper.experiment import Experiment
from stable_nalu.paper.index import EXPERIMENTS
from stable_nalu.result import batch
from stable_nalu.result.batch import JOB_SCRIPTS, JobScript, Site, headers
from stable_nalu.result.document import UNKNOWN, table
from stable_nalu.result.reproduce import UNSHOWN
from stable_nalu.result.shard import shards
from stable_nalu.task.table import SCRIPTS

from . import FOLDER, TEMPLATES, board, datapackage, grouped, headline, playground
from .site_pages import linked

README = CHECKOUT / "README.md"
_FLAGS = [flag for spec in SCRIPTS.values() for flag in spec.flags]
_TYPE = "--layer-type "
_SCRIPTS = "\n".join(f"- `{spec.name}`: {spec.summary}" for spec in SCRIPTS.values())


def api_table() -> str:
    """Return a line for every public name: its required arguments, and its first line."""
    rows: list[str] = []
    for name in stable_nalu.__all__:
        found = getattr(stable_nalu, name)
        found = found.__call__ if isinstance(found, ModuleType) else found
        first, *_ = (inspect.getdoc(found) or "").splitlines()
        words = inspect.signature(found).parameters.values()
        given = (w for w in words if w.kind is w.POSITIONAL_OR_KEYWORD)
        needed = [w.name for w in given if w.default is w.empty]
        rest = ["…"] * (len(needed) < len(words))
        rows.append(f"- `{name}({', '.join([*needed, *rest])})`: {first}")
    return "\n".join(rows)


def layer_table() -> str:
    """Return a row for every name of a layer in papers, and a list of the keys of other layers."""
    rows: list[dict[str, str]] = []
    for name in dict.fromkeys((*UNITS, *MODELS)):
        if registered(name) is None:
            key = (UNITS.get(name) or MODELS[name]).split()[1]
            rows.append(_layer_row(name, entries()[key], UNITS.get(name)))
    ordered = sorted(entries().values(), key=lambda e: (e.layer is None, e.label.lower()))
    core = [e for e in ordered if e.tier == "core"]
    for entry in (e for e in core if e.layer not in (None, BasicLayer)):
        rows.append(_layer_row(entry.label, entry, f"{_TYPE}{entry.key}"))
        for variant in entry.variants:
            words = " ".join([entry.key, *option_words(_FLAGS, variant.options)])
            rows.append(_layer_row(variant.label, entry, f"{_TYPE}{words}", variant.cites))
    others = [e for e in ordered if e.tier == "extra"]
    cells = [_key_and_label(e) for e in others if e.cell]
    units = [_key_and_label(e) for e in others if not e.cell]
    plain = ", ".join(f"`{e.key}` ({_paper(e.cites)})" for e in core if e.layer is BasicLayer)
    only = ", ".join(f"`{e.key}` ({_paper(e.cites)})" for e in core if e.layer is None)
    more = f"Keys of further layers of the published code, with a cell: {', '.join(cells)}."
    texts = (f"Activations: {plain}.", f"Only as a cell: {only}.", more)
    return "\n\n".join((table(rows), *texts)) + f" Without a cell: {', '.join(units)}."


def _paper(paper: Paper) -> str:
    brief = f"{paper.authors.split()[0]} {paper.year}"
    return f"[{brief}]({paper.url})" if paper.url else brief


def _key_and_label(entry: LayerEntry) -> str:
    """Return the key of a layer, with its label if this is more than the key in words."""
    same = entry.label.replace(" ", "").replace("-", "").lower() == entry.key.lower()
    return f"`{entry.key}`" if same else f"`{entry.key}` ({entry.label})"


def _layer_row(
    name: str, entry: LayerEntry, unit: str | None, cites: Paper | None = None
) -> dict[str, str]:
    """Return the row of a name; unit: its flags where a script has one unit, if it has any."""
    pair = MODELS.get(name, unit if registered(name) else None)
    one, two = (f"`{flags.removeprefix(_TYPE)}`" if flags else UNKNOWN for flags in (unit, pair))
    also = ", ".join(f"`{other}`" for other in SPELLINGS.get(name, ()))
    row = {"name": f"{name} ({also})" if also else name}
    row["one unit"] = one + " ↻" * (entry.cell is not None)
    return row | {"two layers": "" if pair == unit else two, "paper": _paper(cites or entry.cites)}


def experiment_tables() -> str:
    """Render a section per paper with a line per figure, then the runs that no figure shows."""
    parts: list[str] = []
    of_papers = dict(grouped(EXPERIMENTS.values(), lambda e: e.paper))
    for paper in [paper for paper in STUDIES if paper in of_papers]:
        own = sorted(of_papers[paper], key=lambda e: _in_order(place_of(e)))
        parts.append(f"## {paper.title} ({linked(paper.reference)})")
        parts.append("\n".join(_experiment_line(e, place_of(e)) for e in own))
    rows = map(_experiment_line, of_papers[None])
    return "\n\n".join([*parts, f"## {UNSHOWN}", "\n".join(rows)])


def place_of(experiment: Experiment) -> str:
    """Return where a paper shows an experiment: `Figure 3`, `Figures 10 to 12`, or nothing."""
    places = experiment.numbers
    numbers = [int(place[7:]) for place in places if re.fullmatch(r"Figure \d+", place)]
    if 2 < len(places) == len(numbers) == numbers[-1] - numbers[0] + 1:
        return f"Figures {numbers[0]} to {numbers[-1]}"
    return ", ".join(places)


def _in_order(place: str) -> tuple[str, int, str]:
    """Return the sort key of a place: numbered tables, then numbered figures, then the rest."""
    number = re.match(r"(Table|Figure)s? (\d+)", place)
    return (number[1], int(number[2]), place) if number else ("~", 0, place)


def _experiment_line(experiment: Experiment, place: str = "") -> str:
    """Return the line of an experiment; its key leads to its batch script, more are named."""
    key = f"`{experiment.key}`"
    own = [name for name, script in JOB_SCRIPTS.items() if experiment.key in script.experiments]
    # Of scripts with one name the first counts.
    paths = {path.rpartition("/")[2]: path for path in own[::-1]}
    names = sorted([*paths][::-1], key=lambda name: name not in experiment.key)
    links = [f"[{n if k else key}](../lfs_batch_jobs/{paths[n]}.sh)" for k, n in enumerate(names)]
    listed = ", ".join(links) or key
    numbered = re.match(r"(Table|Figure)s? \d", place)
    return f"- {place}: {listed}" if numbered else f"- {experiment.title}: {listed}"


PARTS: dict[Path, tuple[str, str, Callable[[], str]]] = {
    CHECKOUT / "docs" / "flags.md": ("stable_nalu/task", "scripts", lambda: _SCRIPTS),
    CHECKOUT / "docs" / "layers.md": ("stable_nalu/layer", "table", layer_table),
    CHECKOUT / "docs" / "api.md": ("stable_nalu/__init__.py", "names", api_table),
    CHECKOUT / "docs" / "experiments.md": ("stable_nalu/paper", "tables", experiment_tables),
    README: ("docs/reproduction/data", "results", headline.of_the_readme),
}
"""Document -> what its generated part is made from, how it is called, and what makes it."""


def refreshed(path: Path, document: str) -> str:
    """Return the text of a document with its generated part made again."""
    source, name, made = PARTS[path]
    begin = f"<!-- Generated from {source}; rewrite with `make generated`. -->"
    end = f"<!-- End of the generated {name}. -->"
    head, rest = document.split(begin, 1)
    tail = rest.split(end, 1)[1]
    return f"{head}{begin}\n\n{made()}\n\n{end}{tail}"


def batch_script(script: JobScript, _: str) -> str:
    """Return the file of a batch script, for any site, with all models and the published seeds."""
    count = len(shards(script.named_models(), None))
    return TEMPLATES.get_template("batch.sh").render(
        **{"script": script, "file": f"lfs_batch_jobs/{script.name}.sh"},
        places=lambda e: ", ".join(f"{n} of {e.paper.reference}" for n in e.numbers),
        headers=headers(script.name, script.resources(), Site(), range(count), None),
        depth="/".join([".."] * (script.name.count("/") + 1)),
        name=shlex.quote(script.name),
    )


_TYPES = {row["metavar"]: row["type"] for row in cells_of(FOLDER / "types.csv")}
"""The metavar of a flag -> its type; others are Text."""
_REFUSED = ("dry_run", "evaluate", "optimizer", "schedule")
_MOST_CHOICES = 12


def flag_types(_: str) -> str:
    """Return the module with the flags that `stable_nalu.train` takes, as types."""
    flags = [f for spec in SCRIPTS.values() for f in spec.flags if f.dest not in _REFUSED]
    names = dict.fromkeys(flag.dest for flag in flags)
    same = {name: [flag for flag in flags if flag.dest == name] for name in names}
    fields = ", ".join(f'"{dest}": {_type(own)}' for dest, own in same.items())
    lines = [f"Script = {_literal(SCRIPTS)}"]
    lines.append(f'Flags = TypedDict("Flags", {{{fields}}}, total=False)')
    wrap = textwrap.TextWrapper(100, subsequent_indent="    ", break_on_hyphens=False)
    head = (FOLDER / "flags.txt").read_text(encoding="utf-8")
    return head + "".join(f"{wrap.fill(line)}\n" for line in lines)


def _type(flags: list[Flag]) -> str:
    choices = [f.choices if isinstance(f.choices, tuple) else () for f in flags if f.kind]
    if choices and all(0 < len(known) <= _MOST_CHOICES for known in choices):
        return f"Several[{_literal(dict.fromkeys(c for known in choices for c in known))}]"
    kinds = (_TYPES.get(f.kind.metavar, "Text") if f.kind else "Switch" for f in flags)
    return " | ".join(dict.fromkeys(kinds))


def _literal(values: Iterable[object]) -> str:
    return f"Literal[{', '.join(map(json.dumps, values))}]"


BATCH_FILES = {
    batch.FOLDER / f"{name}.sh": partial(batch_script, one) for name, one in JOB_SCRIPTS.items()
}
GENERATED: dict[Path, Callable[[str], str]] = {
    **{path: partial(refreshed, path) for path in PARTS},
    CHECKOUT / "stable_nalu" / "api" / "flags.py": flag_types,
    datapackage.PATH: datapackage.refreshed,
    playground.PATH: playground.refreshed,
    board.PATH: board.refreshed,
    **BATCH_FILES,
}
"""Path -> function from the file's present text to what it should be."""


def main(argv: Sequence[str] | None = None) -> int:
    """Rewrite stale files, or with --check name them, and return the exit code."""
    parser = ScriptParser(prog="tools.generated", description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing, fail when stale")
    check, stale = parser.parse_args(argv).check, False
    for path, made in GENERATED.items():
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        if (fresh := made(text)) == text:
            continue
        stale = True
        sys.stdout.write(f"{'stale' if check else 'rewritten'}: {path}\n")
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_text_file(path) as file:
                file.write(fresh)
            if path.suffix == ".sh":
                path.chmod(0o755)
    return 1 if check and stale else 0


if __name__ == "__main__":
    raise SystemExit(main())
