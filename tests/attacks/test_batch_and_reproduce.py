"""The two commands above the scripts: keys, models, seeds, sites, and pages that are there."""

from __future__ import annotations

from pathlib import Path

from tests.attacks.harness import ROOT, Attack, Place, attacks

KEY = "nips-sltr-in2"
PRINT = ("batch", KEY, "0", "1", "--scheduler", "print")


def batch(name, says, *words):
    return Attack(f"batch: {name}", ("batch", *words), says)


def reproduce(name, says, *words):
    return Attack(f"reproduce: {name}", ("reproduce", *words), says)


@attacks(
    [
        batch("seeds that run backwards", ("24", "0"), KEY, "24", "0", "--dry-run"),
        batch("seeds in words", ("a",), KEY, "a", "b", "--dry-run"),
        batch("one seed alone", ("0",), KEY, "0", "--dry-run"),
        batch("a half seed", ("0.5",), KEY, "0", "0.5", "--dry-run"),
        batch("negative seeds", ("-",), KEY, "--dry-run", "--", "-3", "-1"),
        batch("a seed too large", ("seed",), KEY, *[str(2**32)] * 2, "--dry-run"),
        batch("too many words", ("'3'",), KEY, "0", "1", "2", "3", "4", "--dry-run"),
        batch("seeds twice over", ("--seeds",), KEY, "0", "1", "--seeds", "0-1", "--dry-run"),
        batch("seeds that are none", ("--seeds",), KEY, "--seeds", "x", "--dry-run"),
        batch("seeds of nothing", ("--seeds",), KEY, "--seeds=", "--dry-run"),
        batch("the same seed twice", ("--seeds",), KEY, "--seeds", "1,1", "--dry-run"),
        batch("a scheduler with a slip", ("did you mean slurm",), KEY, "--scheduler", "slrum"),
        batch("a scheduler that is none", ("--scheduler", "lsf"), KEY, "--scheduler", "pbs"),
        batch("a key with a slip", ("did you mean",), "nips-sltr-in22"),
        batch("a key that is none", ("xyzzy",), "xyzzy"),
        batch("a key in capitals", (KEY,), KEY.upper(), "--dry-run"),
        batch("nothing for a key", ("--list",), ""),
        batch("a path for a key", ("--list",), "../../etc/passwd"),
        batch("a model with a slip", ("nmru",), KEY, "--model", "nmruu", "--dry-run"),
        batch("a model that is none", ("nru",), KEY, "--model", "xyzzy", "--dry-run"),
        batch("no iterations", ("--max-iterations",), KEY, "--max-iterations", "-1", "--dry-run"),
        batch("half an iteration", ("--max-iterations",), KEY, "--max-iterations", "0.5"),
        batch("shards of nothing", ("--runs-per-task",), KEY, "--runs-per-task", "0", "--dry-run"),
        batch("negative shards", ("--runs-per-task",), KEY, "--runs-per-task", "-1", "--dry-run"),
        batch("no jobs", ("--jobs",), KEY, "--jobs", "0", "--dry-run"),
        batch("negative jobs", ("--jobs",), KEY, "--jobs", "-2", "--dry-run"),
        batch("a negative shard", ("--task",), KEY, "--task", "-1"),
        batch("a shard in words", ("--task",), KEY, "--task", "first"),
        batch("a switch with a value", ("--resume",), KEY, "--resume=yes", "--dry-run"),
        reproduce("a key with a slip", ("did you mean",), "nips-sltr-in22"),
        reproduce("a key that is none", ("--list",), "xyzzy"),
        reproduce("nothing for a key", ("--list",), ""),
        reproduce("two keys", ("nips-sltr-in10",), KEY, "nips-sltr-in10", "--dry-run"),
        reproduce("a format that is none", ("--format", "png"), KEY, "--format", "svg"),
        reproduce("no format", ("--format",), KEY, "--format"),
        reproduce("a model with a slip", ("nmru",), KEY, "--model", "nmruu", "--dry-run"),
        reproduce("seeds that are none", ("--seeds",), KEY, "--seeds", "x", "--dry-run"),
        reproduce("seeds of nothing", ("--seeds",), KEY, "--seeds=", "--dry-run"),
        reproduce("seeds that run backwards", ("--seeds", "0-3"), KEY, "--seeds", "3-0"),
        reproduce("the same seed twice", ("--seeds",), KEY, "--seeds", "1,1", "--dry-run"),
        reproduce("no iterations", ("--max-iterations",), KEY, "--max-iterations", "-1"),
        reproduce("no jobs", ("--jobs",), KEY, "--jobs", "0", "--dry-run"),
        reproduce("negative jobs", ("--jobs",), KEY, "--jobs", "-1", "--dry-run"),
    ]
)
def test_words(case, place):
    place.hold(case)


SITES: dict[str, str | bytes] = {
    "an unknown entry": 'partitoin = "x"\n',
    "an unknown table": '[slurm]\npartition = "x"\n',
    "a number for a text": "partition = 5\n",
    "a truth for a text": "account = true\n",
    "a list for a text": 'queue = ["a"]\n',
    "numbers in a list": "modules = [1, 2]\n",
    "a list in a list": 'setup = [["a"]]\n',
    "a text for the options": 'options = "no"\n',
    "a scheduler that is none": 'scheduler = "slrum"\n',
    "a line break in a partition": 'partition = "a\\n#SBATCH --wrap=x"\n',
    "a line break in an option": 'options = ["--qos=a\\nrm -rf x"]\n',
    "a line break in a folder": 'log_dir = "a\\nb"\n',
    "an entry twice": 'queue = "a"\nqueue = "b"\n',
    "no TOML": "partition: batch\n",
    "an open quote": 'partition = "batch\n',
    "not UTF-8": b'partition = "\xff"\n',
    "UTF-16": 'partition = "a"\n'.encode("utf-16"),
    "null bytes": b'partition = "a\x00"\n',
    "a page": "<html></html>\n",
}


@attacks(
    [
        *(
            Attack(
                f"site: {what}",
                (*PRINT, "--site", "{tmp}/site.toml"),
                ("site.toml",),
                lambda p, content=content: p.file("site.toml", content),
            )
            for what, content in SITES.items()
        ),
        Attack("site: not there", (*PRINT, "--site", "{tmp}/none.toml"), ("--site", "none.toml")),
        Attack("site: a folder", (*PRINT, "--site", "{tmp}/here"), ("--site",)),
        Attack("site: nothing", (*PRINT, "--site="), ("--site",)),
        Attack(
            "site: not there, by the environment",
            PRINT,
            ("none.toml", "STABLE_NALU_SITE"),
            env={"STABLE_NALU_SITE": "{tmp}/none.toml"},
        ),
        Attack(
            "a partition with a line break",
            (*PRINT, "--partition", "a\n#SBATCH --wrap=x"),
            ("partition",),
        ),
        Attack(
            "an account with a line break",
            ("batch", KEY, "0", "1", "--scheduler", "print", "--account", "a\nb"),
            ("account",),
        ),
        *(
            Attack(
                f"no {command} on this machine",
                (
                    *("batch", KEY, "0", "1", "--scheduler", scheduler),
                    *("--log-dir", "{tmp}/logs"),
                ),
                ("--scheduler",),
                env={"PATH": "{tmp}/here"},
                writes=("logs*",),
            )
            for scheduler, command in (("slurm", "sbatch"), ("lsf", "bsub"))
        ),
        Attack(
            "a log folder below a file",
            (
                *("batch", KEY, "0", "1", "--scheduler", "slurm", "--log-dir", "{tmp}/f/logs"),
                *("--site", "{tmp}/s.toml"),
            ),
            ("{tmp}/f",),
            lambda p: (p.file("f", "mine"), p.file("s.toml", "")),
            env={"PATH": "{tmp}/here"},
        ),
    ]
)
def test_sites(case, place):
    place.hold(case)


def _quoted(*texts: str):
    def check(place, outcome):
        for text in texts:
            assert text in outcome.out

    return check


@attacks(
    [
        Attack(
            "site: a byte order mark",
            (*PRINT, "--site", "{tmp}/site.toml"),
            ("batch-1",),
            lambda p: p.file("site.toml", b'\xef\xbb\xbfsetup = ["echo batch-1"]\n'),
            code=0,
        ),
        Attack(
            "site: a single text for a list of lines",
            (*PRINT, "--site", "{tmp}/site.toml"),
            ("echo mine",),
            lambda p: p.file("site.toml", 'setup = ["echo mine"]\n'),
            code=0,
        ),
        Attack(
            "a folder with blanks for the logs",
            (*PRINT, "--log-dir", "{tmp}/my logs"),
            ("my logs",),
            code=0,
        ),
        Attack("a status of nothing", ("batch", KEY, "0", "1", "--status"), ("missing",), code=0),
        Attack(
            "a status of foreign folders",
            ("batch", KEY, "0", "1", "--status"),
            ("missing",),
            lambda p: p.file("tensorboard/single_layer_ds/notes.txt", "mine"),
            code=0,
        ),
        Attack("a list of all scripts", ("batch", "--list"), ("neurips_2021/sltr-in2",), code=0),
        Attack(
            "seeds behind a flag",
            ("batch", KEY, "--dry-run", "0", "1"),
            ("0-1",),
            code=0,
        ),
        Attack(
            "a dry run of every seed",
            ("batch", KEY, "--dry-run", "--seeds", "0-99"),
            ("0-",),
            code=0,
        ),
        Attack(
            "a dry reproduction",
            ("reproduce", KEY, "--dry-run", "--out", "{tmp}/new"),
            ("export TENSORBOARD_DIR={tmp}/new",),
            code=0,
        ),
        Attack("a list of all figures", ("reproduce", "--list"), (KEY,), code=0),
    ]
)
def test_what_changes_nothing(case, place):
    place.hold(case)


STORED = ROOT / "docs/reproduction/data/simple_mul.csv"


def kept(place: Place, content: bytes | None = None) -> Path:
    """Kept results of one figure in a folder of their own."""
    return place.file(
        "own/data/simple_mul.csv", STORED.read_bytes() if content is None else content
    )


REPORT = ("reproduce", "--report", "--data", "{tmp}/own/data", "--report-out", "{tmp}/page")


@attacks(
    [
        Attack(
            "a page beside its data, over a file of the user's",
            ("reproduce", "--report", "--data", "{tmp}/own/data"),
            ("--report-out",),
            lambda p: (kept(p), p.file("own/README.md", "mine\n")),
        ),
        Attack(
            "a page beside its data",
            ("reproduce", "--report", "--data", "{tmp}/own/data"),
            ("--report-out",),
            kept,
        ),
        *(
            Attack(
                f"a page over a file of the user's: {name}",
                REPORT,
                ("--report-out",),
                lambda p, name=name: (kept(p), p.file(f"page/{name}", "mine\n")),
            )
            for name in ("README.md", "index.html", "headline.svg", "pictures/simple_mul.svg")
        ),
        Attack(
            "a page into a file",
            REPORT,
            ("{tmp}/page",),
            lambda p: (kept(p), p.file("page", "mine\n")),
        ),
        Attack(
            "a page of nothing",
            REPORT,
            ("--data",),
        ),
        *(
            Attack(
                f"a page of results that are {what}",
                REPORT,
                (".csv",),
                lambda p, content=content: kept(p, content),
            )
            for what, content in {
                "empty": b"",
                "a page": b"<html></html>\n",
                "other columns": b"a,b\n1,2\n",
                "not UTF-8": b"\xff\xfe\x00",
            }.items()
        ),
        Attack(
            "a reproduction into a file",
            ("reproduce", KEY, "--out", "{tmp}/file", "--max-iterations", "1", "--seeds", "0"),
            ("{tmp}/file",),
            lambda p: p.file("file", "mine"),
        ),
    ]
)
def test_pages(case, place):
    place.hold(case)


MARKUP = '<script>alert(1)</script> & <img src=x onerror=alert(2)> | "quoted" {{x}}'


def _escaped(place, outcome):
    page = (place / "page/index.html").read_text()
    assert page.count("&lt;script&gt;alert(1)") >= 2
    assert "<script>alert" not in page
    assert "<img src=x" not in page


@attacks(
    [
        Attack(
            "notes and reasons with markup",
            REPORT,
            prepare=lambda p: (
                p.file("own/data/simple_mul.csv", STORED.read_bytes()),
                p.file("own/notes.md", f"# Notes\n\n## simple_mul / nmu / mul\n\n{MARKUP}\n"),
                p.file("own/not_run.csv", "key,reason\n*,<script>alert(1)</script>\n"),
            ),
            code=0,
            writes=("page*",),
            check=_escaped,
        )
    ]
)
def test_markup_on_a_page(case, place):
    place.hold(case)
