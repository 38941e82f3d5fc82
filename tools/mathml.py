"""Formulas of docstrings as MathML, which browsers typeset without fonts or scripts from elsewhere.

The notation is that of the docstrings: `y_o = prod_i (W_oi x_i + 1 - W_oi),    W_oi in [0, 1]`.
Two blanks part the formulas of a line, words stay words, and `/` becomes a fraction.
"""

import itertools
import re
from collections.abc import Iterable, Iterator
from html import escape
from typing import NamedTuple

_TOKEN = re.compile(
    r"(?P<space>\s+)|(?P<number>\d+(?:\.\d+)?(?:e-?\d+)?)|(?P<name>[^\W\d_]+\d*'?)"
    r"|(?P<low>_(?:\{[^}]*\}|[^\W_]+(?:[.,][^\W_]+)*|[-+]))|(?P<sign><-|:=|<=|>=|\.\.\.|.)"
)
_CLOSING = {"(": ")", "[": "]", "{": "}", "|": "|"}
_SIGNS = dict(zip(["*", "-", "<-", ":=", "~", "...", "'", "<=", ">="], "⋅−←≔∼…′≤≥", strict=True))
_BINARY = {"+", "-", "*", "=", "<", ">", "~", "<-", ":=", "<=", ">=", ",", ";", ":", "in", "mod"}
_GREEK = "alpha beta eps phi pi sigma tau theta lambda gamma mu omega"
_LETTERS = dict(zip(_GREEK.split(), "αβεφπστθλγμω", strict=True))
_LARGE = {"sum": "∑", "prod": "∏"}
_BELOW = {*_LARGE, "max", "min", "argmax", "argmin", "mean"}
"""Operators whose index stands below them."""
_KNOWN = {"log", "exp", "sin", "cos", "tanh", "sign", "round", *_BELOW, *_LETTERS}
"""Names that are no words, also where no bracket or index follows."""


class _Part(NamedTuple):
    """A piece of a row.

    sign: of one between others. is_word: of text. touches: whether no blank was in front of it.
    inside: what a pair of brackets holds, which as half of a fraction needs none.
    """

    xml: str
    sign: str = ""
    is_word: bool = False
    inside: str = ""
    touches: bool = True


def formula(block: str) -> str:
    """Return a block of formulas as HTML: a line for each of its lines."""
    lines = (line.strip() for line in block.splitlines())
    return "".join(f'<div class="formula">{_line(line)}</div>' for line in lines if line)


def _line(line: str) -> str:
    said = re.search(r"[^.][.:]$", line)
    return " ".join(
        f"<span>{escape(text)}</span>"
        if said or not re.search(r"[=~^_(<]| in [\[{(]", text)
        else f'<math display="block">{_Reader(text).row("")}</math>'
        for text in ([line] if said else re.split(r"\s{2,}", line))
    )


def _mrow(*children: str) -> str:
    return f"<mrow>{''.join(children)}</mrow>"


class _Reader:
    def __init__(self, text: str):
        self.text = text
        tokens = [(m.lastgroup or "", m[0]) for m in _TOKEN.finditer(text)]
        self.tokens = [*tokens, *[("end", "")] * 3][::-1]

    def row(self, end: str) -> str:
        """Return everything up to a closing bracket, or to the end, which is read, too."""
        parts: list[_Part] = []
        touches = True
        while True:
            kind, text = self.tokens.pop()
            if text == end and (end != "|" or (parts and not parts[-1].sign)):
                return _joined(parts)
            if kind == "end" or text in (")", "]", "}"):
                raise ValueError(f"brackets of this formula are no pairs: {self.text}")
            if kind != "space":
                part = self.part(kind, text)._replace(touches=touches)
                if part.sign == "-" and (not parts or parts[-1].sign):
                    part = part._replace(xml='<mo form="prefix">−</mo>')
                parts.append(part)
            touches = kind != "space"

    def part(self, kind: str, text: str) -> _Part:
        if kind == "name":
            return self.name(text)
        if kind == "number":
            return _Part(self.scripts(_number(text)))
        if text not in _CLOSING:
            return _Part(f"<mo>{escape(_SIGNS.get(text, text))}</mo>", sign=text)
        end = _CLOSING[text]
        inside = self.row(end)
        fences = (f'<mo stretchy="true">{sign}</mo>' for sign in (text, end))
        xml = _mrow(inside.join(fences))
        scripted = self.scripts(xml)
        return _Part(scripted, inside=inside if scripted == xml and text == "(" else "")

    def name(self, text: str) -> _Part:
        (kind, after), (_, follows) = self.tokens[-2], self.tokens[-1]
        if text == "in" and after in ("(", "[", "{"):
            return _Part("<mo>∈</mo>", sign=text)
        if text == "mod":
            return _Part('<mo lspace="0.3em" rspace="0.3em">mod</mo>', sign=text)
        if re.fullmatch(r"d[A-Z]", text):
            return _Part(_mrow("<mi>d</mi>", self.scripts(_identifier(text[1:]))))
        if (follows, text.lower(), kind) == (".", text, "name"):
            self.tokens.pop()  # A part of a module, such as l1.weight.
            return self.name(f"{text}.{self.tokens.pop()[1]}")
        known = text in _KNOWN or len(text.rstrip("'0123456789")) == 1 or "." in text
        if not (known or follows[:1] in {"(", "_", "^"} or not text.islower()):
            return _Part(f"<mtext>{escape(text)}</mtext>", is_word=True)
        prime = "<mo>′</mo>" if text.endswith("'") else ""
        return _Part(self.scripts(_identifier(text), prime, "munder" if text in _BELOW else "msub"))

    def scripts(self, xml: str, high: str = "", below: str = "msub") -> str:
        low = ""
        while (ahead := self.tokens[-1])[0] == "low" or ahead[1] == "^":
            _, text = self.tokens.pop()
            if text == "_hat":
                xml = f'<mover accent="true">{xml}<mo>^</mo></mover>'
            elif text == "^":
                high = self.power()
            else:
                low = _index(text[1:].strip("{}").replace("-", "−"))
        tag = "msubsup" if low and high else below if low else "msup"
        return f"<{tag}>{xml}{low}{high}</{tag}>" if low or high else xml

    def power(self) -> str:
        kind, text = self.tokens.pop()
        if text == "-":
            return _number(f"-{self.tokens.pop()[1]}")
        if text == "(":
            return _mrow(self.row(")"))
        if kind == "name" and self.tokens[-1][1] == "(":
            return _mrow(self.name(text).xml, self.part(*self.tokens.pop()).xml)
        if kind == "name" and len(text) == 1 and text.islower():
            return f"<mi>{text}</mi>"  # Its index belongs to what it is a power of.
        return self.part(kind, text).xml


def _identifier(text: str) -> str:
    base = text.rstrip("'")
    if base in _LARGE:
        return f'<mo largeop="true" movablelimits="false">{_LARGE[base]}</mo>'
    if found := re.fullmatch(r"([A-Z])([a-z]|\d)", base):  # Such as Wr.
        return f"<msub><mi>{found[1]}</mi><mi>{found[2]}</mi></msub>"
    return f"<mi>{escape(_LETTERS.get(base, base))}</mi>"


def _number(text: str) -> str:
    """Return a number, one such as 1e-7 as a power of ten."""
    base, _, power = text.partition("e")
    if base[0] == "-":
        return _mrow("<mo>−</mo>", _number(base[1:]))
    ten = f"<msup><mn>10</mn>{_number(power)}</msup>" if power else ""
    one = f"<mn>{base}</mn>"
    return ten if ten and base == "1" else _mrow(one, "<mo>⋅</mo>", ten) if ten else one


def _index(text: str) -> str:
    if re.fullmatch(r"[a-z]{4,}", text):
        return f"<mtext>{text}</mtext>"
    pieces = re.finditer(r"(?P<mi>[^\W\d_])|(?P<mn>\d+)|(?P<mo>[^\w\s])", text)
    return _mrow(*(f"<{piece.lastgroup}>{piece[0]}</{piece.lastgroup}>" for piece in pieces))


def _joined(parts: Iterable[_Part]) -> str:
    """Return parts as one row, with fractions and blanks between factors."""
    found: list[_Part] = []
    for _, run in itertools.groupby(parts, lambda part: part.sign in _BINARY):
        own = list(run)
        above = list(itertools.takewhile(lambda part: part.sign != "/", own))
        if above and (below := own[len(above) + 1 :]):
            own = [_Part(f"<mfrac>{_half(above)}{_half(below)}</mfrac>", touches=False)]
        found += own
    return "".join(_spaced(found))


def _half(parts: list[_Part]) -> str:
    inside = parts[0].inside if len(parts) == 1 else ""
    return _mrow(inside or "".join(_spaced(parts)))


def _spaced(parts: list[_Part]) -> Iterator[str]:
    for before, part in zip([None, *parts], parts, strict=False):
        if before is not None and (part.is_word or before.is_word):
            yield '<mspace width="0.3em"></mspace>'
        elif before is not None and not (part.sign or before.sign or part.touches):
            yield '<mspace width="0.17em"></mspace>'
        yield part.xml
