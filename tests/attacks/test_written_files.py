"""Where results are written: devices, links, folders, pipes and files that are in the way."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

from tests.attacks.harness import Attack, Place, attacks
from tests.attacks.subjects import MODELS, RUNS, TABLE, rows

Writer = tuple[tuple[str, ...], str, str]

WRITERS: dict[str, Writer] = {
    "summarize": (("summarize", "--csv", f"{{tmp}}/{TABLE}"), "--csv-out", "success.rate"),
    "summarize by run": (
        ("summarize", "--csv", f"{{tmp}}/{TABLE}", "--csv-out", "{tmp}/here/summary.csv"),
        "--seeds-csv-out",
        "solved",
    ),
    "export": (
        ("simple_function_static_export", "--tensorboard-dir", f"{{tmp}}/{RUNS}"),
        "--csv-out",
        "metric.valid.interpolation",
    ),
    "thresholds": (("generate_exp_setups", "--tables", "sequential"), "--csv-out", "operation"),
    "small divisors": (("generate_divBy0_extrap_thresholds",), "--csv-out", "test.mse"),
    "weights": (("weight_distribution", "--init", "nac"), "--csv-out", "bin.low"),
    "solutions": (("generate_dataset_solution_indexes",), "--csv-out", "index.1"),
}
"""Name -> the command, its flag of the file, and a word of the file's first line."""

SLOW = ("small divisors",)
"""Writers that take long: a few attacks only."""

FEW = ("a folder", "a link", "a full device")


def full_device(path: Path) -> None:
    """A device that takes nothing: the test's own, lest a fault costs the machine its own."""
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 7))
    except PermissionError:
        # Who may not make one cannot replace one either.
        path.symlink_to("/dev/full")


def link(name: str, target: str) -> Callable[[Place], object]:
    return lambda place: (place / name).symlink_to(place / target)


def is_table(name: str, word: str, kept: str | None = None) -> Callable[..., None]:
    """The file holds the table; `kept` is a link that is still one."""

    def check(place, outcome):
        assert word in (place / name).read_text().splitlines()[0]
        assert kept is None or (place / kept).is_symlink()
        leftovers = [p for p in (place / name).parent.iterdir() if p.name.startswith(".")]
        assert not leftovers

    return check


def refusals(name: str, writer: Writer):
    words, flag, _ = writer
    for what, target, prepare in (
        ("a folder", "{tmp}/folder", lambda p: (p / "folder").mkdir()),
        ("a folder that holds something", "{tmp}/here", None),
        ("a full device", "{tmp}/full", lambda p: full_device(p / "full")),
        (
            "a link to a full device",
            "{tmp}/link",
            lambda p: (full_device(p / "full"), (p / "link").symlink_to("full")),
        ),
        ("a link to a folder", "{tmp}/link", link("link", "here")),
        ("a link in a circle", "{tmp}/circle", link("circle", "circle")),
        ("a pipe that nobody reads", "{tmp}/pipe", lambda p: os.mkfifo(p / "pipe")),
        ("below a file", "{tmp}/file/x.csv", lambda p: p.file("file", "kept")),
        ("below a device", "/dev/null/x.csv", None),
        ("below the kernel", "/proc/none/x.csv", None),
        ("a name that is too long", "{tmp}/" + "n" * 300 + ".csv", None),
        ("a path that is too long", "{tmp}/" + "/".join(["n" * 200] * 25), None),
        ("nothing", "", None),
        ("the folder itself", ".", None),
        ("the root", "/", None),
    ):
        if name in SLOW and what not in FEW:
            continue
        if what == "nothing" and name == "summarize by run":
            continue
        yield Attack(f"{name}: {what}", (*words, f"{flag}={target}"), prepare=_with_runs(prepare))


def _with_runs(prepare: Callable[[Place], object] | None) -> Callable[[Place], object]:
    def bring(place: Place) -> None:
        place.bring(TABLE, RUNS)
        if prepare is not None:
            prepare(place)

    return bring


def successes(name: str, writer: Writer):
    words, flag, word = writer

    def right(what, target, file, prepare=None, kept=None):
        writes = (file, *(("here/summary.csv",) if name == "summarize by run" else ()))
        folders = [file.rsplit("/", n)[0] for n in range(1, file.count("/") + 1)]
        return Attack(
            f"{name}: {what}",
            (*words, f"{flag}={target}"),
            prepare=_with_runs(prepare),
            code=0,
            writes=(*writes, *folders),
            check=is_table(file, word, kept),
        )

    yield right("a link", "{tmp}/link", "here/x.csv", link("link", "here/x.csv"), "link")
    if name in SLOW:
        return
    yield right(
        "a link to a file with something in it",
        "{tmp}/link",
        "old.csv",
        lambda p: (p.file("old.csv", "old\n"), (p / "link").symlink_to("old.csv")),
        "link",
    )
    yield right("a file that is there", "{tmp}/x.csv", "x.csv", lambda p: p.file("x.csv", "old\n"))
    yield right("new folders", "{tmp}/a/b/c/x.csv", "a/b/c/x.csv")
    yield right("a path of its own folder", "x.csv", "here/x.csv")
    yield right("a path upwards", "../here/../up.csv", "up.csv")
    yield right("blanks and quotes", "{tmp}/a 'b' \"c\".csv", "a 'b' \"c\".csv")
    yield right("other letters", "{tmp}/größe-数.csv", "größe-数.csv")
    yield right("letters of no alphabet", "{tmp}/\udcff.csv", "\udcff.csv")
    yield right("a leading dash", "-x.csv", "here/-x.csv")
    yield right("a leading equals sign", "==1+1.csv", "here/==1+1.csv")
    yield right("a line break", "{tmp}/a\nb.csv", "a\nb.csv")
    yield right("the longest name", "{tmp}/" + "n" * 251 + ".csv", "n" * 251 + ".csv")


def streams(name: str, writer: Writer):
    words, flag, word = writer

    def check(place, outcome):
        assert word in outcome.out.splitlines()[0]

    for stream in ("-", "/dev/stdout"):
        writes = ("here/summary.csv",) if name == "summarize by run" else ()
        yield Attack(
            f"{name}: {stream}",
            (*words, f"{flag}={stream}"),
            prepare=_with_runs(None),
            code=0,
            writes=writes,
            check=check,
        )


CASES = [
    case
    for name, writer in WRITERS.items()
    for make in (refusals, successes, streams)
    for case in make(name, writer)
    if not (name in SLOW and make is streams)
]


@attacks(CASES)
def test_where_tables_are_written(case, place):
    place.hold(case)


@attacks(
    [
        Attack(
            "a summary over its runs",
            ("summarize", "--csv", "{tmp}/runs.csv", "--csv-out", "{tmp}/runs.csv"),
            prepare=lambda p: p.bring(TABLE),
        ),
        Attack(
            "a summary over its runs, by another path",
            ("summarize", "--csv", "{tmp}/runs.csv", "--csv-out", "../here/../runs.csv"),
            prepare=lambda p: p.bring(TABLE),
        ),
        Attack(
            "a summary over its runs, by a link",
            ("summarize", "--csv", "{tmp}/runs.csv", "--csv-out", "{tmp}/link"),
            prepare=lambda p: (p.bring(TABLE), (p / "link").symlink_to("runs.csv")),
        ),
        Attack(
            "a summary over its runs, by another name of the file",
            ("summarize", "--csv", "{tmp}/runs.csv", "--csv-out", "{tmp}/hard"),
            prepare=lambda p: (p.bring(TABLE), os.link(p / "runs.csv", p / "hard")),
            code=(0, 2),
            writes=("hard",),
            check=lambda p, o: _runs_are_kept(p),
        ),
        Attack(
            "judged runs over the exported ones",
            (
                *("summarize", "--csv", "{tmp}/runs.csv", "--csv-out", "{tmp}/x.csv"),
                *("--seeds-csv-out", "{tmp}/runs.csv"),
            ),
            prepare=lambda p: p.bring(TABLE),
        ),
        Attack(
            "both tables into one file",
            (
                *("summarize", "--csv", "{tmp}/runs.csv", "--csv-out", "{tmp}/x.csv"),
                *("--seeds-csv-out", "{tmp}/x.csv"),
            ),
            prepare=lambda p: p.bring(TABLE),
        ),
        Attack(
            "a summary over its thresholds",
            (
                *("summarize", "--csv", "{tmp}/runs.csv", "--csv-out", "{tmp}/own.csv"),
                *("--exp-setups", "{tmp}/own.csv"),
            ),
            prepare=lambda p: (
                p.bring(TABLE),
                p.run("generate_exp_setups", "--tables", "benchmark", "--csv-out={tmp}/own.csv"),
            ),
        ),
        Attack(
            "a summary over judged runs",
            ("summarize", "--solved-csv", "{tmp}/judged.csv", "--csv-out", "{tmp}/judged.csv"),
            prepare=lambda p: p.file(
                "judged.csv",
                "group,seed,solved,extrapolation.step.solved,sparse.error.max\na,0,1,10,0.1\n",
            ),
        ),
        Attack(
            "weights over the export",
            ("expand_weights", "--csv", "{tmp}/w.csv", "--csv-out", "{tmp}/w.csv"),
            prepare=lambda p: p.file("w.csv", WEIGHTS),
        ),
        Attack(
            "an export over an event file",
            (
                *("simple_function_static_export", "--tensorboard-dir", f"{{tmp}}/{RUNS}"),
                *("--csv-out", "{tmp}/events"),
            ),
            prepare=lambda p: (
                p.bring(RUNS),
                (p / "events").symlink_to(next((p / RUNS).rglob("events*"))),
            ),
        ),
        Attack(
            "a figure that leaves its folder",
            ("plot", "--csv", "{tmp}/runs.csv", "--out-dir", "{tmp}/out", "--name", "../x"),
            ("--name",),
            prepare=lambda p: p.bring(TABLE),
        ),
        Attack(
            "a figure with an absolute name",
            ("plot", "--csv", "{tmp}/runs.csv", "--out-dir", "{tmp}/out", "--name", "{tmp}/x"),
            ("--name",),
            prepare=lambda p: p.bring(TABLE),
        ),
        Attack(
            "a figure without a name",
            ("plot", "--csv", "{tmp}/runs.csv", "--out-dir", "{tmp}/out", "--name="),
            ("--name",),
            prepare=lambda p: p.bring(TABLE),
        ),
        Attack(
            "a figure with too long a name",
            ("plot", "--csv", "{tmp}/runs.csv", "--out-dir", "{tmp}/out", "--name", "n" * 300),
            ("cannot write", "too long"),
            prepare=lambda p: p.bring(TABLE),
        ),
        Attack(
            "figures into a file",
            ("plot", "--csv", "{tmp}/runs.csv", "--out-dir", "{tmp}/runs.csv"),
            ("cannot write",),
            prepare=lambda p: p.bring(TABLE),
        ),
        Attack(
            "figures into a device",
            ("plot", "--csv", "{tmp}/runs.csv", "--out-dir", "/dev/null"),
            ("cannot write",),
            prepare=lambda p: p.bring(TABLE),
        ),
        Attack(
            "a sweep that leaves its folder",
            (
                *("pretrained_model_prediction_sweep", "--step-size", "3", "--operation", "mul"),
                *("--layer-type", "ReRegualizedLinearMNAC", "--model-filepath", "{tmp}/m.pth"),
                *("--csv-save-folder", "{tmp}/out", "--csv-save-filename", "../x"),
            ),
            ("--csv-save-filename",),
            prepare=lambda p: (
                p.bring(MODELS),
                (p / "m.pth").symlink_to(next((p / MODELS).iterdir())),
            ),
        ),
        Attack(
            "a sweep into a file",
            (
                *("pretrained_model_prediction_sweep", "--gold-outputs", "--step-size", "3"),
                *("--csv-save-folder", "{tmp}/file"),
            ),
            ("{tmp}/file",),
            prepare=lambda p: p.file("file", "kept"),
        ),
        Attack(
            "folders of pairs into a file",
            (
                *("two_digit_mnist_reader", "--tensorboard-dir", "{tmp}/tensorboard"),
                *("--from-parent-folder", "--csv-out", "{tmp}/file"),
            ),
            ("--csv-out",),
            prepare=lambda p: (p.bring(RUNS), p.file("file", "kept")),
        ),
    ]
)
def test_what_must_not_be_written_over(case, place):
    place.hold(case)


WEIGHTS = (
    "name,step,param.W.0\nreregualizedlinearmnac_op-mul_oob-c_rs-linear-linear_eps-0_rl-1-2_r-10-0-1_"
    "i-1-2_e-2-6_z-2-0.5-0.0_b128_s0_h2_z2_lr-adam-0.00100-0.0,100000,0.5\n"
)


def _runs_are_kept(place: Place) -> None:
    assert len(rows(place / TABLE)) == 6
