"""The page as text: nothing in it becomes markup that was not meant, nothing is overwritten."""

import re

import pytest

from stable_nalu.result import document, reproduce
from stable_nalu.result.document import heading, plain, table
from stable_nalu.statistics.intervals import wilson
from tests.result.made_up import write
from tools import drawing

HOSTILE = (
    "<script>alert(1)</script>",
    '<img src=x onerror="alert(1)">',
    "[a](javascript:alert(1))",
    "[a](https://elsewhere.example)",
    "![a](https://elsewhere.example/x.png)",
    "a | b",
    "a \\| b \\",
    "`code` *strong* _weak_ __x__ ~~gone~~",
    "&lt;b&gt; &#60;",
    "<https://elsewhere.example>",
    "one\ntwo\n\n# three",
)


def body(page):
    return page.split("<body>")[1]


@pytest.mark.parametrize("text", HOSTILE)
def test_text_stays_text(text):
    shown = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    shown = shown.replace('"', "&quot;")
    parts = [heading(1, text, "top"), plain(text), table([{"a": plain(text), "b": "–"}])]
    page = body(document.render("\n\n".join(parts), {}))
    assert f'<h1 id="top">{shown}</h1>' in page
    assert f"<p>{shown}</p>" in page
    assert re.search(rf"<td( class=\"long\")?>{re.escape(shown)}</td>", page)


def test_pictures_are_in_the_page_and_say_what_they_show():
    marks = [drawing.Mark("$a", wilson(3, 4), wilson(1, 4)), drawing.Mark("b", None, None)]
    svg = drawing.draw([("NMU", marks), ("NAU", marks)])
    assert svg == drawing.draw([("NMU", marks), ("NAU", marks)])
    assert all(f">{text}<" in svg for text in ("NMU", "NAU", "$a", "b", "100 %"))
    page = document.render('# t\n\n![a "drawing"](p.svg)\n', {"p.svg": svg})
    assert '<svg role="img" aria-label="a &quot;drawing&quot;" ' in page
    assert not re.search(r"clip-path|<style type|<g id|<\?xml", page)


def test_files_of_others_are_kept(tmp_path, capsys):
    page = tmp_path / "page"
    write("simple_mul", tmp_path / "data", range(2))
    assert reproduce.main(["--report", "--data", str(tmp_path / "data")]) == 2
    assert "--report-out: say where" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["data"]
    words = ["--report", "--data", str(tmp_path / "data"), "--report-out", str(page)]
    assert reproduce.main(words) == 0
    assert reproduce.main(words) == 0, "a page may be written anew"
    assert "[data](../data)" in (page / "README.md").read_text(encoding="utf-8")
    (page / "index.html").write_text("<p>mine</p>")
    capsys.readouterr()
    assert reproduce.main(words) == 2
    assert "index.html is not a page of this script" in capsys.readouterr().err
    assert (page / "index.html").read_text() == "<p>mine</p>"
