"""Matrices that a run logged as text."""

_OPEN, _CLOSE = b"<pre>", b"</pre>"
_NO_BRACKETS = bytes.maketrans(b"[],", b"   ")


def matrix_elements(text: bytes) -> list[float] | None:
    """Elements of `<pre>` + NumPy array text + `</pre>` in row-major order; None for other text.

    Accepts `nan`, `inf` and trailing dots.
    """
    if not (text.startswith(_OPEN) and text.endswith(_CLOSE)):
        return None
    words = text[len(_OPEN) : -len(_CLOSE)].translate(_NO_BRACKETS).split()
    try:
        return [float(word) for word in words]
    except ValueError:
        return None
