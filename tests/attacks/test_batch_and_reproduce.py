"""The two commands above the scripts: sites, and pages that are there."""

from collections.abc import Callable

from tests.attacks.harness import ROOT, Attack, Place, attacks
from tests.attacks.subjects import put

KEY = "nips-sltr-in2"
PRINT = f"batch {KEY} 0 1 --scheduler print"


LINE_BREAK = "holds a line break; write one line"
SITES: dict[str | bytes, str] = {
    'host = "a"': "unknown entry 'host'; known are scheduler, partition",
    '[slurm]\npartition = "x"': "unknown entry 'slurm'; known are",
    "partition = 5": 'partition is a text; write partition = "…"',
    "account = true": 'account is a text; write account = "…"',
    "modules = [1, 2]": 'modules is a list of texts; write modules = ["…"]',
    'options = "no"': "options: 'no' is not an option of sbatch or bsub; write such as",
    'scheduler = "slrum"': "scheduler 'slrum' is not a choice; did you mean slurm?",
    'partition = "a\\n#SBATCH --wrap=x"': LINE_BREAK,
    'options = ["--qos=a\\nrm -rf x"]': f"options: ['--qos=a\\nrm -rf x'] {LINE_BREAK}",
    'log_dir = "a\\nb"': f"log_dir: 'a\\nb' {LINE_BREAK}",
    'time = "720"': "'720' is not a time; write hours and minutes, such as 12:00",
    "time = 12": 'time is a text; write time = "12:00"',
    "memory = 0": "memory is a whole number of GB from 1 on; write memory = 8",
    "gpus = 2": "gpus is 0 or 1; write gpus = 1",
    'queue = "a"\nqueue = "b"': "",
    b'partition = "\xff"': "",
    'partition = "a"'.encode("utf-16"): "",
    b'partition = "a\x00"': "",
}
"""A site file, and what is said of it: of what is no TOML, what Python says."""

SITE = f"{PRINT} --site {{tmp}}/site.toml"


def site(content: str | bytes) -> Callable[[Place], object]:
    return lambda place: place.file("site.toml", content)


test_sites = attacks(
    *(Attack(f"site: {text!r}", SITE, ("site.toml: ", SITES[text]), site(text)) for text in SITES),
    Attack("site: not there", f"{PRINT} --site {{tmp}}/none.toml", ("--site", "none.toml")),
    Attack(
        "site: not there, by the environment",
        PRINT,
        ("none.toml", "STABLE_NALU_SITE"),
        env={"STABLE_NALU_SITE": "{tmp}/none.toml"},
    ),
    Attack("a partition with a line break", f"{PRINT} --partition 'a\n#SBATCH -x'", LINE_BREAK),
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
)

MARKED = b'\xef\xbb\xbfsetup = ["echo batch-1"]\n'
STATUS = f"batch {KEY} 0 1 --status"
test_what_changes_nothing = attacks(
    Attack("site: a byte order mark", SITE, "batch-1", site(MARKED), code=0),
    Attack(
        "a status of foreign folders",
        STATUS,
        "missing",
        put("tensorboard/single_layer_ds/notes.txt"),
        code=0,
    ),
    Attack("a dry run of every seed", f"batch {KEY} --dry-run --seeds 0-99", "0-", code=0),
    Attack(
        "a dry reproduction",
        f"reproduce {KEY} --dry-run --out {{tmp}}/new",
        "export TENSORBOARD_DIR={tmp}/new",
        code=0,
    ),
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
NO_RESULTS = {"empty": b"", "a page": b"<html></html>\n", "other columns": b"a,b\n1,2\n"}
test_pages = attacks(
    Attack("over a file beside its data", BESIDE, "--report-out", kept(then=put("own/README.md"))),
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
