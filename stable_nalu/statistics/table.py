"""Tables of runs: read from CSV, split into groups, written in the dialect of the papers.

In that dialect text is quoted, and missing, infinite and true values are NA, Inf and TRUE.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from stable_nalu.base.errors import UsageError
from stable_nalu.base.files import atomic_text_file, table_rows

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

MODEL_CODE = "model_code"
"""The first of the columns that hold the configuration of runs."""

WHOLE = ("step", "seed")
ERRORS = ("metric.valid.interpolation", "metric.test.extrapolation", "sparse.error.max")

THRESHOLD = "threshold"
"""Column: the test error below which a run is solved."""


def read_table(path: Path) -> "pd.DataFrame":
    """Read a CSV file, or raise UsageError with one line that says what is wrong with it."""
    rows = table_rows(path)
    header = next(rows, [])
    for _ in rows:  # pandas fills rows that are too short.
        pass
    for column in header:
        if header.count(column) > 1:  # pandas gives the second one another name.
            raise UsageError(f"{path} has column {column} twice; keep one of them")
    import pandas as pd

    try:
        return pd.read_csv(path, low_memory=False)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from None
    except ValueError as error:
        raise UsageError(f"{path} is not a CSV table: {' '.join(str(error).split())}") from None


def require(table: "pd.DataFrame", columns: Iterable[str], path: Path | str, kind: str) -> None:
    """Raise UsageError for a table that lacks one of the columns, or has one twice."""
    if not table.columns.is_unique:
        twice = table.columns[table.columns.duplicated()][0]
        raise UsageError(f"{path} is not {kind}: it has column {twice} twice")
    lacking = [column for column in columns if column not in table.columns]
    if lacking:
        raise UsageError(f"{path} is not {kind}: it has no column {', '.join(lacking)}")


def numeric(table: "pd.DataFrame", columns: Iterable[str], path: Path | str) -> "pd.DataFrame":
    """Return the table with columns of numbers; UsageError names the first wrong cell.

    Steps and seeds are whole numbers from 0 on, a step is never missing, and no error is negative.
    """
    import pandas as pd

    table = table.copy()
    for column in columns:
        try:
            table[column] = pd.to_numeric(table[column])
        except (ValueError, TypeError):
            read: Any = pd.to_numeric(table[column], errors="coerce")
            refuse_rows(read.isna() & table[column].notna(), table, column, path, "no number")
        given = table[column].notna()
        if column in WHOLE:
            wrong = given & ((table[column] % 1 != 0) | (table[column] < 0))
            refuse_rows(wrong, table, column, path, "no whole number from 0 on")
        if column == "step":
            refuse_rows(~given, table, column, path, "no step")
        if column in ERRORS:
            refuse_rows(table[column] < 0, table, column, path, "an error below 0")
    return table


def refuse_rows(
    wrong: Any, table: "pd.DataFrame", column: str, path: Path | str, problem: str
) -> None:
    """Raise UsageError that names the first row for which `wrong` is true, if there is one."""
    if wrong.any():
        place = int(wrong.to_numpy().argmax())
        cell = table[column].iloc[place]
        shown = "an empty cell" if cell != cell else repr(str(cell))
        raise UsageError(f"{path}: row {place + 1}: column {column} holds {shown}, {problem}")


def refuse_repeated(rows: "pd.DataFrame", columns: Sequence[str]) -> None:
    """Raise UsageError for logged rows of two runs of one name, or of one run given twice."""
    again = rows.duplicated(list(columns))
    if again.any():
        row = rows.loc[again].iloc[0]
        raise UsageError(
            f"run {row['name']} has step {row['step']} twice; give each run once, and runs of one "
            "name as tables with labels of their own"
        )


def parsed_names(
    table: "pd.DataFrame",
    parse: Callable[[str, dict[str, Any] | None], Mapping[str, object]],
    path: Path | str,
) -> "tuple[np.ndarray, pd.DataFrame]":
    """Return the options of the runs of a table, and which row of them each row has.

    They are made once per run: of the columns from `model_code` on, which a table with the
    configuration of its runs has, else of the name. The threshold of a run's task is the last of
    them, where the table has it. UsageError names the first row whose name is empty or does not
    parse.
    """
    import numpy as np
    import pandas as pd

    refuse_rows(table["name"].isna(), table, "name", path, "no name of a run")
    codes, names = pd.factorize(table["name"].astype(str))
    firsts = np.unique(codes, return_index=True)[1]
    known: list[Any] = [None] * len(names)
    if MODEL_CODE in table:
        part = table.iloc[firsts].loc[:, MODEL_CODE:].astype(object)
        records = part.where(part.notna(), None).to_dict("records")
        for place, row in enumerate(records):
            if isinstance(row[MODEL_CODE], str) and isinstance(row.get("seed"), Real):
                known[place] = row
    options = []
    for name, columns, row in zip(names, known, firsts, strict=True):
        try:
            options.append(parse(name, columns))
        except ValueError as error:
            problem = f"{path}: row {row + 1}: {error}"
            raise UsageError(f"{problem}; leave out runs of other scripts") from None
    found = pd.DataFrame(options)
    if THRESHOLD in table:
        found[THRESHOLD] = table[THRESHOLD].to_numpy()[firsts]
    return codes, found


def groups(table: "pd.DataFrame", by: Iterable[str]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield the values of the columns `by` and the rows that have them, in order of appearance.

    A missing value counts as a value.
    """
    for key, group in table.groupby(list(by), sort=False, dropna=False, observed=True):
        yield cast(tuple[Any, ...], key), group


def in_columns(names: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a line of names and one per row, in columns."""
    widths = [max(map(len, column)) for column in zip(names, *rows, strict=True)]
    lines = (
        "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True))
        for row in (names, *rows)
    )
    return [line.rstrip() for line in lines]


def format_cell(value: object) -> str:
    """Format one cell; a number gets the fewest digits that give the same double."""
    import numpy as np

    if isinstance(value, str):
        return '"' + value.replace('"', '""') + '"'
    if value is None:
        return "NA"
    if isinstance(value, bool | np.bool_):
        return str(value).upper()
    if isinstance(value, Real):
        return _format_float(float(value))
    raise TypeError(f"no cell for {value!r}")


def _format_float(value: float) -> str:
    if math.isnan(value):
        return "NA"
    if math.isinf(value):
        return "Inf" if value > 0 else "-Inf"
    return repr(value).removesuffix(".0")


def format_table(columns: Iterable[str], rows: Iterable[Mapping[str, object]]) -> str:
    """Format the header and all rows; a row that lacks a column has NA there."""
    columns = list(columns)
    lines = [",".join(format_cell(column) for column in columns)]
    lines += [",".join(format_cell(row.get(column)) for column in columns) for row in rows]
    return "\n".join(lines) + "\n"


def write_table(path: Path, columns: Iterable[str], rows: Iterable[Mapping[str, object]]) -> None:
    """Write the file whole or not at all, and make its folder."""
    _write_text(path, format_table(columns, rows))


def write_frame(path: Path, table: "pd.DataFrame") -> None:
    """Write a data frame without its index."""
    write_table(path, table.columns, table.to_dict("records"))


def write_plain_frame(path: Path, table: "pd.DataFrame") -> None:
    """Write a data frame as the exporters do: nothing quoted, a missing cell empty, `inf`."""
    _write_text(path, table.to_csv(index=False))


def write_rows(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    """Write rows of the same columns as `write_plain_frame` does."""
    import pandas as pd

    write_plain_frame(path, pd.DataFrame(rows))


def _write_text(path: Path, text: str) -> None:
    try:
        with atomic_text_file(path, named=True) as file:
            file.write(text)
    except BrokenPipeError:  # the reader of standard output has enough
        raise
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None
