"""The page as one HTML file that needs nothing else."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from .blocks import AGREES, DIFFERS, Block, Bullets, Command, Drawing, Heading, Paragraph, Table

_STYLE = """
:root { color-scheme: light; }
body { margin: 0 auto; max-width: 76rem; padding: 0 1rem 3rem; background: #fff; color: #1a1a1a;
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; overflow-wrap: break-word; }
h1, h2, h3 { line-height: 1.25; }
h2 { margin-top: 2.5rem; border-bottom: 1px solid #bbb; }
a { color: #0b5394; }
code, pre { font-family: ui-monospace, monospace; font-size: .875em; }
pre { background: #f4f4f4; padding: .5rem .75rem; overflow-x: auto; }
.box { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: .8125rem; font-variant-numeric: tabular-nums; }
th, td { border: 1px solid #ccc; padding: .25rem .5rem; text-align: left; vertical-align: top; }
td { white-space: nowrap; }
td.long { white-space: normal; min-width: 16rem; }
th { background: #f0f0f0; min-width: 4.5rem; }
.agrees { color: #14532d; }
.differs { color: #7f1d1d; font-weight: 700; background: #fdecec; }
.panels { display: flex; flex-wrap: wrap; gap: .5rem 1.25rem; margin: 1rem 0; overflow-x: auto; }
.panels svg { max-width: 100%; height: auto; }
@media print {
  body { max-width: none; font-size: 10pt; padding: 0; }
  .box, .panels { overflow: visible; }
  table { font-size: 6.5pt; }
  th { min-width: 0; }
  td, td.long { white-space: normal; min-width: 0; }
  th, td { padding: 1pt 3pt; }
  tr, svg { break-inside: avoid; }
  h2, h3 { break-after: avoid; }
}
"""
_LINK = re.compile(r"\[((?:[^][]|\[[^][]*\])+)\]\(([^)\s]+)\)")
_LONG = 40
"""Letters from which a cell is broken into lines."""


def render(blocks: Sequence[Block]) -> str:
    """The whole document."""
    title = next(block.text for block in blocks if isinstance(block, Heading))
    body = "\n".join(_block(block) for block in blocks)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<link rel="icon" href="data:,">\n<title>{escape(title)}</title>\n'
        f"<style>{_STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _block(block: Block) -> str:
    match block:
        case Heading(level, text, anchor):
            return f'<h{level} id="{escape(anchor, quote=True)}">{escape(text)}</h{level}>'
        case Paragraph(text):
            return f"<p>{_text(text)}</p>"
        case Bullets(items):
            return "<ul>" + "".join(f"<li>{_text(item)}</li>" for item in items) + "</ul>"
        case Command(line):
            return f"<pre><code>{escape(line)}</code></pre>"
        case Table(head, rows):
            titles = "".join(f'<th scope="col">{_text(cell)}</th>' for cell in head)
            lines = "\n".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
            return (
                f'<div class="box" tabindex="0"><table>\n<thead><tr>{titles}</tr></thead>\n'
                f"<tbody>\n{lines}\n</tbody></table></div>"
            )
        case Drawing(panels, text, _):
            return f'<div class="panels">{"".join(panels)}</div>\n<p>{_text(text)}</p>'


def _cell(text: str) -> str:
    kind = text if text in (AGREES, DIFFERS) else "long" if len(text) > _LONG else ""
    return f'<td class="{kind}">{_text(text)}</td>' if kind else f"<td>{_text(text)}</td>"


def _text(text: str) -> str:
    safe = re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text, quote=False))
    return _LINK.sub(r'<a href="\2">\1</a>', safe)
