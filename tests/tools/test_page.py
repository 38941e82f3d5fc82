"""The page: its numbers follow from the kept results, by a computation of its own."""

import csv
import functools
import re
import statistics
from collections import Counter

import pytest
from scipy.stats import fisher_exact

from stable_nalu.base import papers
from stable_nalu.paper.index import EXPERIMENTS
from stable_nalu.paper.published import published, published_seeds
from stable_nalu.result import reproduce, stored
from stable_nalu.result.judged import TEST_ERROR
from stable_nalu.statistics import intervals as seeds
from stable_nalu.statistics.intervals import difference, paired_difference, wilson
from tests.result.made_up import write
from tests.tools.page_reader import read_page
from tools import drawing, generated, headline, notes, page

PAGE = stored.DATA.parent
MADE_UP = "simple_mul"
JUDGED = stored.kept_keys(measured=False)
IDENTICAL, GOOD, BAD = "equal", ("within", "below", "holds"), ("differs", "does not hold")


def make(folder):
    """The page of the results below a folder, as text."""
    words = ["--report", "--data", str(folder / "data"), "--report-out", str(folder)]
    assert reproduce.main(words) == 0
    return text_of(folder)


@functools.cache
def tables_of_the_checkout():
    """Sections -> their tables, of the page in the checkout, and its links."""
    return read_page(PAGE / "index.html")


def text_of(folder):
    return (folder / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def made_up(tmp_path_factory):
    """A page of made-up results, with a note and a reason."""
    folder = tmp_path_factory.mktemp("page")
    write(MADE_UP, folder / "data", range(12))
    (folder / notes.NOTES).write_text("# x\n\n## simple_mul / nalu/mul\n\nMade\nup.\n")
    (folder / notes.REASONS).write_text('key,reason\nnips-*,"too, long"\n')
    make(folder)
    return folder


def cells_of(path):
    """The rows of a file; those of the checkout are read once."""
    return _kept_cells(path) if path.is_relative_to(PAGE) else _cells(path)


def _cells(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


_kept_cells = functools.cache(_cells)


def kept_runs(folder, key):
    return cells_of(folder / "data" / f"{key.replace('/', '-')}.csv")


def lines_of(folder, name="results"):
    return cells_of(folder / "tables" / f"{name}.csv")


def texts_of(run):
    """The options of a run, as cells and as shorter numbers."""
    names = list(run)
    options = [run[name] for name in names[: names.index("seed")]]
    number = r"-?[\d.]+(e[-+]?\d+)?"
    return {*options, *(f"{float(v):g}" for v in options if re.fullmatch(number, v))}


@functools.cache
def runs_by_model(folder, key):
    """Model -> its kept runs, each with the texts of its options."""
    found = {}
    for run in kept_runs(folder, key):
        found.setdefault(run["model"], []).append((run, texts_of(run)))
    return found


def runs_behind(folder, line):
    """The runs that a line of rates counts: every part of its point is one of their options."""
    whole = line["point"] in ("", "all together")
    parts = set() if whole else {*re.split(r", (?![^[]*])", line["point"])}
    own = runs_by_model(folder, line["key"]).get(line["model"], ())
    return [run for run, texts in own if parts <= texts]


def check_rates(folder, key):
    """Rates, medians, seeds, differences and verdicts of a key, recomputed from its file."""
    runs, covered = kept_runs(folder, key), 0
    for line in lines_of(folder):
        if line["key"] != key or line["measure"] != "success rate":
            continue
        same = runs_behind(folder, line)
        k, n = sum(int(run["solved"]) for run in same), len(same)
        covered += n * (line["point"] != "all together")
        assert (line["solved"], line["n"]) == (str(k), str(n))
        ours = seeds.rate(*outcomes_of(same))
        ends = [float(line[name]) for name in ("ours", "lower", "upper")]
        assert ends == pytest.approx([k / n, ours.lower, ours.upper], abs=1e-5)
        assert seeds_in(line["seeds"]) == {int(run["seed"]) for run in same}
        steps = [float(r["extrapolation.step.solved"]) for r in same if r["solved"] == "1"]
        if steps:
            assert float(line["median_step"]) == pytest.approx(statistics.median(steps), rel=1e-5)
        if line["gap"]:
            check_gap(line, same, ours)
    assert covered == len(runs)


def seeds_in(text):
    ends = [list(map(int, part.split("-"))) for part in text.split(",")]
    return {seed for first, *last in ends for seed in range(first, (last or [first])[0] + 1)}


def outcomes_of(runs):
    """Seeds, and whether the runs are solved."""
    return [int(run["seed"]) for run in runs], [run["solved"] == "1" for run in runs]


def check_gap(line, runs, ours):
    """The difference, paired where every published seed is known, and the verdict of it."""
    a, b = (int(line[f"published_{name}"]) for name in ("solved", "n"))
    of, (known_seeds, solved) = (line["model"], line["operation"]), outcomes_of(runs)
    known = [one for one in published_seeds(line["key"]) if (one.model, one.operation) == of]
    gap = difference(ours, wilson(a, b, seeds.effect(known_seeds, solved)))
    if known and {*known_seeds} == {*range(known[0].runs)}:
        theirs = (seed in known[0].solved_at for seed in known_seeds)
        gap = paired_difference([*zip(solved, theirs, strict=True)])
    shown = [float(line[name]) for name in ("gap", "gap_lower", "gap_upper")]
    assert shown == pytest.approx([*gap], abs=1e-5)
    if (sum(solved), len(solved)) == (a, b):
        expected = IDENTICAL
    elif gap.lower >= -0.05 and gap.upper <= 0.05:
        expected = "within 5 points"
    else:
        expected = "differs" if gap.lower > 0 or gap.upper < 0 else "inconclusive"
    assert line["verdict"] == expected
    both = sum(solved) / len(solved), a / b
    assert line["informative"] == str(int(both not in ((0, 0), (1, 1))))


@pytest.mark.parametrize("key", JUDGED)
def test_the_table_in_the_checkout_and_kept_verdicts_follow_from_the_kept_runs(key):
    check_rates(PAGE, key)
    inclusive = EXPERIMENTS[key].criterion.startswith("zero.range")
    for run in kept_runs(PAGE, key):
        error, threshold = (run[c] and float(run[c]) for c in (TEST_ERROR, "threshold"))
        bound = threshold * (1 + 1 / 256) if inclusive else threshold
        met = error != "" and (error <= bound if inclusive else error < bound)
        assert int(run["solved"]) == met, run


def test_each_published_number_is_counted_once_and_chosen_seeds_are_not():
    """Figures may show the same number: of 116 published rates, each once."""
    counted = [one for one in lines_of(PAGE) if one["counted"] == "1"]
    rates = [one for one in counted if one["measure"] == "success rate"]
    names = ("model", "operation", "point", "source", "published")
    places = [tuple(one[name] for name in names) for one in rates]
    assert len(set(places)) == len(places)
    known = {(p.model, p.operation) for key in JUDGED for p in published(key)}
    assert {(one["model"], one["operation"]) for one in rates} <= known
    assert not [one for one in counted if one["verdict"] in ("same seeds", "not judged", "")]


def test_the_page_leads_with_what_each_source_can_tell():
    """The first table and its sentences, counted again from the lines of results.csv."""
    tables, _ = tables_of_the_checkout()
    counted = [one for one in lines_of(PAGE) if one["counted"] == "1"]
    sums = Counter()
    for row in tables["top"][0]:
        own = [one for one in counted if is_of(one, row["read in"], row["number"])]
        actual = [one for one in own if one["informative"] == "1"]
        numbers = {
            "compared": len(own),
            "identical": sum(one["verdict"] == IDENTICAL for one in own),
            "informative": len(actual),
            "of these identical": sum(one["verdict"] == IDENTICAL for one in actual),
            "within the margin": sum(one["verdict"].startswith(GOOD) for one in own),
            "inconclusive": sum(one["verdict"] == "inconclusive" for one in own),
            "differ": sum(one["verdict"] in BAD for one in own),
        }
        assert {name: int(row[name]) for name in numbers} == numbers
        sums.update(numbers)
    assert sums["compared"] == len(counted)
    text = text_of(PAGE)
    first = f"Of {sums['compared']} comparable numbers, each counted once, {sums['identical']} "
    last = f"and {sums['differ']} differ. ", f"Only {sums['informative']} are informative"
    assert all(words in text for words in (first, *last))
    # What is "within a margin" is four kinds of verdict; rates share runs, solved or not.
    kinds = Counter(one["verdict"] for one in counted if one["verdict"].startswith(GOOD))
    words = re.search(r"(\d+) are within a margin \((.*?)\)", text)
    parts = dict(part.split(" ", 1)[::-1] for part in words[2].split(", "))
    kinds["by a sign test"] = kinds.pop("holds")
    assert {kind: int(count) for kind, count in parts.items()} == kinds
    assert int(words[1]) == kinds.total() == sums["within the margin"]
    lists = {
        tuple(sorted((run["seed"], run["solved"]) for run in runs_behind(PAGE, one)))
        for one in counted
        if one["measure"] == "success rate"
    }
    assert f"count only {len(lists)} different lists" in text


def is_of(line, source, number):
    paper = line["source"].startswith("paper, ")
    named = "papers" if paper else line["source"].partition(":")[0]
    kind = line["measure"] if line["solved"] else "errors, claims"
    return (named, kind) == (source, number)


def test_a_planted_change_changes_the_page_and_differences_have_their_notes(tmp_path):
    """One more solved run: its rate, its point, the first table and the thresholds."""
    table = write(MADE_UP, tmp_path / "data", range(100), share=0.5)
    (tmp_path / notes.NOTES).write_text("## simple_mul / nalu/mul\n\nMade\n<b>up</b>.\n")
    before, first = make(tmp_path), lines_of(tmp_path)
    listed = read_page(tmp_path / "index.html")[0]["differences"][0]
    differing = [one for one in first if one["verdict"] == "differs"]
    assert sum(int(row["numbers"]) for row in listed) == len(differing) > 0
    actual = {row["units"]: row["explanation"] for row in listed}
    assert (actual["NALU"], "unexplained" in actual.values()) == ("Made <b>up</b>.", True)
    place = table.index[(table["model"] == "nmu") & (table["solved"] == 0)][0]
    table.loc[place, ["solved", "extrapolation.step.solved", TEST_ERROR]] = [1, 5000, 1e-9]
    stored.add(EXPERIMENTS[MADE_UP], table, [], tmp_path / "data")
    after, second = make(tmp_path), lines_of(tmp_path)
    (one,) = [row for row in first if row["model"] == "nmu" and row["measure"] == "success rate"]
    k = int(one["solved"])
    for text, solved in ((before, k), (after, k + 1)):
        assert f"% ({solved}/100)" in text
        assert f"NMU {solved}/100" in text
    assert [a for a, b in zip(first, second, strict=True) if a != b and a["model"] != "nmu"] == []
    changed = [a for a, b in zip(before.splitlines(), after.splitlines(), strict=True) if a != b]
    assert any(line.startswith("| Neural Arithmetic Units |") for line in changed)


def test_published_numbers_stand_beside(made_up):
    tables, _ = read_page(made_up / "index.html")
    rows = {row["unit"]: row for row in tables["units"][0]}
    assert rows["NMU"]["published"] == "94 % (94/100) [88–97]"
    assert rows["NAC•"]["published"].startswith("13 % (13/100)")
    assert "NAC•,σ" not in rows
    assert (rows["NMU"]["n (seeds)"], rows["NMU"]["rule"]) == ("12 (0-11)", "arithmetic")
    kept, _ = tables_of_the_checkout()
    row = next(row for row in kept["units"][0] if row["unit"] == "NMU")
    assert row["mean step"].startswith("14,000 [13,790–14,220], here 13,")
    assert row["sparsity error"].startswith("2.6e-08 [1.96e-08–3.24e-08], here ")


def test_rows_of_the_page_are_lines_of_the_table():
    """Counts by range, in their order, and the sum of the verdicts."""
    tables, _ = tables_of_the_checkout()
    lines = [one for one in lines_of(PAGE) if one["paper"] == "robust"]
    lines = [one for one in lines if one["measure"] == "success rate" and one["published"]]
    for row in tables["robust"][0]:
        place, _, shared = row["figure"].partition("; ")
        own = [one for one in lines if (one["figure"], one["unit"]) == (place, row["unit"])]
        seeds = {"Figure 2": 25, "Figure 7": 20}[place]
        assert f"n (seeds) 9 × {seeds} (0-{seeds - 1})" in shared
        assert row["here"] == f"{' '.join(one['solved'] for one in own)} of {seeds}"
        assert sum(map(int, re.findall(r"(\d+) [a-z]", row["verdict"]))) == len(own) == 9


def test_a_sceptic_finds_what_trained_a_number():
    """Rule, seeds, command, revision, engine and versions of every figure; costs add up."""
    for row in lines_of(PAGE, "figures"):
        key, runs = row["key"], kept_runs(PAGE, row["key"])
        assert row["command"] == f"python3 experiments/reproduce.py {key} --keep"
        assert (row["rule"], int(row["runs"])) == (EXPERIMENTS[key].criterion, len(runs))
        assert seeds_in(row["seeds"]) == {int(run["seed"]) for run in runs}
        path = stored.cost_of(key)
        sessions = cells_of(path) if path.exists() else []
        spent = sum(float(one["cpu_seconds"]) for one in sessions)
        assert float(row["cpu_seconds"]) == pytest.approx(spent, abs=0.1)
        known = {one["git_revision"][:8] for one in sessions}
        assert {one[:8] for one in row["revisions"].split()} <= known
        assert bool(row["versions"]) == bool(row["engine"]) == bool(known)


def test_what_was_not_run_has_a_reason(made_up):
    rows = {row["key"]: row for row in lines_of(made_up, "not_run")}
    assert set(rows) == set(EXPERIMENTS)
    assert rows["nips-sltr-in2"]["why"] == "too, long"
    assert (rows["simple_mul"]["runs"], rows["simple_mul"]["planned"]) == ("440", "500")
    assert rows["loss_landscape"]["why"] == "Needs no training."
    assert all(row["why"] for row in rows.values())


def test_numbers_follow_from_the_runs_and_the_page_needs_nothing_else(made_up):
    check_rates(made_up, MADE_UP)
    _, links = read_page(made_up / "index.html")
    text = (made_up / "index.html").read_text(encoding="utf-8")
    files = {f"tables/{one.name}" for one in (made_up / "tables").iterdir()}
    assert {link for link in links if not link.startswith("#")} == {"data:,", "data", *files}
    assert not re.search(r"<script|@import|url\(", text)
    assert 'name="viewport"' in text


def test_every_claim_was_published():
    for claim in headline.CLAIMS:
        models = {(p.model, p.operation) for p in published(claim.experiment)}
        assert {(m, claim.operation) for m in (claim.model, claim.above) if m} <= models


def test_seeds_are_compared_one_by_one(tmp_path):
    key = "function_task_static"
    runs = write(key, tmp_path, range(100), share=1)
    rows = {(row["unit"], row["operation"]): row for row in page.by_seed(key, runs)}
    assert rows["NMU", "mul"]["same outcome"] == "98 of 100"
    assert rows["NMU", "mul"]["other outcome at seeds"] == "70 85"
    assert rows["Linear", "sub"]["same outcome"] == "7 of 100"
    assert page.by_seed(MADE_UP, runs) == []


def test_the_readme_has_the_headline_table():
    """NAC•: 13 of 100 published, and 231 of the seeds 100 to 999 here: Fisher's exact test."""
    text = generated.README.read_text(encoding="utf-8")
    assert generated.GENERATED[generated.README](text) == text
    for claim in headline.CLAIMS:
        assert f"| {claim.text} |" in text
    assert text_of(PAGE).split("\n\n")[3] in text
    assert set(papers.MODULES) <= set(papers.STUDIES)
    every = [one for one in cells_of(stored.DATA / "power.csv") if one["key"] == MADE_UP]
    (ours,) = [one for one in every if one["model"] == "nac-mul"]
    solved, runs = int(ours["solved"]) - 13, int(ours["runs"]) - 100
    p = fisher_exact([[13, 87], [solved, runs - solved]]).pvalue
    row = f"| 13 % (13/100) | 13 % (13/100) | equal | 24.4 %, p {p:.2g} |"
    assert f"| (x1+x2)(x1+x2+x3+x4): NAC• {row}" in text
    assert p < 0.005


@pytest.mark.slow
def test_the_written_page_follows_from_the_data(monkeypatch):
    """Its text and tables; of pictures, which take long to draw, the names."""
    for name in ("draw", "as_svg"):
        monkeypatch.setattr(drawing, name, lambda *_: "")
    whole, _, tables = page.page(stored.DATA, "data")
    assert tables.keys() == {f"tables/{path.name}" for path in (PAGE / "tables").iterdir()}
    for name, made in {"README.md": whole, **tables}.items():
        kept = (PAGE / name).read_text(encoding="utf-8")
        (text, found), (kept_text, numbers) = numbers_of(made), numbers_of(kept)
        assert text == kept_text, "experiments/reproduce.py --report"
        assert found == pytest.approx(numbers, rel=0.01)


def numbers_of(text):
    """The text without its numbers, and those."""
    number = re.compile(r"(?<![\w.#-])[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]\d+)?")
    found = [float(word.replace(",", "")) for word in number.findall(text)]
    return number.sub("0", text).splitlines(), found


def test_runs_that_only_the_tolerance_of_rounding_solves_are_counted():
    """docs/performance.md states them; in a range all have one error, that of exact weights."""
    text = " ".join((PAGE.parent / "performance.md").read_text("utf-8").split())
    decided, strict, solved = Counter(), Counter(), Counter()
    errors = {}
    for task in ("easy", "medium", "hard"):
        for run in kept_runs(PAGE, f"nips-divBy0-{task}"):
            met = float(run[TEST_ERROR] or "inf") <= float(run["threshold"])
            strict[run["model"]] += met
            solved[run["model"]] += int(run["solved"])
            if run["solved"] == "1" and not met:
                decided[task] += 1
                errors.setdefault((run["model"], run["threshold"]), set()).add(run[TEST_ERROR])
    assert decided.keys() == {"easy"}
    assert f"decides {decided['easy']} of 375 stored rows of `nips-divBy0-easy`" in text
    assert f"(decisive for {decided['easy']} rows, " in text_of(PAGE)
    assert [len(found) for found in errors.values()] == [1] * len(errors)
    npu, nru, nmru = (
        (strict[f"easy-{unit}"], solved[f"easy-{unit}"]) for unit in ("realnpu", "nru", "signNMRU")
    )
    at_most = "of 125 Real NPUs are at or below the threshold itself and"
    assert f"{npu[0]} {at_most} {npu[1]} are stored" in text
    assert "of 125 NRUs {} and {}, of 125 NMRUs {} and {}".format(*nru, *nmru) in text


def test_why_runs_fail_is_counted_in_the_files():
    """Every class of the table, by counting the cells of the stored files; the page counts runs."""
    counts, failed = Counter(), 0
    for path in (stored.DATA / "formula").iterdir():
        rows = cells_of(path)
        cells = [row.get("failure", "") for row in rows]
        lost = [row for row in rows if row.get("failure") == "not a number"]
        assert {row["model"] for row in lost} <= {"MulMCFC"}
        assert all(row["interpolation.range"].startswith("U[-") for row in lost)
        counts.update(filter(None, cells))
        failed += sum(1 for cell in cells if cell)
    shown = text_of(PAGE).partition("## Why runs fail")[2]
    runs = int(
        re.search(rf"{failed:,} rows are of ([\d,]+) failed runs", shown)[1].replace(",", "")
    )
    classes, units = tables_of_the_checkout()[0]["failures"]
    of_page = {
        row["class"]: list(map(int, re.findall(r"\d+", row["failed runs"].partition("(")[2])))
        for row in classes
    }
    assert {total for _, total, *_ in of_page.values()} == {runs}
    assert sum(count for count, *_ in of_page.values()) == runs - counts["unclassified"]
    assert {why: counts[why] >= of_page[why][0] for why in of_page} == dict.fromkeys(of_page, True)
    assert of_page.keys() == counts.keys() - {"unclassified"}
    # Real NPUs, of which many figures share runs: 3,498 rows of 2,654 runs.
    real_npu = next(row for row in units if row["unit"] == "Real NPU")
    assert real_npu["failed"] == "2654"
    assert (real_npu["vanished"], real_npu["gate stuck"][:2]) == ("28 [27–30]", "44")
    rows = cells_of(PAGE / "tables" / "failures.csv")
    assert sum(int(row["runs"]) for row in rows) == failed
    drawn = {row["failure"] for row in cells_of(stored.DATA / drawing.LANDSCAPES)}
    # What is not a number is nowhere on a plane.
    assert drawn == {*counts} - {"unclassified", "not a number"}
