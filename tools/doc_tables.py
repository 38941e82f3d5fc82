"""The tables of documents that are made from the code or the results, between two comments."""

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import stable_nalu
from stable_nalu.base.files import CHECKOUT
from stable_nalu.base.papers import STUDIES, Paper
from stable_nalu.layer import entries
from stable_nalu.layer.base import BasicLayer
from stable_nalu.layer.registry import SPELLINGS, LayerEntry
from stable_nalu.options.flag import MODELS, UNITS, registered
from stable_nalu.options.flags import option_words
from stable_nalu.paper.experiment import Experiment
from stable_nalu.paper.index import EXPERIMENTS
from stable_nalu.result.batch import JOB_SCRIPTS
from stable_nalu.result.document import UNKNOWN, table
from stable_nalu.result.reproduce import UNSHOWN
from stable_nalu.task.table import SCRIPTS

from . import grouped, headline

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


def linked(text: str) -> str:
    return re.sub(r"arXiv:(\S+)", r"[arXiv:\1](https://arxiv.org/abs/\1)", text)


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
