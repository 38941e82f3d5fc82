"""Documents, templates, help texts and docstrings are in plain English: no words of `REFUSED`.

Documents, templates of Markdown and help texts have none. What has many today has a number of them
in `MOST`, which may only fall: lower it with the text.
"""

import ast
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from stable_nalu.task.table import SCRIPTS

ROOT = Path(__file__).resolve().parents[1]
REFUSED = re.compile(
    r"\b(anew|told|sought|is what|those of|that of|beside|as far as|left to|is none|comes? out|"
    r"came out|held against|stands for|it is that)\b",
    re.IGNORECASE,
)
ALLOWED = {"left to right": "a direction"}
"""Words that hold a refused one -> why they are no mistake."""

DOCUMENTS = (
    *("README.md", "CONTRIBUTING.md", "docs/*.md", "docs/reproduction/notes.md"),
    "tools/templates/*.md",
)
MOST = {
    "CHANGELOG.md": 0,
    "stable_nalu": 0,
    "torchlanes": 0,
    "tools": 21,
}
"""A document, of the changelog what is not released, or a package with docstrings -> its number."""


def places(text: str) -> list[str]:
    """Refused words with what is around them, outside of code."""
    text = re.sub(r"```.*?```|`[^`\n]*`|\{[%{#].*?[%}#]\}", "", text, flags=re.DOTALL)
    text = " ".join(text.split())
    for words in ALLOWED:
        text = text.replace(words, "")
    return [text[max(m.start() - 40, 0) : m.end() + 40] for m in REFUSED.finditer(text)]


def docstrings(source: Path) -> str:
    nodes = ast.walk(ast.parse(source.read_text(encoding="utf-8")))
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    return "\n\n".join(ast.get_docstring(n) or "" for n in nodes if isinstance(n, kinds))


def test_refused_words_are_found_unless_they_are_allowed():
    assert len(places("Trained anew, its rate is that of `what was told` before.")) == 2
    assert places("Sums from left to right; `anew` is a name, {{ told }} a value.") == []


def test_documents_and_templates_have_no_refused_words():
    paths = [path for form in DOCUMENTS for path in ROOT.glob(form)]
    assert len(paths) > 20
    found = {str(path.relative_to(ROOT)): places(path.read_text("utf-8")) for path in paths}
    assert {name: words for name, words in found.items() if words} == {}


def test_help_texts_have_no_refused_words():
    texts = {spec.summary for spec in SCRIPTS.values()}
    texts |= {flag.help for spec in SCRIPTS.values() for flag in spec.flags}
    assert [words for text in sorted(texts) for words in places(text)] == []


@pytest.mark.parametrize("name", MOST)
def test_refused_words_of_older_texts_only_become_fewer(name):
    path = ROOT / name
    if path.is_dir():
        text = "\n\n".join(docstrings(source) for source in sorted(path.rglob("*.py")))
    else:
        text = path.read_text(encoding="utf-8")
    if name == "CHANGELOG.md":
        text = re.split(r"^## ", text, flags=re.MULTILINE)[1]
    found = places(text)
    assert len(found) <= MOST[name], "\n".join(found)


def test_the_subject_of_the_last_commit_is_short():
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("no git checkout")
    log = subprocess.run(
        [git, "log", "-1", "--format=%s"], cwd=ROOT, capture_output=True, text=True
    )
    subject = log.stdout.strip()
    assert len(subject) <= 72, subject
    assert ";" not in subject, subject
