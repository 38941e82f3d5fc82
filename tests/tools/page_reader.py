"""The tables of a written page, read from its HTML and nothing else."""

from html.parser import HTMLParser


class _Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tables = {}
        self.links = []
        self._section, self._cell = "", None

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.links += [attributes[name] for name in ("src", "href") if attributes.get(name)]
        if tag in ("h1", "h2", "h3"):
            self._section = attributes["id"]
        elif tag == "table":
            self.tables.setdefault(self._section, []).append([])
        elif tag == "tr":
            self.tables[self._section][-1].append([])
        elif tag in ("td", "th"):
            self._cell = ""

    def handle_data(self, data):
        if self._cell is not None:
            self._cell += data

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            *above, row = self.tables[self._section][-1]
            row.append(self._cell if row or self._cell else above[-1][0])
            self._cell = None


def read_page(path):
    """Id of a section -> its tables, each a list of rows by heading; and all links.

    An empty first cell stands for that above it.
    """
    reader = _Reader()
    reader.feed(path.read_text(encoding="utf-8"))
    tables = {
        section: [[dict(zip(t[0], row, strict=True)) for row in t[1:]] for t in found]
        for section, found in reader.tables.items()
    }
    return tables, reader.links
