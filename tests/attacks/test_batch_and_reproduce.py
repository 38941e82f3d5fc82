"""The two commands above the scripts: keys, models, seeds, sites, and pages that are there."""

from __future__ import annotations

from collections.abc import Callable

from tests.attacks.harness import ROOT, Attack, Place, attacks
from tests.attacks.subjects import put

KEY = "nips-sltr-in2"
PRINT = f"batch {KEY} 0 1 --scheduler print"


def batch(name, says, words=""):
    return Attack(f"batch: {name}", f"batch {KEY} {words}", says)


def reproduce(name, says, words=""):
    return Attack(f"reproduce: {name}", f"reproduce {KEY} {words}", says)


test_words = attacks(
    batch(
        "seeds that run backwards", "FIRST_SEED: 24 0 runs backwards; write 0 24", "24 0 --dry-run"
    ),
    batch("seeds in words", "FIRST_SEED: 'a' is not a whole number; write one", "a b --dry-run"),
    batch("one seed alone", "0", "0 --dry-run"),
    batch("a half seed", "0.5", "0 0.5 --dry-run"),
    batch("negative seeds", "-", "--dry-run -- -3 -1"),
    batch("a seed too large", "seed", f"{2**32} {2**32} --dry-run"),
    batch("too many words", "'3'", "0 1 2 3 4 --dry-run"),
    batch("seeds twice over", "--seeds", "0 1 --seeds 0-1 --dry-run"),
    batch("seeds that are none", "--seeds", "--seeds x --dry-run"),
    batch("a list of seeds backwards", "--seeds: '4-0' runs backwards; write 0-4", "--seeds 4-0"),
    batch("no time", "argument --time: '12' is not a time; write hours and", "--time 12"),
    batch("two GPUs", "argument --gpus: 2 is not a choice; choose one of 0, 1", "--gpus 2"),
    batch("the same seed twice", "--seeds", "--seeds 1,1 --dry-run"),
    batch("a scheduler with a slip", "did you mean slurm", "--scheduler slrum"),
    Attack("batch: a key with a slip", "batch nips-sltr-in22", "did you mean"),
    Attack("batch: a key in capitals", f"batch {KEY.upper()} --dry-run", KEY),
    Attack("batch: nothing for a key", "batch ''", "--list"),
    Attack(
        "batch: nothing", "batch", "NAME: no batch script or experiment is named; write one; --list"
    ),
    Attack("batch: a path for a key", "batch ../../etc/passwd", "--list"),
    batch("a model with a slip", "nmru", "--model nmruu --dry-run"),
    batch("no iterations", "--max-iterations", "--max-iterations -1 --dry-run"),
    batch("shards of nothing", "--runs-per-task", "--runs-per-task 0 --dry-run"),
    batch("no jobs", "--jobs", "--jobs 0 --dry-run"),
    batch("a negative shard", "--task", "--task -1"),
    batch("a switch with a value", "--resume", "--resume=yes --dry-run"),
    Attack("reproduce: a key that is none", "reproduce xyzzy", "--list"),
    Attack("reproduce: nothing for a key", "reproduce ''", "--list"),
    Attack(
        "reproduce: nothing", "reproduce", "argument KEY: no experiment is named; write one, --list"
    ),
    reproduce("two keys", "unexpected word 'nips-sltr-in10'; see", "nips-sltr-in10 --dry-run"),
    reproduce("a format that is none", ("--format", "png"), "--format svg"),
    reproduce("no model", "no model 'nmu'; it has realnpu_baseline", "--model nmu --dry-run"),
    reproduce("seeds of nothing", "--seeds", "--seeds= --dry-run"),
    reproduce(
        "seeds that run backwards", "--seeds: '3-0' runs backwards; write 0-3", "--seeds 3-0"
    ),
    reproduce("no iterations", "--max-iterations: -1 is too small", "--max-iterations -1"),
    reproduce("no jobs", "--jobs", "--jobs 0 --dry-run"),
)


LINE_BREAK = "holds a line break; write one line"
SITES: dict[str | bytes, str] = {
    'host = "a"': "unknown entry 'host'; known are scheduler, partition",
    'partitoin = "x"': "unknown entry 'partitoin'; did you mean partition?",
    '[slurm]\npartition = "x"': "unknown entry 'slurm'; known are",
    "partition = 5": 'partition is a text; write partition = "…"',
    "account = true": 'account is a text; write account = "…"',
    'queue = ["a"]': 'queue is a text; write queue = "…"',
    "modules = [1, 2]": 'modules is a list of texts; write modules = ["…"]',
    'setup = [["a"]]': "setup is a list of texts",
    'options = "no"': "options: 'no' is not an option of sbatch or bsub; write such as",
    'scheduler = "slrum"': "scheduler 'slrum' is not a choice; did you mean slurm?",
    'partition = "a\\n#SBATCH --wrap=x"': LINE_BREAK,
    'options = ["--qos=a\\nrm -rf x"]': f"options: ['--qos=a\\nrm -rf x'] {LINE_BREAK}",
    'log_dir = "a\\nb"': f"log_dir: 'a\\nb' {LINE_BREAK}",
    'time = "720"': "'720' is not a time; write hours and minutes, such as 12:00",
    "time = 12": 'time is a text; write time = "12:00"',
    "memory = 0": "memory is a whole number of GB from 1 on; write memory = 8",
    "memory = true": "memory is a whole number of GB from 1 on; write memory = 8",
    "gpus = true": "gpus is 0 or 1; write gpus = 1",
    "gpus = 2": "gpus is 0 or 1; write gpus = 1",
    'queue = "a"\nqueue = "b"': "",
    "partition: batch": "",
    'partition = "batch': "",
    b'partition = "\xff"': "",
    'partition = "a"'.encode("utf-16"): "",
    b'partition = "a\x00"': "",
    "<html></html>": "",
}
"""A site file, and what is said of it: of what is no TOML, what Python says."""

SITE = f"{PRINT} --site {{tmp}}/site.toml"


def site(content: str | bytes) -> Callable[[Place], object]:
    return lambda place: place.file("site.toml", content)


test_sites = attacks(
    *(Attack(f"site: {text!r}", SITE, ("site.toml: ", SITES[text]), site(text)) for text in SITES),
    Attack("site: not there", f"{PRINT} --site {{tmp}}/none.toml", ("--site", "none.toml")),
    Attack("site: a folder", f"{PRINT} --site {{tmp}}/here", "--site"),
    Attack("site: nothing", f"{PRINT} --site=", "--site"),
    Attack(
        "site: not there, by the environment",
        PRINT,
        ("none.toml", "STABLE_NALU_SITE"),
        env={"STABLE_NALU_SITE": "{tmp}/none.toml"},
    ),
    Attack("a partition with a line break", f"{PRINT} --partition 'a\n#SBATCH -x'", LINE_BREAK),
    Attack("an account with a line break", f"{PRINT} --account 'a\nb'", ("account", LINE_BREAK)),
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
