"""The page that compares kept results with the papers: `reproduce.py --report`."""

from .write import write_page

__all__ = ["write_page"]
