"""Log folders and event files that are damaged, foreign or strange, for the exporters."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from pathlib import Path

from tests.attacks.harness import Attack, Place, attacks
from tests.attacks.subjects import RUNS, names, rows

EXPORT = ("simple_function_static_export", "--tensorboard-dir", f"{{tmp}}/{RUNS}")
OUT = ("--csv-out", "{tmp}/x.csv")
ROWS = 3
"""Of each of the two finished runs."""


def events(place: Place, run: int = 0) -> Path:
    """The event file of a finished run."""
    return next((place / RUNS / names(place.tmp)[run]).glob("events*"))


def records(content: bytes) -> list[bytes]:
    """The records of an event file: length, its checksum, the event, its checksum."""
    found = []
    while content:
        size = struct.unpack("<Q", content[:8])[0] + 16
        found.append(content[:size])
        content = content[size:]
    return found


def damage(change: Callable[[bytes], bytes]) -> Callable[[Place], object]:
    def prepare(place: Place) -> None:
        place.bring(RUNS, "save/t")
        path = events(place)
        path.write_bytes(change(path.read_bytes()))

    return prepare


def bring(then: Callable[[Place], object] | None = None) -> Callable[[Place], object]:
    def prepare(place: Place) -> None:
        place.bring(RUNS, "save/t")
        if then is not None:
            then(place)

    return prepare


def in_place_of(path: Path) -> Path:
    """A path that is free, because what was there is gone."""
    path.unlink()
    return path


def links_to(place: Place, target: Path) -> None:
    """A link in place of the first run's event file."""
    folder = place / RUNS / names(place.tmp)[0]
    (folder / "events.out.tfevents.1.link").symlink_to(target)


def flipped(content: bytes, place: int) -> bytes:
    return content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :]


def _repeated(content: bytes) -> bytes:
    first, *others = records(content)
    return b"".join([first, *others, *others[-2:]])


PARTLY: dict[str, Callable[[Place], object]] = {
    "an empty event file": damage(lambda _: b""),
    "half of an event file": damage(lambda c: c[: len(c) // 2]),
    "an event file less one byte": damage(lambda c: c[:-1]),
    "an event file of one byte": damage(lambda c: c[:1]),
    "a length that is damaged": damage(lambda c: flipped(c, len(records(c)[0]))),
    "an event that is damaged": damage(lambda c: flipped(c, len(records(c)[0]) + 20)),
    "a checksum that is damaged": damage(lambda c: flipped(c, len(c) - 1)),
    "a length beyond all bounds": damage(lambda c: c + struct.pack("<Q", 2**62)),
    "text behind the events": damage(lambda c: c + b"the end"),
    "text for events": damage(lambda _: b"step,value\n1,2\n" * 20),
    "zeros for events": damage(lambda c: b"\0" * len(c)),
    "zeros behind the events": damage(lambda c: c + b"\0" * 100),
    "a step twice": damage(_repeated),
    "all events twice": damage(lambda c: c + b"".join(records(c)[1:])),
    "a whole log behind another": damage(lambda c: c + c),
    "two event files": bring(
        lambda p: (
            events(p)
            .with_name("events.out.tfevents.1.other")
            .write_bytes(events(p, 1).read_bytes())
        )
    ),
    "a run folder without events": bring(lambda p: events(p).unlink()),
    "a folder for an event file": bring(lambda p: (events(p).unlink(), events_folder(p))),
    "a link to nothing for an event file": bring(
        lambda p: links_to(p, events(p).rename(p / "aside").parent / "nothing")
    ),
    "a pipe for an event file": bring(lambda p: os.mkfifo(in_place_of(events(p)))),
    "a run whose name says nothing": bring(
        lambda p: events(p).parent.rename(p / RUNS / "my own run")
    ),
    "a run whose name is not UTF-8": bring(
        lambda p: events(p).parent.rename(p / RUNS / "nmu_\udcff\udcfe")
    ),
    "a run whose name has a line break": bring(
        lambda p: events(p).parent.rename(p / RUNS / "a\nb")
    ),
}
"""What leaves one of the two runs whole, and the other not."""


def events_folder(place: Place) -> None:
    (place / RUNS / names(place.tmp)[0] / "events.out.tfevents.1.here").mkdir()


def _one_is_whole(place: Place, outcome: object) -> None:
    table = rows(place / "x.csv")
    whole = names(place.tmp)[1]
    assert len([row for row in table if row["name"] == whole]) == ROWS
    keys = [(row["name"], row["step"]) for row in table]
    assert len(keys) == len(set(keys)), "a step has two rows"


WHOLE_ALL_THE_SAME = (
    "a run whose name says nothing",
    "a run whose name has a line break",
)
"""The exporter takes names as they are."""


@attacks(
    Attack(
        f"export: {what}{' (strict)' * strict}",
        (*EXPORT, *OUT, *(("--strict",) * strict)),
        () if what in WHOLE_ALL_THE_SAME else ("run",),
        prepare,
        code=int(strict and what not in WHOLE_ALL_THE_SAME),
        writes=("x.csv",),
        check=_one_is_whole,
    )
    for what, prepare in PARTLY.items()
    for strict in (False, True)
    if what != "a pipe for an event file" or not strict
)
def test_one_run_is_damaged(case, place):
    place.hold(case)


def _as_usual(place: Place, outcome: object) -> None:
    assert len(rows(place / "x.csv")) == 2 * ROWS


@attacks(
    Attack(
        f"export: {what}",
        (*EXPORT, *OUT, "--strict"),
        (),
        prepare,
        0,
        writes=("x.csv",),
        check=_as_usual,
    )
    for what, prepare in {
        "events without their first record": damage(lambda c: b"".join(records(c)[1:])),
        "a hidden folder beside the runs": bring(lambda p: (p / RUNS / ".cache").mkdir()),
        "a lock that is left": bring(
            lambda p: p.file(f"{RUNS}/{names(p.tmp)[0]}/.lock", "process 1")
        ),
        "a record that is damaged": bring(
            lambda p: p.file(f"{RUNS}/{names(p.tmp)[0]}/.run.json", "{")
        ),
        "a link to the folder of runs": bring(
            lambda p: ((p / RUNS).rename(p / "elsewhere"), (p / RUNS).symlink_to(p / "elsewhere"))
        ),
        "an event file that is a link": bring(
            lambda p: links_to(p, events(p).rename(p / "events"))
        ),
    }.items()
)
def test_what_does_not_disturb(case, place):
    place.hold(case)


@attacks(
    Attack(
        f"{script}: {what}",
        (script, "--tensorboard-dir", path, *OUT),
        ("--tensorboard-dir",),
        prepare,
    )
    for script in ("simple_function_static_export", "export_sequences", "two_digit_mnist_reader")
    for what, path, prepare in (
        ("no folder of runs", "{tmp}/nowhere", None),
        ("a file for a folder of runs", "{tmp}/file", lambda p: p.file("file")),
        ("an empty folder of runs", "{tmp}/here", None),
        ("only hidden runs", "{tmp}/here", lambda p: (p / "here/.run").mkdir()),
        ("a device for a folder of runs", "/dev/null", None),
        ("a link in a circle for runs", "{tmp}/ring", lambda p: (p / "ring").symlink_to("ring")),
        ("nothing for a folder of runs", "", None),
        ("a name too long for runs", "{tmp}/" + "n" * 300, None),
    )
)
def test_no_runs(case, place):
    place.hold(case)


@attacks(
    [
        Attack(
            f"{script}: no run has data",
            (script, "--tensorboard-dir", f"{{tmp}}/{RUNS}", *OUT),
            ("nothing to export",),
            bring(lambda p: (events(p).write_bytes(b""), events(p, 1).write_bytes(b""))),
        )
        for script in ("simple_function_static_export", "export_sequences")
    ]
    + [
        Attack(
            "export: no run has data, over a table that is there",
            (*EXPORT, *OUT),
            ("nothing to export",),
            bring(
                lambda p: (
                    events(p).write_bytes(b""),
                    events(p, 1).write_bytes(b""),
                    p.file("x.csv", "kept\n"),
                )
            ),
        ),
        Attack("export: no file to write", EXPORT, ("--csv-out",), bring()),
        Attack(
            "pairs: a folder of folders that is not there",
            (
                *("two_digit_mnist_reader", "--tensorboard-dir", "{tmp}/none"),
                *("--from-parent-folder", "--csv-out", "{tmp}/out"),
            ),
            ("--tensorboard-dir",),
        ),
        Attack(
            "pairs: a folder without folders",
            (
                *("two_digit_mnist_reader", "--tensorboard-dir", "{tmp}/here"),
                *("--from-parent-folder", "--csv-out", "{tmp}/out"),
            ),
            ("--tensorboard-dir",),
        ),
    ]
)
def test_nothing_to_export(case, place):
    place.hold(case)
