"""Files that appear complete or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO


@contextmanager
def atomic_text_file(path: Path) -> Iterator[TextIO]:
    """Open a hidden file beside `path` for writing; it takes the place of `path` on success.

    When the block raises, `path` keeps its old content and the hidden file is removed. Line ends
    are written as given.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("w", encoding="utf-8", newline="") as file:
            yield file
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
