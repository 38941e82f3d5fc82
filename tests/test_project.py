"""The files around the code, what they promise, and how the code is laid out."""

import ast
import graphlib
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
import torch
from setuptools import find_packages

from stable_nalu import __version__
from stable_nalu.base import papers
from stable_nalu.base.papers import MODULES
from stable_nalu.layer import entries

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]
README = (ROOT / "README.md").read_text(encoding="utf-8")
TEXT = {".py", ".md", ".toml", ".txt", ".cff", ".csv", ".json", ".sh", ""}


def tracked_files() -> list[Path]:
    """Files that belong to the project; without git, all that are no build product."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode == 0:
        paths = [ROOT / name for name in listed.stdout.split("\0") if name]
    else:
        tops = ("stable_nalu", "torchlanes", "experiments", "export", "tests", "docs")
        tops += ("lfs_batch_jobs",)
        paths = [path for top in tops for path in (ROOT / top).rglob("*")] + [*ROOT.iterdir()]
    return [path for path in paths if path.is_file() and "__pycache__" not in path.parts]


def linked(document: Path) -> list[str]:
    """Targets of a document's links, outside of code."""
    text = re.sub(r"```.*?```|`[^`\n]*`", "", document.read_text(encoding="utf-8"), flags=re.DOTALL)
    return re.findall(r"\[[^]]*\]\(([^)\s]+)\)", text)


def anchors(document: Path) -> set[str]:
    """Names of the sections of a document, as links spell them."""
    titles = re.findall(r"^#+ (.+)$", document.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: d.name)
def test_links_lead_somewhere(document):
    for target in linked(document):
        if re.match(r"https?://", target):
            continue
        name, _, anchor = target.partition("#")
        path = (document.parent / name).resolve() if name else document
        assert path.exists(), target
        assert not anchor or anchor in anchors(path), target


def python_of(document: str) -> list[dict]:
    """What the Python blocks of a document leave behind."""
    blocks = re.findall(r"```python\n(.*?)```", document, re.DOTALL)
    left: list[dict] = [{} for _ in blocks]
    for block, names in zip(blocks, left, strict=True):
        exec(compile(block, "README.md", "exec"), names)
    return left


def test_python_of_the_readme_runs_and_prints_what_is_shown(capsys):
    layer, program = python_of(README)
    assert re.findall(r"```text\n(.*?)```", README, re.DOTALL)[-1] in capsys.readouterr().out
    assert layer["SPU"](2, 1)(torch.rand(5, 2)).shape == (5, 1)
    runs = program["runs"]
    assert [run.seed for run in runs] == [0, 1, 2, 3, 4]
    assert list(runs["step"].unique()) == [0, 100, 200, 250]
    assert runs.outcomes["test_error"].max() < 1e-5
    assert program["unit"].score.solved
    assert program["figure"].axes


def test_python_of_the_layers_runs():
    (model,) = python_of((ROOT / "docs" / "layers.md").read_text(encoding="utf-8"))
    assert model["y"].shape == (128, 1)


def test_the_readme_is_one_that_can_be_taken_in():
    assert len(README.encode()) <= 8_000


def test_the_readme_starts_with_two_commands():
    targets = re.findall(r"^ {4}make ([\w-]+)$", README, re.MULTILINE)
    assert targets == ["demo", "test"]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in (*targets, "lint", "types", "bench", "generated", "check"):
        assert re.search(rf"^(?:.* )?{target}(?: .*)?:", makefile, re.MULTILINE), target


def test_every_package_is_installed():
    packages = {".".join(source.parent.parts) for source in SOURCES}
    names = re.findall(r"include=(\[.*\])", (ROOT / "setup.py").read_text(encoding="utf-8"))
    assert packages == set(find_packages(ROOT, include=ast.literal_eval(names[0])))


def test_constraints_cover_what_is_installed():
    pinned = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    names = {line.split("==")[0].lower() for line in pinned.splitlines() if "==" in line}
    required = re.findall(r'"([A-Za-z][\w-]*)>=', (ROOT / "setup.py").read_text(encoding="utf-8"))
    assert {name.lower() for name in required} <= names


def test_citation():
    lines = (ROOT / "CITATION.cff").read_text(encoding="utf-8").splitlines()
    top = dict(line.split(": ", 1) for line in lines if re.match(r"[\w-]+: ", line))
    assert top["cff-version"] == "1.2.0"
    assert top["version"] == __version__
    kinds = [line.removeprefix("  - type: ") for line in lines if line.startswith("  - type: ")]
    assert (len(kinds), kinds.count("data")) == (16, 1)
    # `key: value`, a list item or a flow list or mapping; a value with a colon in it is quoted.
    value = r"\".*\"|\[.*\]|[^:]+"
    for line in lines:
        assert re.fullmatch(rf"(  )*(- )?([\w-]+:( ({value}))?|{{.*}}|[^:]+)", line), line


def test_the_citation_file_has_the_papers_of_the_modules():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert len(MODULES) == 15
    for paper in MODULES:
        assert f'value: "{paper.reference}"' in citation
        assert f"title: {paper.title}\n" in citation.replace('"', "")
        (entry,) = (e for e in citation.split("- type: ") if f'"{paper.reference}"' in e)
        assert f"year: {paper.year}\n" in entry
        assert f"family-names: {paper.authors.split()[0]}" in entry
        assert f'url: "{paper.url}"' in entry
        assert paper.url.startswith(("https://arxiv.org/abs/", "https://doi.org/10."))


def test_every_paper_of_the_registry_is_in_the_table():
    cited = {
        paper
        for entry in entries().values()
        for paper in (entry.cites, *(v.cites for v in entry.variants))
    }
    table = {paper for paper in vars(papers).values() if isinstance(paper, papers.Paper)}
    assert cited <= table
    assert len({paper.key for paper in table}) == len(table)
    arithmetic = {p for p in cited if p.url and p.key not in ("gru", "elu", "selu")}
    assert arithmetic <= set(MODULES)


def test_changelog_has_its_headings():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (.+)$", text, re.MULTILINE)[0] == "[Unreleased]"
    assert "### Numbers" in text


def test_no_large_file_comes_with_the_project():
    """Kept results are data; a larger file elsewhere is a build or a download added by mistake."""
    sizes = {path.relative_to(ROOT): path.stat().st_size for path in tracked_files()}
    large = {path for path, size in sizes.items() if size > 500_000 and path.parts[0] != "docs"}
    assert large == set()


def test_no_file_names_a_machine():
    # The brackets keep this file from finding itself.
    private = re.compile(r"/[h]ome/|/[U]sers/|/[w]ork/|[C]:\\")
    named = []
    for path in tracked_files():
        if path.suffix in TEXT and private.search(path.read_text(encoding="utf-8")):
            named.append(path.relative_to(ROOT))
    assert named == []


def test_no_two_files_are_one_where_small_and_capital_letters_are_the_same():
    paths = {part for path in tracked_files() for part in (path, *path.relative_to(ROOT).parents)}
    names = [str(path).casefold() for path in paths]
    assert len(set(names)) == len(names)


SOURCES = {
    path.relative_to(ROOT): path
    for package in ("stable_nalu", "torchlanes")
    for path in sorted((ROOT / package).rglob("*.py"))
}
BY_MODULE = {
    ".".join((s.parent if s.name == "__init__.py" else s.with_suffix("")).parts): s for s in SOURCES
}
MOST_MODULES, MOST_LINES, MOST_LINES_OF_A_FUNCTION = 60, 1000, 75


@cache
def nodes_of(source: Path) -> list[ast.AST]:
    return [*ast.walk(ast.parse(SOURCES[source].read_text(encoding="utf-8")))]


def imports_of(source: Path) -> set[Path]:
    """Modules of the packages that a module imports, in functions and for type checkers too."""
    names = set()
    for node in nodes_of(source):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = source.parts[: len(source.parts) - node.level] if node.level else ()
            module = ".".join((*above, *filter(None, [node.module])))
            whole = {f"{module}.{alias.name}" for alias in node.names} & BY_MODULE.keys()
            names |= whole if len(whole) == len(node.names) else whole | {module}
    return {BY_MODULE[name] for name in names if name in BY_MODULE} - {source}


def test_no_modules_import_each_other_in_a_circle():
    order = graphlib.TopologicalSorter({source: imports_of(source) for source in SOURCES})
    assert len(list(order.static_order())) == len(SOURCES)


def test_no_other_room_imports_the_top_floor():
    bench = Path("stable_nalu", "bench")
    below = [source for source in SOURCES if bench not in source.parents]
    assert {s for s in below if any(bench in path.parents for path in imports_of(s))} == set()


def test_the_engine_needs_torch_and_numpy_alone():
    own = [source for source in SOURCES if source.parts[0] == "torchlanes"]
    nodes = [node for source in own for node in nodes_of(source)]
    names = {a.name for node in nodes if isinstance(node, ast.Import) for a in node.names}
    names |= {n.module or "" for n in nodes if isinstance(n, ast.ImportFrom) and not n.level}
    outside = {name.split(".")[0] for name in names} - sys.stdlib_module_names
    assert outside == {"torch", "numpy"}


NAMED_AS_TEXT = {"__init__.py", "command_line.py", "base/files.py"}
"""What users call, the table of commands, and the tools of maintainers."""


def test_code_is_found_by_import_and_not_by_text():
    finders = {"import_module", "__import__"}
    found = {
        "/".join(source.parts[1:])
        for source in SOURCES
        for node in nodes_of(source)
        if finders & {getattr(node, "id", ""), getattr(node, "attr", ""), getattr(node, "name", "")}
    }
    assert found <= NAMED_AS_TEXT


def test_rooms_modules_and_functions_are_small():
    modules = [source for source in SOURCES if source.name != "__init__.py"]
    folders = [source.parent for source in modules]
    large = {f for f in folders if folders.count(f) > MOST_MODULES}
    for source, path in SOURCES.items():
        functions = (f for f in nodes_of(source) if isinstance(f, ast.FunctionDef))
        lengths = [(f.end_lineno or 0) - f.lineno + 1 for f in functions]
        lines = len(path.read_text(encoding="utf-8").splitlines())
        if lines > MOST_LINES or max(lengths, default=0) > MOST_LINES_OF_A_FUNCTION:
            large.add(source)
    assert not large
