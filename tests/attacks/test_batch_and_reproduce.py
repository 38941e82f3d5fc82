"""The two commands above the scripts: keys, models, seeds, sites, and pages that are there."""

from __future__ import annotations

from collections.abc import Callable

from tests.attacks.finished import put
from tests.attacks.harness import ROOT, Attack, Place, attacks

KEY = "nips-sltr-in2"
PRINT = f"batch {KEY} 0 1 --scheduler print"


def batch(name, says, words=""):
    return Attack(f"batch: {name}", f"batch {KEY} {words}", says)


def reproduce(name, says, words=""):
    return Attack(f"reproduce: {name}", f"reproduce {KEY} {words}", says)


test_words = attacks(
    batch("seeds that run backwards", ("24", "0"), "24 0 --dry-run"),
    batch("seeds in words", "a", "a b --dry-run"),
    batch("one seed alone", "0", "0 --dry-run"),
    batch("a half seed", "0.5", "0 0.5 --dry-run"),
    batch("negative seeds", "-", "--dry-run -- -3 -1"),
    batch("a seed too large", "seed", f"{2**32} {2**32} --dry-run"),
    batch("too many words", "'3'", "0 1 2 3 4 --dry-run"),
    batch("seeds twice over", "--seeds", "0 1 --seeds 0-1 --dry-run"),
    batch("seeds that are none", "--seeds", "--seeds x --dry-run"),
    batch("seeds of nothing", "--seeds", "--seeds= --dry-run"),
    batch("the same seed twice", "--seeds", "--seeds 1,1 --dry-run"),
    batch("a scheduler with a slip", "did you mean slurm", "--scheduler slrum"),
    batch("a scheduler that is none", ("--scheduler", "lsf"), "--scheduler pbs"),
    Attack("batch: a key with a slip", "batch nips-sltr-in22", "did you mean"),
    Attack("batch: a key that is none", "batch xyzzy", "xyzzy"),
    Attack("batch: a key in capitals", f"batch {KEY.upper()} --dry-run", KEY),
    Attack("batch: nothing for a key", "batch ''", "--list"),
    Attack("batch: a path for a key", "batch ../../etc/passwd", "--list"),
    batch("a model with a slip", "nmru", "--model nmruu --dry-run"),
    batch("a model that is none", "nru", "--model xyzzy --dry-run"),
    batch("no iterations", "--max-iterations", "--max-iterations -1 --dry-run"),
    batch("half an iteration", "--max-iterations", "--max-iterations 0.5"),
    batch("shards of nothing", "--runs-per-task", "--runs-per-task 0 --dry-run"),
    batch("negative shards", "--runs-per-task", "--runs-per-task -1 --dry-run"),
    batch("no jobs", "--jobs", "--jobs 0 --dry-run"),
    batch("negative jobs", "--jobs", "--jobs -2 --dry-run"),
    batch("a negative shard", "--task", "--task -1"),
    batch("a shard in words", "--task", "--task first"),
    batch("a switch with a value", "--resume", "--resume=yes --dry-run"),
    Attack("reproduce: a key with a slip", "reproduce nips-sltr-in22", "did you mean"),
    Attack("reproduce: a key that is none", "reproduce xyzzy", "--list"),
    Attack("reproduce: nothing for a key", "reproduce ''", "--list"),
    reproduce("two keys", "nips-sltr-in10", "nips-sltr-in10 --dry-run"),
    reproduce("a format that is none", ("--format", "png"), "--format svg"),
    reproduce("no format", "--format", "--format"),
    reproduce("a model with a slip", "nmru", "--model nmruu --dry-run"),
    reproduce("seeds that are none", "--seeds", "--seeds x --dry-run"),
    reproduce("seeds of nothing", "--seeds", "--seeds= --dry-run"),
    reproduce("seeds that run backwards", ("--seeds", "0-3"), "--seeds 3-0"),
    reproduce("the same seed twice", "--seeds", "--seeds 1,1 --dry-run"),
    reproduce("no iterations", "--max-iterations", "--max-iterations -1"),
    reproduce("no jobs", "--jobs", "--jobs 0 --dry-run"),
    reproduce("negative jobs", "--jobs", "--jobs -1 --dry-run"),
)


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

SITE = f"{PRINT} --site {{tmp}}/site.toml"


def site(content: str | bytes) -> Callable[[Place], object]:
    return lambda place: place.file("site.toml", content)


test_sites = attacks(
    *(Attack(f"site: {what}", SITE, "site.toml", site(SITES[what])) for what in SITES),
    Attack("site: not there", f"{PRINT} --site {{tmp}}/none.toml", ("--site", "none.toml")),
    Attack("site: a folder", f"{PRINT} --site {{tmp}}/here", "--site"),
    Attack("site: nothing", f"{PRINT} --site=", "--site"),
    Attack(
        "site: not there, by the environment",
        PRINT,
        ("none.toml", "STABLE_NALU_SITE"),
        env={"STABLE_NALU_SITE": "{tmp}/none.toml"},
    ),
    Attack("a partition with a line break", f"{PRINT} --partition 'a\n#SBATCH -x'", "partition"),
    Attack("an account with a line break", f"{PRINT} --account 'a\nb'", "account"),
    *(
        Attack(
            f"no {command} on this machine",
            f"batch {KEY} 0 1 --scheduler {scheduler} --log-dir {{tmp}}/logs",
            "--scheduler",
            env={"PATH": "{tmp}/here"},
            writes=("logs*",),
        )
        for scheduler, command in (("slurm", "sbatch"), ("lsf", "bsub"))
    ),
    Attack(
        "a log folder below a file",
        f"batch {KEY} 0 1 --scheduler slurm --log-dir {{tmp}}/f/logs --site {{tmp}}/s.toml",
        "{tmp}/f",
        lambda p: (p.file("f", "mine"), p.file("s.toml", "")),
        env={"PATH": "{tmp}/here"},
    ),
)

MARKED = b'\xef\xbb\xbfsetup = ["echo batch-1"]\n'
STATUS = f"batch {KEY} 0 1 --status"
test_what_changes_nothing = attacks(
    Attack("site: a byte order mark", SITE, "batch-1", site(MARKED), code=0),
    Attack("site: a text for lines", SITE, "echo mine", site('setup = "echo mine"\n'), code=0),
    Attack("a folder with blanks", f"{PRINT} --log-dir '{{tmp}}/my logs'", "my logs", code=0),
    Attack("a status of nothing", STATUS, "missing", code=0),
    Attack(
        "a status of foreign folders",
        STATUS,
        "missing",
        put("tensorboard/single_layer_ds/notes.txt"),
        code=0,
    ),
    Attack("a list of all scripts", "batch --list", "neurips_2021/sltr-in2", code=0),
    Attack("seeds behind a flag", f"batch {KEY} --dry-run 0 1", "0-1", code=0),
    Attack("a dry run of every seed", f"batch {KEY} --dry-run --seeds 0-99", "0-", code=0),
    Attack(
        "a dry reproduction",
        f"reproduce {KEY} --dry-run --out {{tmp}}/new",
        "export TENSORBOARD_DIR={tmp}/new",
        code=0,
    ),
    Attack("a list of all figures", "reproduce --list", KEY, code=0),
)

STORED = ROOT / "docs/reproduction/data/simple_mul.csv"


def kept(content: bytes | None = None, then: Callable[[Place], object] | None = None):
    """Kept results of one figure in a folder of their own."""

    def prepare(place: Place) -> None:
        place.file("own/data/simple_mul.csv", STORED.read_bytes() if content is None else content)
        if then is not None:
            then(place)

    return prepare


BESIDE = "reproduce --report --data {tmp}/own/data"
REPORT = f"{BESIDE} --report-out {{tmp}}/page"
NO_RESULTS = {
    "empty": b"",
    "a page": b"<html></html>\n",
    "other columns": b"a,b\n1,2\n",
    "not UTF-8": b"\xff\xfe\x00",
}
test_pages = attacks(
    Attack("over a file beside its data", BESIDE, "--report-out", kept(then=put("own/README.md"))),
    Attack("a page beside its data", BESIDE, "--report-out", kept()),
    *(
        Attack(f"over a file: {name}", REPORT, "--report-out", kept(then=put(f"page/{name}")))
        for name in ("README.md", "index.html", "headline.svg", "pictures/simple_mul.svg")
    ),
    Attack("a page into a file", REPORT, "{tmp}/page", kept(then=put("page"))),
    Attack("a page of nothing", REPORT, "--data"),
    *(
        Attack(f"a page of results that are {what}", REPORT, ".csv", kept(content))
        for what, content in NO_RESULTS.items()
    ),
    Attack(
        "a reproduction into a file",
        f"reproduce {KEY} --out {{tmp}}/file --max-iterations 1 --seeds 0",
        "{tmp}/file",
        put("file"),
    ),
)

MARKUP = '<script>alert(1)</script> & <img src=x onerror=alert(2)> | "quoted" {{x}}'


def _escaped(place, outcome):
    page = (place / "page/index.html").read_text()
    assert page.count("&lt;script&gt;alert(1)") >= 2
    assert "<script>alert" not in page
    assert "<img src=x" not in page


test_markup_on_a_page = attacks(
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
)
