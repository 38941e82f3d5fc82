"""The commands that the READMEs of the papers draw their figures with, by the key of the figure."""

from __future__ import annotations

from stable_nalu.paper.index import EXPERIMENTS

CSVS = "/data/nalms/csvs/"
"""Folder of exported tables, as the READMEs name it."""

PLOTS = {
    drawing.key or experiment.stem: drawing.plotted
    for experiment in EXPERIMENTS.values()
    for drawing in experiment.drawings
    if drawing.plotted
}
"""Key of a figure -> what follows `Rscript`; of one without folders, these are the current one."""


def folders(key: str) -> tuple[str, str]:
    """Return the folder that a command reads and the one it writes to, as far as it names them."""
    words = PLOTS[key].split()[1:3]
    read, written = words if words else ("None", "")
    if read == "None" or "<" in read:
        read = CSVS
    if not written.endswith("/"):
        written = written.rpartition("/")[0]
    return read, written


def plot_words(key: str) -> list[str]:
    """Return the words behind `python3` that draw the same figure here."""
    read, written = folders(key)
    words = ["export/plot.py", key, "--csv-dir", read.rstrip("/")]
    return [*words, "--out-dir", written.rstrip("/")] if written else words
