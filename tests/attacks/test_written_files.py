"""Where results are written: devices, links, folders, pipes and files that are in the way."""

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.attacks.harness import ROOT, Attack, Place, attacks
from tests.attacks.subjects import MODELS, RUNS, TABLE, bringing, put, rows

Writer = tuple[str, str, str]

EXPORT = f"simple_function_static_export --tensorboard-dir {{tmp}}/{RUNS}"
SUMMARIZE = f"summarize --csv {{tmp}}/{TABLE}"
WRITERS: dict[str, Writer] = {
    "summarize": (SUMMARIZE, "--csv-out", "success.rate"),
    "summarize by run": (
        f"{SUMMARIZE} --csv-out {{tmp}}/here/summary.csv",
        "--seeds-csv-out",
        "solved",
    ),
    "export": (EXPORT, "--csv-out", "metric.valid.interpolation"),
    "thresholds": ("generate_exp_setups --tables sequential", "--csv-out", "operation"),
    "weights": ("weight_distribution --init nac", "--csv-out", "bin.low"),
    "solutions": ("generate_dataset_solution_indexes", "--csv-out", "index.1"),
}
"""Name -> the command, its flag of the file, and a word of the file's first line."""

WHOLE, FEW = "solutions", ("a folder", "a link", "a full device", "a text", "-")
"""All write through one function: one of them meets all attacks, the others some."""


def full_device(path: Path) -> None:
    """A device that takes nothing: the test's own, lest a fault costs the machine its own."""
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 7))
    except PermissionError:
        # Who may not make one cannot replace one either.
        path.symlink_to("/dev/full")


def link(name: str, target: str) -> Callable[[Place], object]:
    return lambda place: (place / name).symlink_to(place / target)


def refusals(name: str, writer: Writer) -> Iterator[Attack]:
    words, flag, _ = writer
    for what, target, prepare in (
        ("a folder", "{tmp}/folder", lambda p: (p / "folder").mkdir()),
        ("a folder that holds something", "{tmp}/here", None),
        ("a full device", "{tmp}/full", lambda p: full_device(p / "full")),
        ("a link in a circle", "{tmp}/circle", link("circle", "circle")),
        ("a pipe that nobody reads", "{tmp}/pipe", lambda p: os.mkfifo(p / "pipe")),
        ("a text", "{tmp}/notes", lambda p: p.file("notes", "To do\n")),
        ("a program", "{tmp}/x.py", lambda p: p.file("x.py", "import os, sys\n")),
        ("another table", "{tmp}/x.csv", lambda p: p.file("x.csv", "day,price\n1,2\n")),
        ("below a file", "{tmp}/file/x.csv", put("file")),
        ("below the kernel", "/proc/none/x.csv", None),
        ("a name that is too long", "{tmp}/" + "n" * 300 + ".csv", None),
        ("nothing", "", None),
        ("the root", "/", None),
    ):
        if not (what == "nothing" and name == "summarize by run"):
            prepared = bringing(TABLE, RUNS, then=prepare)
            typed = (*words.split(), f"{flag}={target}")
            yield Attack(f"{name}: {what}", typed, prepare=prepared)


def successes(name: str, writer: Writer) -> Iterator[Attack]:
    """A table is written, with nothing beside it; a link to its place stays one."""
    words, flag, word = writer
    others = ("here/summary.csv",) if name == "summarize by run" else ()
    for what, target, file, prepare in (
        ("a link", "{tmp}/link", "here/x.csv", link("link", "here/x.csv")),
        (
            "a link to an empty file",
            "{tmp}/link",
            "old.csv",
            lambda p: (p.file("old.csv", ""), (p / "link").symlink_to("old.csv")),
        ),
        ("an empty file", "{tmp}/x.csv", "x.csv", lambda p: p.file("x.csv", "")),
        ("new folders", "{tmp}/a/b/c/x.csv", "a/b/c/x.csv", None),
        ("a path of its own folder", "x.csv", "here/x.csv", None),
        ("other letters", "{tmp}/größe-数.csv", "größe-数.csv", None),
        ("letters of no alphabet", "{tmp}/\udcff.csv", "\udcff.csv", None),
        ("a line break", "{tmp}/a\nb.csv", "a\nb.csv", None),
        ("the longest name", "{tmp}/" + "n" * 251 + ".csv", "n" * 251 + ".csv", None),
    ):

        def check(place, outcome, file=file, linked="link" in target):
            assert word in (place / file).read_text().splitlines()[0]
            assert not linked or (place / "link").is_symlink()
            assert not [p for p in (place / file).parent.iterdir() if p.name.startswith(".")]

        folders = [file.rsplit("/", n)[0] for n in range(1, file.count("/") + 1)]
        yield Attack(
            f"{name}: {what}",
            (*words.split(), f"{flag}={target}"),
            prepare=bringing(TABLE, RUNS, then=prepare),
            code=0,
            writes=(file, *others, *folders),
            check=check,
        )
    for stream in ("-", "/dev/stdout"):
        yield Attack(
            f"{name}: {stream}",
            f"{words} {flag}={stream}",
            prepare=bringing(TABLE, RUNS),
            code=0,
            writes=others,
            check=lambda place, outcome: _is_first(word, outcome.out),
        )


def _is_first(word: str, text: str) -> None:
    assert word in text.splitlines()[0]


test_where_tables_are_written = attacks(
    case
    for name, writer in WRITERS.items()
    for make in (refusals, successes)
    for case in make(name, writer)
    if name == WHOLE or case.name.partition(": ")[2] in FEW
)

WEIGHTS = (
    "name,step,param.W.0\nreregualizedlinearmnac_op-mul_oob-c_rs-linear-linear_eps-0_rl-1-2_r-10-0-1_"
    "i-1-2_e-2-6_z-2-0.5-0.0_b128_s0_h2_z2_lr-adam-0.00100-0.0,100000,0.5\n"
)
JUDGED = "group,seed,solved,extrapolation.step.solved,sparse.error.max\na,0,1,10,0.1\n"
TO = "--csv-out {tmp}"


def _runs_are_kept(place: Place, outcome: object) -> None:
    assert len(rows(place / TABLE)) == 6


OVER_RUNS = {
    "a summary": f"{TO}/{TABLE}",
    "by a link": f"{TO}/link",
    "judged runs": f"{TO}/x.csv --seeds-csv-out {{tmp}}/{TABLE}",
    "thresholds": f"{TO}/own.csv --exp-setups {{tmp}}/own.csv",
}


def _beside_runs(place: Place) -> None:
    """A link to the runs, and thresholds."""
    (place / "link").symlink_to(TABLE)
    place.file("own.csv", (ROOT / "exp_setups.csv").read_bytes())


test_what_must_not_be_written_over = attacks(
    *(
        Attack(f"over its input: {what}", words, prepare=prepare)
        for what, words, prepare in (
            *(
                (what, f"{SUMMARIZE} {words}", bringing(TABLE, then=_beside_runs))
                for what, words in OVER_RUNS.items()
            ),
            (
                "a summary of judged runs",
                f"summarize --solved-csv {{tmp}}/judged.csv {TO}/judged.csv",
                lambda p: p.file("judged.csv", JUDGED),
            ),
            (
                "weights",
                f"expand_weights --csv {{tmp}}/w.csv {TO}/w.csv",
                lambda p: p.file("w.csv", WEIGHTS),
            ),
            (
                "an export",
                f"{EXPORT} {TO}/events",
                bringing(
                    RUNS,
                    then=lambda p: (p / "events").symlink_to(next((p / RUNS).rglob("events*"))),
                ),
            ),
        )
    ),
    Attack(
        "a summary over its runs, by another name of the file",
        f"{SUMMARIZE} {TO}/hard",
        prepare=bringing(TABLE, then=lambda p: os.link(p / TABLE, p / "hard")),
        code=(0, 2),
        writes=("hard",),
        check=_runs_are_kept,
    ),
    *(
        Attack(what, f"plot --csv {{tmp}}/{TABLE} {words}", says, bringing(TABLE))
        for what, words, says in (
            ("a figure that leaves its folder", "--out-dir {tmp}/out --name ../x", "--name"),
            ("figures into a file", f"--out-dir {{tmp}}/{TABLE}", "cannot write"),
        )
    ),
    Attack(
        "a sweep that leaves its folder",
        "pretrained_model_prediction_sweep --step-size 3 --operation mul --layer-type "
        "ReRegualizedLinearMNAC --model-filepath {tmp}/m.pth --csv-save-folder {tmp}/out "
        "--csv-save-filename ../x",
        "--csv-save-filename",
        bringing(MODELS, then=lambda p: (p / "m.pth").symlink_to(next((p / MODELS).iterdir()))),
    ),
    Attack(
        "a sweep into a file",
        "pretrained_model_prediction_sweep --gold-outputs --step-size 3 "
        "--csv-save-folder {tmp}/file",
        "{tmp}/file",
        put("file"),
    ),
    Attack(
        "folders of pairs into a file",
        "two_digit_mnist_reader --tensorboard-dir {tmp}/tensorboard --from-parent-folder "
        "--csv-out {tmp}/file",
        "--csv-out",
        bringing(RUNS, then=put("file")),
    ),
)
