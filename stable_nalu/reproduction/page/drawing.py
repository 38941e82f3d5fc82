"""Success rates with their intervals as SVG: published ones hollow squares, ours filled circles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from stable_nalu.statistics.intervals import Estimate

OURS, THEIRS, GRID = "#0b5394", "#b45309", "#d4d4d4"
_FONT = 'font-family="system-ui, sans-serif" font-size="11" fill="#1a1a1a"'
_STEP, _LENGTH, _SHIFT, _ROW = 26, 150, 4, 36


@dataclass(frozen=True)
class Mark:
    """A place on the axis of points, and the rates there."""

    label: str
    published: Estimate | None
    ours: Estimate | None


def panel(title: str, marks: Sequence[Mark], *, horizontal: bool = False) -> str:
    """One drawing: rates against points; horizontal: points below one another, for long names."""
    return _lying(title, marks) if horizontal else _standing(title, marks)


def _standing(title: str, marks: Sequence[Mark]) -> str:
    longest = max(len(mark.label) for mark in marks)
    left, top, bottom = max(34, 3.8 * longest), 24, 5.4 * longest + 14
    width = max(left + _STEP * len(marks) + 8, left + 6.4 * len(title))
    parts = [f'<text x="2" y="13" font-weight="600">{escape(title)}</text>']
    right = left + _STEP * len(marks)
    for share in (0, 0.5, 1):
        y = top + _LENGTH * (1 - share)
        parts.append(_line(left, y, right, y, GRID))
        parts.append(f'<text x="{left - 4}" y="{y + 4:g}" text-anchor="end">{share:.0%}</text>')
    for place, mark in enumerate(marks):
        x = left + _STEP * (place + 0.5)
        for found, shift, color in ((mark.published, -_SHIFT, THEIRS), (mark.ours, _SHIFT, OURS)):
            if found is not None:
                low, middle, high = (
                    top + _LENGTH * (1 - share) for share in (found.lower, found.mean, found.upper)
                )
                parts.append(_line(x + shift, low, x + shift, high, color, 2))
                parts.append(_dot(x + shift, middle, color))
        y = top + _LENGTH + 12
        turned = f'transform="rotate(-55 {x + 4:g} {y:g})"'
        parts.append(
            f'<text x="{x + 4:g}" y="{y:g}" text-anchor="end" {turned}>{escape(mark.label)}</text>'
        )
    return _svg(width, top + _LENGTH + bottom, title, marks, parts)


def _lying(title: str, marks: Sequence[Mark]) -> str:
    left, top, length = 18, 44, 300
    parts = [f'<text x="2" y="13" font-weight="600">{escape(title)}</text>']
    bottom = top + _ROW * len(marks)
    for share in (0, 0.25, 0.5, 0.75, 1):
        x = left + length * share
        parts.append(_line(x, top, x, bottom, GRID))
        parts.append(f'<text x="{x:g}" y="{top - 6}" text-anchor="middle">{share:.0%}</text>')
    for place, mark in enumerate(marks):
        y = top + _ROW * place + 13
        parts.append(f'<text x="{left}" y="{y}">{escape(mark.label)}</text>')
        for found, shift, color in ((mark.published, 7, THEIRS), (mark.ours, 16, OURS)):
            if found is not None:
                low, middle, high = (
                    left + length * share for share in (found.lower, found.mean, found.upper)
                )
                parts.append(_line(low, y + shift, high, y + shift, color, 2))
                parts.append(_dot(middle, y + shift, color))
    y = bottom + 20
    parts += [
        _dot(left, y - 4, THEIRS),
        f'<text x="{left + 8}" y="{y}">published</text>',
        _dot(left + 80, y - 4, OURS),
        f'<text x="{left + 88}" y="{y}">here</text>',
        f'<text x="{left + 130}" y="{y}">bars: 95 % intervals</text>',
    ]
    return _svg(left + length + 24, bottom + 28, title, marks, parts)


def _dot(x: float, y: float, color: str) -> str:
    if color == OURS:
        return f'<circle cx="{x:g}" cy="{y:g}" r="3.5" fill="{color}"/>'
    return (
        f'<rect x="{x - 3.5:g}" y="{y - 3.5:g}" width="7" height="7" fill="#fff" '
        f'stroke="{color}" stroke-width="1.5"/>'
    )


def _line(x1: float, y1: float, x2: float, y2: float, color: str, width: int = 1) -> str:
    ends = f'x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}"'
    return f'<line {ends} stroke="{color}" stroke-width="{width}"/>'


def _svg(
    width: float, height: float, title: str, marks: Sequence[Mark], parts: Sequence[str]
) -> str:
    told = "; ".join(f"{mark.label}: {_told(mark)}" for mark in marks)
    name = escape(f"{title}. {told}", quote=True)
    size = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{name}" {_FONT}>'
        f"{''.join(parts)}</svg>"
    )


def _told(mark: Mark) -> str:
    rates = (("published", mark.published), ("here", mark.ours))
    return ", ".join(f"{name} {found.mean:.0%}" for name, found in rates if found is not None)
