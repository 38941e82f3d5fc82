"""Formulas of docstrings as MathML, which browsers typeset without fonts or scripts from elsewhere.

The notation is that of the docstrings: `y_o = prod_i (W_oi x_i + 1 - W_oi),    W_oi in [0, 1]`.
Two blanks part the formulas of a line, words stay words, and `/` becomes a fraction.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

_TOKEN = re.compile(
    r"(?P<space>\s+)|(?P<number>\d+(?:\.\d+)?(?:e-?\d+)?)|(?P<name>[^\W\d_]+\d*'?)"
    r"|(?P<low>_(?:\{[^}]*\}|[^\W_]+(?:[.,][^\W_]+)*|[-+]))|(?P<sign><-|:=|<=|>=|\.\.\.|.)"
)
_OPEN, _CLOSE = {"(": ")", "[": "]", "{": "}"}, {")", "]", "}"}
_SIGNS = {
    "*": "⋅", "-": "−", "<-": "←", ":=": "≔", "~": "∼", "...": "…", "'": "′", "<=": "≤", ">=": "≥",
}  # fmt: skip
_BINARY = {"+", "-", "*", "=", "<", ">", "~", "<-", ":=", "<=", ">=", ",", ";", ":", "in", "mod"}
_LETTERS = {
    "alpha": "α", "beta": "β", "eps": "ε", "phi": "φ", "pi": "π", "sigma": "σ", "tau": "τ",
    "theta": "θ", "lambda": "λ", "gamma": "γ", "mu": "μ", "omega": "ω",
}  # fmt: skip
_PRIME = "<mo>′</mo>"
_LARGE = {"sum": "∑", "prod": "∏"}
_BELOW = {*_LARGE, "max", "min", "argmax", "argmin", "mean"}
"""Operators whose index stands below them."""
_FUNCTIONS = {"log", "exp", "sin", "cos", "tanh", "sign", "round", *_BELOW}


@dataclass
class _Part:
    """A piece of a row: its MathML, whether it is a sign between others, or a word of text."""

    xml: str
    sign: str = ""
    is_word: bool = False
    inside: str = ""
    """What a pair of brackets holds, which as half of a fraction needs none."""
    touches: bool = False
    """Whether no blank was in front of it."""


def formula(block: str) -> str:
    """Return a block of formulas as HTML: a line for each of its lines."""
    lines = (line.strip() for line in block.splitlines())
    return "".join(f'<div class="formula">{_line(line)}</div>' for line in lines if line)


def _line(line: str) -> str:
    if re.search(r"[^.][.:]$", line):
        return f"<span>{escape(line)}</span>"
    return " ".join(map(_segment, re.split(r"\s{2,}", line)))


def _segment(text: str) -> str:
    if not re.search(r"[=~^_(<]| in [\[{(]", text):
        return f"<span>{escape(text)}</span>"
    return f'<math display="block">{_Reader(text).row("")}</math>'


class _Reader:
    """Reads one formula from left to right."""

    def __init__(self, text: str):
        self.text = text
        self.tokens = [(m.lastgroup or "", m[0]) for m in _TOKEN.finditer(text)]
        self.place = 0

    def row(self, end: str) -> str:
        """Return everything up to a closing bracket, which is read, too."""
        parts: list[_Part] = []
        touches = True
        while self.place < len(self.tokens):
            kind, text = self.tokens[self.place]
            if kind == "space":
                self.place += 1
                touches = False
                continue
            if text == end and (end != "|" or (parts and not parts[-1].sign)):
                self.place += 1
                return _joined(parts)
            if text in _CLOSE:
                break
            part = self.part()
            part.touches = touches
            if part.sign == "-" and (not parts or parts[-1].sign):
                part.xml = '<mo form="prefix">−</mo>'
            parts.append(part)
            touches = True
        if end or self.place < len(self.tokens):
            raise ValueError(f"brackets of this formula are no pairs: {self.text}")
        return _joined(parts)

    def part(self) -> _Part:
        """Return one part with what stands at its feet and its shoulder."""
        kind, text = self.next()
        inside = ""
        if text in _OPEN or text == "|":
            end = _OPEN.get(text, "|")
            inside = self.row(end)
            xml = f"<mrow>{_fence(text)}{inside}{_fence(end)}</mrow>"
        elif kind == "number":
            base, _, power = text.partition("e")
            xml = f"<mn>{base}</mn>"
            if power:
                ten = f"<msup><mn>10</mn>{_number(power)}</msup>"
                xml = ten if base == "1" else f"<mrow>{xml}<mo>⋅</mo>{ten}</mrow>"
        elif kind == "name":
            return self.name(text)
        else:
            return _Part(f"<mo>{escape(_SIGNS.get(text, text))}</mo>", sign=text)
        scripted = self.scripts(xml)
        return _Part(scripted, inside=inside if scripted == xml and text == "(" else "")

    def name(self, text: str) -> _Part:
        after = self.tokens[self.place : self.place + 2]
        follows = after[0][1] if after else ""
        if text == "in" and len(after) > 1 and after[1][1] in _OPEN:
            return _Part("<mo>∈</mo>", sign=text)
        if text == "mod":
            return _Part('<mo lspace="0.3em" rspace="0.3em">mod</mo>', sign=text)
        if re.fullmatch(r"d[A-Z]", text):
            return _Part(f"<mrow><mi>d</mi>{self.scripts(_identifier(text[1:]))}</mrow>")
        if (follows, text.lower()) == (".", text) and len(after) > 1 and after[1][0] == "name":
            self.place += 1  # A part of a module, such as l1.weight.
            return self.name(f"{text}.{self.next()[1]}")
        is_called = follows[:1] in ("(", "_", "^") and follows != ""
        known = text in _LETTERS or text in _FUNCTIONS or len(text.rstrip("'0123456789")) == 1
        if not (known or is_called or "." in text or not text.islower()):
            return _Part(f"<mtext>{escape(text)}</mtext>", is_word=True)
        prime = _PRIME if text.endswith("'") else ""
        return _Part(self.scripts(_identifier(text), prime, below=text in _BELOW))

    def next(self) -> tuple[str, str]:
        self.place += 1
        return self.tokens[self.place - 1]

    def scripts(self, xml: str, high: str = "", *, below: bool = False) -> str:
        """Return a part with its indices, hats and powers."""
        low = ""
        while self.place < len(self.tokens):
            kind, text = self.tokens[self.place]
            if text == "_hat":
                self.place += 1
                xml = f'<mover accent="true">{xml}<mo>^</mo></mover>'
            elif kind == "low":
                self.place += 1
                low = _index(text[1:])
                if self.tokens[self.place : self.place + 1] == [("low", "_hat")]:
                    continue
            elif text == "^":
                self.place += 1
                high = self.power()
            else:
                break
        if low and high:
            return f"<msubsup>{xml}{low}{high}</msubsup>"
        if low:
            tag = "munder" if below else "msub"
            return f"<{tag}>{xml}{low}</{tag}>"
        return f"<msup>{xml}{high}</msup>" if high else xml

    def power(self) -> str:
        kind, text = self.tokens[self.place]
        if text == "-":
            self.place += 1
            return _number(f"-{self.next()[1]}")
        if text == "(":
            self.place += 1
            return f"<mrow>{self.row(')')}</mrow>"
        if kind == "name" and self.tokens[self.place + 1 : self.place + 2] == [("sign", "(")]:
            function, argument = self.part(), self.part()
            return f"<mrow>{function.xml}{argument.xml}</mrow>"
        if kind == "name" and len(text) == 1 and text.islower():
            self.place += 1  # Its index belongs to what it is a power of.
            return f"<mi>{text}</mi>"
        return self.part().xml


def _identifier(text: str) -> str:
    base = text.rstrip("'")
    if base in _LARGE:
        return f'<mo largeop="true" movablelimits="false">{_LARGE[base]}</mo>'
    name = _LETTERS.get(base, base)
    xml = f"<mi>{escape(name)}</mi>"
    if found := re.fullmatch(r"([A-Z])([a-z]|\d)", name):  # Such as Wr.
        xml = f"<msub><mi>{found[1]}</mi><mi>{found[2]}</mi></msub>"
    return xml


def _number(text: str) -> str:
    return f"<mrow><mo>−</mo><mn>{text[1:]}</mn></mrow>" if text[0] == "-" else f"<mn>{text}</mn>"


def _index(text: str) -> str:
    text = text.strip("{}").replace("-", "−")
    if re.fullmatch(r"[a-z]{4,}", text):
        return f"<mtext>{text}</mtext>"
    tags = {"letter": "mi", "digits": "mn", "sign": "mo"}
    pieces = re.finditer(r"(?P<letter>[^\W\d_])|(?P<digits>\d+)|(?P<sign>[^\w\s])", text)
    found = ((tags[piece.lastgroup or ""], piece[0]) for piece in pieces)
    return f"<mrow>{''.join(f'<{tag}>{piece}</{tag}>' for tag, piece in found)}</mrow>"


def _fence(sign: str) -> str:
    return f'<mo stretchy="true">{sign}</mo>'


def _joined(parts: list[_Part]) -> str:
    """Return parts as one row, with fractions and blanks between factors."""
    found: list[_Part] = []
    todo = list(parts)
    while todo:
        part = todo.pop(0)
        if part.sign == "/" and found and todo:
            above = _taken(found, backwards=True)
            below = _taken(todo)
            part = _Part(f"<mfrac>{_bare(above)}{_bare(below)}</mfrac>")
        found.append(part)
    return "".join(_spaced(found))


def _taken(parts: list[_Part], *, backwards: bool = False) -> list[_Part]:
    """Take from a list what belongs to one half of a fraction: all to the next sign."""
    taken: list[_Part] = []
    while parts and parts[-1 if backwards else 0].sign not in _BINARY:
        taken.append(parts.pop(-1 if backwards else 0))
    return taken[::-1] if backwards else taken


def _bare(parts: list[_Part]) -> str:
    if len(parts) == 1 and parts[0].inside:
        return f"<mrow>{parts[0].inside}</mrow>"
    return f"<mrow>{''.join(_spaced(parts))}</mrow>"


def _spaced(parts: list[_Part]) -> Iterator[str]:
    before: _Part | None = None
    for part in parts:
        if before is not None and (part.is_word or before.is_word):
            yield '<mspace width="0.3em"></mspace>'
        elif before is not None and not (part.sign or before.sign or part.touches):
            yield '<mspace width="0.17em"></mspace>'
        yield part.xml
        before = part
