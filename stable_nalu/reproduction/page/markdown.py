"""The page as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from .blocks import Block, Bullets, Command, Drawing, Heading, Paragraph, Table


def render(blocks: Sequence[Block]) -> str:
    """The whole text."""
    parts = [text for block in blocks if (text := _block(block))]
    return "\n\n".join(parts) + "\n"


def table_lines(table: Table) -> list[str]:
    """A table, one line a row."""
    head = [f"| {' | '.join(table.head)} |", f"|{'---|' * len(table.head)}"]
    return head + [f"| {' | '.join(_cell(cell) for cell in row)} |" for row in table.rows]


def _block(block: Block) -> str:
    match block:
        case Heading(level, text, anchor):
            name = f'<a id="{anchor}"></a>\n\n' if level > 2 else ""
            return f"{name}{'#' * level} {text}"
        case Paragraph(text):
            return text
        case Bullets(items):
            return "\n".join(f"- {item}" for item in items)
        case Command(line):
            return f"    {line}"
        case Table():
            return "\n".join(table_lines(block))
        case Drawing(_, text, file):
            return f"![{text}]({file})" if file else ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
