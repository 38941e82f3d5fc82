"""Made-up exports for every entry: what the gallery and the tests draw when there are no results.

They have the columns and run names of real ones and are the same on every machine. No number in
them was measured.
"""

from .write import SMALL, USUAL, Extent, write_specimen

__all__ = ["SMALL", "USUAL", "Extent", "write_specimen"]
