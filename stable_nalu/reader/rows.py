"""A table that grows row by row, with columns that appear when they are first filled."""

import math


class Rows:
    """Columns by name, in the order of their first value; a cell never filled is missing (NaN)."""

    def __init__(self) -> None:
        self.count = 0
        self._columns: dict[str, list] = {}

    def start(self) -> None:
        """Begin a row."""
        self.count += 1

    def filled(self, column: str) -> bool:
        """Whether the current row has a value in `column`."""
        return len(self._columns.get(column, ())) == self.count

    def put(self, column: str, value) -> None:
        """Set the cell of the current row."""
        cells = self._columns.setdefault(column, [])
        if len(cells) == self.count:
            cells[-1] = value
            return
        if len(cells) < self.count - 1:
            cells.extend([math.nan] * (self.count - 1 - len(cells)))
        cells.append(value)

    def get(self, column: str):
        """The cell of the current row, which must be filled."""
        return self._columns[column][-1]

    def columns(self) -> dict[str, list]:
        """All columns, padded to the same length."""
        return {
            name: cells + [math.nan] * (self.count - len(cells))
            for name, cells in self._columns.items()
        }
