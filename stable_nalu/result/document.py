"""Pages as Markdown and as one HTML file: templates, tables, numbers as text, and pictures."""

import io
import itertools
import math
import re
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

from stable_nalu.statistics.intervals import Estimate, wilson

from . import judged

if TYPE_CHECKING:
    from matplotlib.figure import Figure

UNKNOWN = "–"
"""What stands where nothing is known."""

_OPEN_BAR, _BAR = re.compile(r"(?<!\\)\|"), r"\\|"
_MARKUP = re.compile(r"[\\`*<|~]|&(?=#?\w+;)|(?<=\])\(|!(?=\[)|(?<![^\W_])_|_(?![^\W_])")


def filled(template: Path, **values: Any) -> str:
    """Return the Markdown of a Jinja template: paragraphs parted by one empty line each.

    A line of the template that begins with two spaces goes on with the line before it.
    """
    from jinja2 import Environment, StrictUndefined

    environment = Environment(undefined=StrictUndefined, lstrip_blocks=True)
    environment.globals |= {"heading": heading, "table": table, "UNKNOWN": UNKNOWN}
    environment.filters["plain"] = plain
    source = re.sub(r"\n {2}(?=\S)", " ", template.read_text(encoding="utf-8"))
    text = environment.from_string(source).render(values)
    return re.sub(r"\n{3,}", "\n\n", re.sub(r" +\n", "\n", text)).strip() + "\n"


def plain(text: object) -> str:
    """Return text in which nothing is markup; what could be is escaped."""
    return _MARKUP.sub(lambda found: f"\\{found[0]}", " ".join(str(text).split()))


def heading(level: int, text: str, anchor: str) -> str:
    """Return a heading behind an anchor that links lead to."""
    return f'<a id="{anchor}"></a>\n\n{"#" * level} {plain(text)}'


_MANY = 4
"""Rows from which on a line before the table is shorter than a column."""


def table(rows: Sequence[Mapping[str, object]], *, all_columns: bool = True) -> str:
    """Return a table of Markdown cells by their columns.

    In the first column, what is the same as in the row above is left out.

    all_columns: whether to keep columns in which nothing is known, and those which are the same in
    all of many rows; else a line before the table names what all rows have, and the first cell of
    several rows what these have.
    """
    head, before = list(rows[0]), []
    if not all_columns:
        head = [name for name in head if any(row[name] != UNKNOWN for row in rows)]
        if len(rows) >= _MANY:
            same = [name for name in head if len({row[name] for row in rows}) == 1]
            head = [name for name in head if name not in same]
            values = "; ".join(f"{name} {rows[0][name]}" for name in same)
            before = [f"The same in all rows: {values}.", ""] if same else []
            rows, head = _gathered(rows, head)
    cells, above = [head], None
    for row in rows:
        first, *others = (str(row[name]) for name in head)
        cells.append(["" if first == above else first, *others])
        above = first
    # A bar written by hand must not end the cell; `plain` has escaped all others.
    lines = [f"| {' | '.join(_OPEN_BAR.sub(_BAR, cell) for cell in row)} |" for row in cells]
    return "\n".join([*before, lines[0], f"|{'---|' * len(head)}", *lines[1:]])


def _gathered(
    rows: Sequence[Mapping[str, object]], head: Sequence[str]
) -> tuple[Sequence[Mapping[str, object]], list[str]]:
    """Put what all rows of a first cell have into that cell, where cells have several rows."""
    first, *others = head
    groups = [list(group) for _, group in itertools.groupby(rows, lambda row: row[first])]
    if 2 * len(groups) > len(rows):
        return rows, [*head]
    own = [n for n in others if any(len({row[n] for row in group}) > 1 for group in groups)]
    shared = [name for name in others if name not in own]
    cells = [[f"{row[first]}", *(f"{name} {row[name]}" for name in shared)] for row in rows]
    return [{**row, first: "; ".join(t)} for row, t in zip(rows, cells, strict=True)], [first, *own]


def rate(solved: int, runs: int, found: Estimate | None = None) -> str:
    """Return `92 % (23/25) [75–98]`; the interval is Wilson's where none is given."""
    found = found or wilson(solved, runs)
    ends = f"{100 * found.lower:.0f}–{100 * found.upper:.0f}"
    return f"{percent(found.mean)} ({solved}/{runs}) [{ends}]"


def percent(share: float) -> str:
    """Return `85.3 %`; whole numbers have no point."""
    return f"{100 * share:.1f}".removesuffix(".0") + " %"


def points(found: Estimate) -> str:
    """Return a difference of rates as `+15.1 points [+7.4 to +22.6]`."""
    mean, lower, upper = (f"{100 * x:+.1f}" for x in (found.mean, found.lower, found.upper))
    return f"{mean} points [{lower} to {upper}]"


def number(value: float | None) -> str:
    """Return a number in three digits."""
    if value is None or math.isnan(value):
        return UNKNOWN
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e7 else f"{value:.3g}"


def interval(value: float | None, lower: float | None, upper: float | None) -> str:
    """Return `1,230 [1,100–1,400]`; an upper end alone is a limit."""
    if value is None and upper is not None:
        return f"below {number(upper)}"
    if UNKNOWN in (number(lower), number(upper)):
        return number(value)
    return f"{number(value)} [{number(lower)}–{number(upper)}]"


def estimated(summary: Mapping[str, float], measure: str) -> str:
    return interval(*(summary[f"{measure}.{end}"] for end in ("mean", "lower", "upper")))


_ANCHOR = re.compile(r'<a id="([-.\w]+)"></a>')
_FOLDED = ("not-run",)
"""Sections whose tables are folded, as those of single figures are."""
_LONG = 40
"""The number of letters from which a cell is broken into lines."""
_GOOD = (judged.EQUAL, judged.WITHIN_POINTS, judged.WITHIN_PERCENT, judged.WITHIN_LIMIT)
_GOOD += (judged.WITHIN_TOLERANCE, judged.HOLDS)
_CLASSES = dict.fromkeys(_GOOD, "equal") | dict.fromkeys((judged.DIFFERS, judged.FAILS), "differs")


def render(markdown: str, pictures: Mapping[str, str]) -> str:
    """Return Markdown as one HTML file that needs nothing else, rendered by markdown-it.

    Raw HTML is shown as text, except the anchors of headings; only the pictures of the page itself
    are shown, and they are put into the file.

    pictures: SVG texts by the names that the Markdown has for them.
    """
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table")
    tokens = _with_anchors(parser.parse(markdown))
    _fold(tokens)
    for place, token in enumerate(tokens):
        if token.type == "td_open":
            cell = tokens[place + 1].content
            if kind := _CLASSES.get(cell, "long" if len(cell) > _LONG else ""):
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

    rules = {"html_block": raw, "html_inline": raw, "image": picture, "table_open": table}
    for name, rule in (rules | {"table_close": end}).items():
        parser.add_render_rule(name, rule)
    body = parser.renderer.render(tokens, parser.options, {})
    title = next(t.content for i, t in enumerate(tokens) if tokens[i - 1].tag == "h1")
    page = Path(__file__).with_name("page.html").read_text(encoding="utf-8")
    return Template(page).substitute(title=escape(title), body=body)


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


SURROUNDINGS = (
    r"^.*?(?=<svg )|<defs>\s*<style.*?</defs>\s*|<defs>\s*</defs>\s*"
    r'|(?<=<g) id="[^"]*"'
)
"""What a picture does not need, and what would not stay its own in a page with several."""
_CLIPS = r'|<clipPath.*?</clipPath>\s*| clip-path="[^"]*"'
_PLACES = re.compile(r'(?<= )(?:d|x|y)="[^"]*"')
_SPARE = re.compile(r'\s*<!--.*?-->|(?<=\n) +| transform="rotate\(-?0 [^)]*\)"')
_AROUND_LETTERS = re.compile(r'(?<=[A-Za-z"])\s+|\s+(?=[A-Za-z"])')
_DECIMALS = re.compile(r"-?\d+\.\d{3,}")


def as_svg(figure: "Figure", left_out: str = SURROUNDINGS + _CLIPS) -> str:
    """Return a figure as text that is the same every time, and can stand in a page with others.

    Coordinates have two decimals, which no screen tells from more. Comments, indentation, spaces
    around the letters of a path and turns by nothing are left out.
    left_out: pattern of what is; by default also the clips, as no line leaves its axes.
    """
    from matplotlib import rc_context

    buffer = io.StringIO()
    nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    with rc_context({"svg.hashsalt": "stable-nalu", "svg.fonttype": "none"}):
        figure.savefig(buffer, format="svg", metadata=nothing)
    # Letters have a colour of their own, whatever a page around the picture says.
    svg = buffer.getvalue().replace('<text style="', '<text style="fill: #000000; ')
    svg = re.sub(left_out, "", svg, flags=re.DOTALL)

    def attribute(found: re.Match[str]) -> str:
        rounded = _DECIMALS.sub(lambda number: f"{round(float(number[0]), 2):.10g}", found[0])
        return _AROUND_LETTERS.sub("", rounded)

    return _PLACES.sub(attribute, _SPARE.sub("", svg))
