"""The page as one HTML file that needs nothing else, rendered from Markdown by markdown-it.

Raw HTML in the Markdown is shown as text, except the anchors of headings; only pictures of the page
itself are shown, and they are put into the file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape
from string import Template

from ..compare import DIFFERS, EQUAL, WITHIN_LIMIT, WITHIN_PERCENT, WITHIN_POINTS
from ..compare_measured import FAILS, HOLDS, WITHIN_TOLERANCE

_PAGE = Template("""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>$title</title>
<style>
:root { color-scheme: light dark; --paper: #fff; --ink: #1a1a1a; --line: #bbb; --shade: #f2f2f2;
  --link: #0b5394; --good: #14532d; --bad: #7f1d1d; --alarm: #fdecec; }
@media (prefers-color-scheme: dark) { :root { --paper: #16181c; --ink: #e4e4e4; --line: #4a4d52;
  --shade: #24272c; --link: #7fb4e8; --good: #8fd6a4; --bad: #ffb4ab; --alarm: #402020; } }
body { margin: 0 auto; max-width: 76rem; padding: 0 1rem 3rem; color: var(--ink);
  background: var(--paper); font: 16px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif;
  overflow-wrap: break-word; }
h1, h2, h3 { line-height: 1.25; }
h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--line); }
a { color: var(--link); }
code, pre { font-family: ui-monospace, monospace; font-size: .875em; }
pre { background: var(--shade); padding: .5rem .75rem; overflow-x: auto; }
.box { display: block; overflow-x: auto; margin: 1rem 0; }
.box svg { background: #fff; }
table { border-collapse: collapse; font-size: .8125rem; font-variant-numeric: tabular-nums; }
th, td { border: 1px solid var(--line); padding: .25rem .5rem; text-align: left;
  vertical-align: top; }
td { white-space: nowrap; }
td.long { white-space: normal; min-width: 16rem; }
details { margin: 1rem 0; }
summary { cursor: pointer; color: var(--link); }
.box svg text, .box svg tspan { font-family: "DejaVu Sans", Verdana, sans-serif !important; }
th { background: var(--shade); min-width: 4.5rem; }
.equal { color: var(--good); }
.differs { color: var(--bad); font-weight: 700; background: var(--alarm); }
@media print {
  body { max-width: none; font-size: 10pt; padding: 0; }
  .box { overflow: visible; }
  .box svg { max-width: 100%; height: auto; }
  table { font-size: 6.5pt; }
  th { min-width: 0; }
  td, td.long { white-space: normal; min-width: 0; }
  th, td { padding: 1pt 3pt; }
  tr, svg { break-inside: avoid; }
  h2, h3 { break-after: avoid; }
  details::details-content { content-visibility: visible; display: block; }
}
</style>
</head>
<body>
$body</body>
</html>
""")
_ANCHOR = re.compile(r'<a id="([-.\w]+)"></a>')
_FOLDED = ("not-run",)
"""Sections whose tables are folded, as those of single figures are."""
_LONG = 40
"""The number of letters from which a cell is broken into lines."""
_GOOD = (EQUAL, WITHIN_POINTS, WITHIN_PERCENT, WITHIN_LIMIT, WITHIN_TOLERANCE, HOLDS)
_CLASSES = {word: "equal" for word in _GOOD} | {DIFFERS: "differs", FAILS: "differs"}


def render(markdown: str, pictures: Mapping[str, str]) -> str:
    """Return the whole document.

    pictures: SVG texts by the names that the Markdown has for them.
    """
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table")
    tokens = _with_anchors(parser.parse(markdown))
    _fold(tokens)
    for place, token in enumerate(tokens):
        if token.type == "td_open" and (kind := _kind(tokens[place + 1].content)):
            token.attrSet("class", kind)
        elif token.type == "th_open":
            token.attrSet("scope", "col")

    def raw(_, tokens, place: int, *__) -> str:
        return escape(tokens[place].content)

    def picture(_, tokens, place: int, *__) -> str:
        name, text = tokens[place].attrs["src"], escape(tokens[place].content, quote=True)
        if name not in pictures:
            return text
        svg = pictures[name].replace("<svg ", f'<svg role="img" aria-label="{text}" ', 1)
        return f'<span class="box" tabindex="0">{svg}</span>'

    def table(_, tokens, place: int, *__) -> str:
        rows = tokens[place].meta.get("rows")
        fold = f"<details><summary>Table of {rows} rows</summary>\n" if rows else ""
        return f'{fold}<div class="box" tabindex="0"><table>\n'

    def end(_, tokens, place: int, *__) -> str:
        return "</table></div>\n" + ("</details>\n" if tokens[place].meta else "")

    rules = {
        "html_block": raw,
        "html_inline": raw,
        "image": picture,
        "table_open": table,
        "table_close": end,
    }
    for name, rule in rules.items():
        parser.add_render_rule(name, rule)
    body = parser.renderer.render(tokens, parser.options, {})
    title = next(t.content for i, t in enumerate(tokens) if tokens[i - 1].tag == "h1")
    return _PAGE.substitute(title=escape(title), body=body)


def _with_anchors(tokens: list) -> list:
    """Give every heading the anchor that stands in a paragraph before it, and drop those."""
    kept: list = []
    for token in tokens:
        anchor = _ANCHOR.fullmatch(kept[-2].content) if len(kept) > 2 else None
        if token.type == "heading_open" and anchor and kept[-1].type == "paragraph_close":
            token.attrSet("id", anchor[1])
            del kept[-3:]
        kept.append(token)
    return kept


def _fold(tokens: list) -> None:
    """Mark the tables that are shown folded, below their pictures, with their numbers of rows."""
    folded, opened = False, None
    for token in tokens:
        if token.type == "heading_open":
            folded = token.tag == "h3" or token.attrs.get("id") in _FOLDED
        elif token.type == "table_open" and folded:
            opened, token.meta = token, {"rows": -1}
        elif token.type == "tr_open" and opened:
            opened.meta["rows"] += 1
        elif token.type == "table_close" and opened:
            token.meta, opened = opened.meta, None


def _kind(cell: str) -> str:
    """Return the class of a table's cell."""
    return _CLASSES.get(cell, "long" if len(cell) > _LONG else "")
