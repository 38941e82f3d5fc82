"""Log folders and event files that are damaged, foreign or strange, for the exporters."""

import os
import struct
from collections.abc import Callable

from tests.attacks.harness import Attack, Place, attacks
from tests.attacks.subjects import RUNS, folder, gone, log, meeting, names, rows

EXPORT = f"simple_function_static_export --tensorboard-dir {{tmp}}/{RUNS}"
OUT = "--csv-out {tmp}/x.csv"
ROWS = 3
"""Of each of the two finished runs."""


def records(content: bytes) -> list[bytes]:
    """The records of an event file: length, its checksum, the event, its checksum."""
    found = []
    while content:
        size = struct.unpack("<Q", content[:8])[0] + 16
        found.append(content[:size])
        content = content[size:]
    return found


def damage(change: Callable[[bytes], bytes]) -> Callable[[Place], object]:
    return lambda p: log(p).write_bytes(change(log(p).read_bytes()))


def flipped(content: bytes, place: int) -> bytes:
    return content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :]


def named(name: str) -> Callable[[Place], object]:
    return lambda p: folder(p).rename(p / RUNS / name)


PARTLY: dict[str, Callable[[Place], object]] = {
    "an empty event file": damage(lambda _: b""),
    "half of an event file": damage(lambda c: c[: len(c) // 2]),
    "a length that is damaged": damage(lambda c: flipped(c, len(records(c)[0]))),
    "an event that is damaged": damage(lambda c: flipped(c, len(records(c)[0]) + 20)),
    "a length beyond all bounds": damage(lambda c: c + struct.pack("<Q", 2**62)),
    "text for events": damage(lambda _: b"step,value\n1,2\n" * 20),
    "zeros for events": damage(lambda c: b"\0" * len(c)),
    "all events twice": damage(lambda c: c + b"".join(records(c)[1:])),
    "a whole log behind another": damage(lambda c: c + c),
    "two event files": lambda p: (
        log(p).with_name("events.out.tfevents.1.other").write_bytes(log(p, 1).read_bytes())
    ),
    "a folder for an event file": lambda p: gone(log(p)).mkdir(),
    "a pipe for an event file": lambda p: os.mkfifo(gone(log(p))),
    "a run whose name says nothing": named("my own run"),
    "a run whose name has a line break": named("a\nb"),
}
"""What leaves one of the two runs whole, and the other not."""

WHOLE_ALL_THE_SAME = ("a run whose name says nothing", "a run whose name has a line break")
"""The exporter takes names as they are."""


def _one_is_whole(place: Place, outcome: object) -> None:
    table = rows(place / "x.csv")
    whole = names(place.made)[1]
    assert len([row for row in table if row["name"] == whole]) == ROWS
    keys = [(row["name"], row["step"]) for row in table]
    assert len(keys) == len(set(keys)), "a step has two rows"


test_one_run_is_damaged = attacks(
    Attack(
        f"export: {what}{strict}",
        f"{EXPORT} {OUT} {strict}",
        () if what in WHOLE_ALL_THE_SAME else "run",
        meeting(prepare),
        code=int(bool(strict) and what not in WHOLE_ALL_THE_SAME),
        writes=("x.csv",),
        check=_one_is_whole,
    )
    for what, prepare in PARTLY.items()
    for strict in ("", "--strict")
    if what != "a pipe for an event file" or not strict
)


def _as_usual(place: Place, outcome: object) -> None:
    assert len(rows(place / "x.csv")) == 2 * ROWS


HARMLESS: dict[str, Callable[[Place], object]] = {
    "events without their first record": damage(lambda c: b"".join(records(c)[1:])),
    "a lock that is left": lambda p: (folder(p) / ".lock").write_text("process 1"),
    "a record that is damaged": lambda p: (folder(p) / ".run.json").write_text("{"),
    "a link to the folder of runs": lambda p: (p / RUNS).symlink_to(
        (p / RUNS).rename(p / "elsewhere")
    ),
}
test_what_does_not_disturb = attacks(
    Attack(
        f"export: {what}",
        f"{EXPORT} {OUT} --strict",
        prepare=meeting(prepare),
        code=0,
        writes=("x.csv",),
        check=_as_usual,
    )
    for what, prepare in HARMLESS.items()
)

FROM_PARENT = f"two_digit_mnist_reader --from-parent-folder {OUT} --tensorboard-dir {{tmp}}"
test_no_runs = attacks(
    *(
        Attack(
            f"{script}: {what}",
            f"{script} --tensorboard-dir {path} {OUT}",
            "--tensorboard-dir",
            prepare,
        )
        for script in (
            "simple_function_static_export",
            "export_sequences",
            "two_digit_mnist_reader",
        )
        for what, path, prepare in (
            ("no folder of runs", "{tmp}/nowhere", None),
            ("a file for a folder of runs", "{tmp}/file", lambda p: p.file("file")),
            ("an empty folder of runs", "{tmp}/here", None),
            ("a link in a circle", "{tmp}/ring", lambda p: (p / "ring").symlink_to("ring")),
        )
    ),
    Attack("folders that are not there", f"{FROM_PARENT}/none", "--tensorboard-dir"),
)


def nothing(place: Place) -> None:
    log(place).write_bytes(b"")
    log(place, 1).write_bytes(b"")


test_nothing_to_export = attacks(
    *(
        Attack(
            f"{script}: no run has data",
            f"{script} --tensorboard-dir {{tmp}}/{RUNS} {OUT}",
            "nothing to export",
            meeting(nothing),
        )
        for script in ("simple_function_static_export", "export_sequences")
    ),
    Attack(
        "export: no run has data, over a table that is there",
        f"{EXPORT} {OUT}",
        "nothing to export",
        meeting(lambda p: (nothing(p), p.file("x.csv", "kept\n"))),
    ),
    Attack("export: no file to write", EXPORT, "--csv-out", meeting()),
)
