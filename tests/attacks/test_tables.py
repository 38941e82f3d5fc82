"""Tables that are damaged, foreign or put together by hand, for every script that reads one."""

from collections.abc import Callable

from tests.attacks.harness import Attack, Outcome, Place, attacks
from tests.attacks.subjects import RUNS, TABLE, bringing
from tests.exported import EXPORTED

HEADER = ",".join(EXPORTED) + "\n"
LEAF = (
    "reregualizedlinearmnac_op-mul_oob-c_rs-linear-linear_eps-0_rl-20000-35000_r-10-0-1_i-1-2_"
    "e-2-6_z-2-0.5-0.0_b128_s{seed}_h2_z2_lr-adam-0.00100-0.0"
)


def row(*cells: object, seed: int = 0) -> str:
    return ",".join([LEAF.format(seed=seed), *map(str, cells)]) + "\n"


GOOD = row(0.1, 0, 1.5, 1, 0.5) + row(1e-9, 1000, 2.5, 1e-9, 1e-4)

DAMAGED: dict[str, str | bytes] = {
    "empty": "",
    "a header alone": HEADER,
    "no header": GOOD,
    "other columns": "a,b\n1,2\n",
    "a column too few in the header": HEADER.replace(",wall.time", "") + GOOD,
    "a ragged row": HEADER + GOOD + "x,1,2\n",
    "a row with too much": HEADER + GOOD + row(1, 2, 3, 4, 5, 6, 7),
    "a word for an error": HEADER + GOOD + row(0.1, 2000, 2.5, "small", 0.1),
    "a word for a step": HEADER + GOOD + row(0.1, "last", 2.5, 0.1, 0.1),
    "a test error below 0": HEADER + GOOD + row(0.1, 2000, 2.5, -0.1, 0.1),
    "half a step": HEADER + GOOD + row(0.1, 1000.5, 2.5, 0.1, 0.1),
    "a column twice": "\n".join(
        f"{line},{line.split(',')[4]}" for line in (HEADER + GOOD).splitlines()
    ),
    "a date for a step": HEADER + row(0.1, "2024-01-01", 1.5, 1, 0.5),
    "an unparsable name": HEADER + "something,0.1,0,1.5,1,0.5\n",
    "an open quote": HEADER + GOOD + '"' + GOOD,
    "not UTF-8": (HEADER + GOOD).encode() + b"\xff\xfe,1,2,3,4,5\n",
    "a picture": b"\x89PNG\r\n\x1a\n" + bytes(range(256)),
    "semicolons": (HEADER + GOOD).replace(",", ";"),
    "cut off in a row": (HEADER + GOOD + GOOD)[:-40],
}

RIGHT: dict[str, str | bytes] = {
    "a byte order mark": b"\xef\xbb\xbf" + (HEADER + GOOD).encode(),
    "line ends of Windows": (HEADER + GOOD).replace("\n", "\r\n"),
    "quotes": (HEADER + GOOD).replace(LEAF.format(seed=0), f'"{LEAF.format(seed=0)}"'),
    "columns in another order": "\n".join(
        ",".join(line.split(",")[i] for i in (3, 0, 2, 1, 5, 4))
        for line in (HEADER + GOOD).splitlines()
    ),
    "another column": "\n".join(line + ",note" for line in (HEADER + GOOD).splitlines()),
    "infinite errors": HEADER + row("inf", 0, 1.5, "inf", 0.5) + row(1e-9, 1000, 2.5, 1e-9, 1e-4),
    "rows out of order": HEADER + "".join(reversed(GOOD.splitlines(keepends=True))),
}

READERS = {
    "summarize": "summarize --csv {tmp}/x.csv --csv-out {tmp}/out.csv",
    "verdict": "verdict --csv {tmp}/x.csv",
    "plot": "plot --csv {tmp}/x.csv --out-dir {tmp}/out --format png",
}
FINE_FOR_A_VERDICT = ("an unparsable name", "a word for a step", "a date for a step")
"""It reads no names, and of numbers only those that decide."""


def putting(content: str | bytes) -> Callable[[Place], object]:
    return lambda place: place.file("x.csv", content)


test_damaged_tables = attacks(
    Attack(f"{reader}: {what}", words, "{tmp}/x.csv", putting(content))
    for reader, words in READERS.items()
    for what, content in DAMAGED.items()
    if not (reader == "verdict" and what in FINE_FOR_A_VERDICT)
)


def _same_as_without(place: Place, outcome: Outcome) -> None:
    """One run, solved at step 1000."""
    if not (place / "out.csv").exists():
        assert outcome.out.startswith("success: solved at step 1000 ")
        return
    text = (place / "out.csv").read_text()
    assert ',1,"' not in text
    assert "U[1,2]" in text
    assert ",1000," in text


test_tables_that_look_odd_and_are_right = attacks(
    *(
        Attack(
            f"{reader}: {what}",
            READERS[reader],
            prepare=putting(content),
            code=0,
            writes=("out.csv",),
            check=_same_as_without,
        )
        for reader in ("summarize", "verdict")
        for what, content in RIGHT.items()
    ),
    *(
        Attack(
            f"plot: {what}",
            READERS["plot"],
            prepare=putting(RIGHT[what]),
            code=0,
            writes=("out", "out/*"),
        )
        for what in ("a byte order mark", "line ends of Windows")
    ),
)

WHERE: dict[str, tuple[str, Callable[[Place], object] | None]] = {
    "a table that is not there": ("{tmp}/none.csv", None),
    "a folder for a table": ("{tmp}/here", None),
    "a link to nothing": ("{tmp}/link", lambda p: (p / "link").symlink_to("none.csv")),
    "an event file for a table": (
        "{tmp}/events",
        bringing(RUNS, then=lambda p: (p / "events").symlink_to(next((p / RUNS).rglob("events*")))),
    ),
    "the null device for a table": ("/dev/null", None),
}
test_tables_that_are_not_there = attacks(
    Attack(f"{reader}: {what}", words.replace("{tmp}/x.csv", path), prepare=prepare)
    for reader, words in READERS.items()
    for what, (path, prepare) in WHERE.items()
)


HOW = {
    "summarize": {
        "threshold of nothing": ("--threshold 0", "--threshold"),
        "negative threshold": ("--threshold -1", "--threshold"),
        "threshold that is not a number": ("--threshold nan", "--threshold"),
        "best range of nothing": ("--best-range 0", "--best-range"),
        "no samples": ("--plain --bootstrap-samples 0", "--bootstrap-samples"),
        "unknown option to group by": ("--by colour", "colour"),
        "too many labels": ("--models a b", "models"),
        "unknown parameter": ("--parameter no.such", "no.such"),
        "unknown fit": ("--gamma-fit best", "--gamma-fit"),
        "thresholds from nowhere": ("--exp-setups none.csv", "none.csv"),
        "thresholds from the runs": ("--exp-setups {tmp}/x.csv", "x.csv"),
    },
    "verdict": {
        "an infinite threshold": ("--threshold inf", "--threshold"),
        "threshold of nothing": ("--threshold 0", "--threshold"),
    },
    "plot": {
        "threshold of nothing": ("--threshold 0", "--threshold"),
        "negative threshold": ("--threshold -1", "--threshold"),
        "threshold that is not a number": ("--threshold nan", "--threshold"),
        "unknown column": ("--kind sweep --column colour", "colour"),
        "thresholds from nowhere": ("--exp-setups none.csv", "none.csv"),
    },
}
EXPAND = "expand_weights --csv {tmp}/x.csv"
THRESHOLDS = "generate_exp_setups --csv-out {tmp}/x"
test_how_tables_are_to_be_read = attacks(
    *(
        Attack(f"{reader} {what}", f"{READERS[reader]} {words}", says, putting(HEADER + GOOD))
        for reader, cases in HOW.items()
        for what, (words, says) in cases.items()
    ),
    Attack(
        "summarize a file twice",
        "summarize --csv {tmp}/x.csv {tmp}/x.csv --csv-out {tmp}/out.csv",
        "--models",
        putting(HEADER + GOOD),
    ),
    Attack("weights without steps", EXPAND, "x.csv", putting(HEADER + GOOD)),
    Attack("weights in words", EXPAND, "x.csv", putting("name,step,param.W.0\nx,100000,much\n")),
    *(
        Attack(f"thresholds of {what}", f"{THRESHOLDS} {words}", says)
        for what, words, says in (
            ("no table", "--tables singlelayer", ("--tables", "single-layer")),
            ("tables that do not go together", "--tables sequential benchmark", "--tables"),
            ("an epsilon of 1", "--epsilon 1", "--epsilon"),
        )
    ),
    Attack(
        "a name that a spreadsheet executes",
        READERS["verdict"],
        prepare=putting(HEADER + "\"=cmd|'/C calc'!A0\",1e-9,0,1,1e-9,0\n"),
        code=0,
    ),
)

SOLVED = "group,seed,solved,extrapolation.step.solved,sparse.error.max\n"
JUDGED = {
    "empty": "",
    "a word for a verdict": SOLVED + "a,0,maybe,NA,0\n",
    "a missing verdict": SOLVED + "a,0,,NA,0\n",
    "a word for a step": SOLVED + "a,0,1,soon,0\n",
    "solved without a step": SOLVED + "a,0,1,NA,0\n",
    "concatenated": SOLVED + "a,0,1,5,0\n" + SOLVED + "a,1,1,5,0\n",
}
test_judged_runs = attacks(
    Attack(
        f"judged: {what}",
        "summarize --solved-csv {tmp}/x.csv --csv-out {tmp}/out.csv",
        "{tmp}/x.csv",
        putting(content),
    )
    for what, content in JUDGED.items()
)


def test_the_table_of_the_finished_runs_is_right(place):
    place.bring(TABLE)
    assert len((place / TABLE).read_text().splitlines()) == 7
