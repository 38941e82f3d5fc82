"""The page: its numbers follow from the kept results, by a computation of its own."""

import csv
import os
import re
import statistics
from math import sqrt

import pytest

from stable_nalu import papers
from stable_nalu.errors import UsageError
from stable_nalu.paper.index import EXPERIMENTS
from stable_nalu.paper.published import published
from stable_nalu.result import command, stored
from stable_nalu.result.compare import ALL_POINTS
from stable_nalu.result.judged import TEST_ERROR
from tests.result.made_up import write
from tests.tools.page_reader import read_page
from tools import generated, headline, notes, page, rates
from tools.rates import OF_ANOTHER, Result

PAGE = stored.DATA.parent
RATE = re.compile(r"(.+) % \((\d+)/(\d+)\) \[(\d+)–(\d+)\]")
CHOSEN = re.compile(r"(\d+)/(\d+) of chosen seeds")
POINTS = re.compile(r"([-+]\S+) points \[([-+]\S+) to ([-+]\S+)\]")
MADE_UP = "simple_mul"


@pytest.fixture(scope="module")
def made_up(tmp_path_factory):
    """A page of made-up results, with a note and a reason."""
    folder = tmp_path_factory.mktemp("page")
    write(MADE_UP, folder / "data", range(12))
    (folder / notes.NOTES).write_text("# x\n\n## simple_mul / nalu/mul\n\nMade\nup.\n")
    (folder / notes.REASONS).write_text('key,reason\nnips-*,"too, long"\n')
    words = ["--report", "--data", str(folder / "data"), "--report-out", str(folder)]
    assert command.main(words) == 0
    return folder


def kept_runs(folder, key):
    with (folder / "data" / f"{key.replace('/', '-')}.csv").open(
        encoding="utf-8", newline=""
    ) as file:
        return list(csv.DictReader(file))


def wilson_here(k, n):
    """Wilson's interval in percent, from its equation: |p - k/n| = z sqrt(p(1-p)/n)."""
    z, share = statistics.NormalDist().inv_cdf(0.975), k / n
    a, b, c = 1 + z * z / n, -(2 * share + z * z / n), share * share
    root = sqrt(max(b * b - 4 * a * c, 0))
    return [100 * (-b - root) / (2 * a), 100 * (-b + root) / (2 * a)]


def check_section(folder, key, tables):
    """Success rates and medians of every row, recomputed from the file."""
    runs = kept_runs(folder, key)
    labels = {model.key: model.label for model in EXPERIMENTS[key].models}
    counted = 0
    for row in tables[key][0]:
        if chosen := CHOSEN.fullmatch(row["success, here"]):
            k, n = map(int, chosen.groups())
            assert f"of {n} chosen seeds (" in row["success: verdict"]
        else:
            percent, *counts = RATE.fullmatch(row["success, here"]).groups()
            k, n, low, high = map(int, counts)
            assert float(percent) == pytest.approx(100 * k / n, abs=0.051)
            assert [low, high] == pytest.approx(wilson_here(k, n), abs=0.501)
        check_verdict(row)
        point = row.get("point", "–").replace(")", "]")
        cells = [] if point in ("–", ALL_POINTS) else re.split(r", (?![^[]*])", point)
        same = [r for r in runs if labels[r["model"]] == row["model"] and is_at(r, cells)]
        assert (sum(int(r["solved"]) for r in same), len(same)) == (k, n), row
        steps = [float(r["extrapolation.step.solved"]) for r in same if r["solved"] == "1"]
        if steps:
            shown = float(row["median solved at, here"].replace(",", ""))
            assert shown == pytest.approx(statistics.median(steps), rel=0.006)
        if point != ALL_POINTS:
            counted += n
    assert counted == len(runs)


def check_verdict(row):
    """The verdict about a rate follows from the counts and the difference that stand there."""
    if row.get("difference", "–") == "–":
        return
    (_, *ours), (_, *theirs) = (
        RATE.fullmatch(row[f"success, {who}"]).groups()[:3] for who in ("here", "elsewhere")
    )
    mean, lower, upper = map(float, POINTS.fullmatch(row["difference"]).groups())
    (k, n), (a, b) = map(int, ours), map(int, theirs)
    assert mean == pytest.approx(100 * (k / n - a / b), abs=0.051)
    (low, high), (their_low, their_high) = wilson_here(k, n), wilson_here(a, b)
    shares = (100 * k / n, 100 * a / b)
    assert lower == pytest.approx(
        mean - sqrt((shares[0] - low) ** 2 + (their_high - shares[1]) ** 2), abs=0.11
    )
    assert upper == pytest.approx(
        mean + sqrt((high - shares[0]) ** 2 + (shares[1] - their_low) ** 2), abs=0.11
    )
    if ours == theirs:
        expected = "equal"
    elif lower >= -5 and upper <= 5:
        expected = "within 5 points"
    else:
        expected = "differs" if lower > 0 or upper < 0 else "inconclusive"
    assert row["success: verdict"] == expected


def is_at(run, cells):
    """Whether every part of a point's text is a cell of the run's options."""
    names = list(run)
    options = [run[name] for name in names[: names.index("seed")]]
    return {*options, *(f"{float(v):g}" for v in options if is_number(v))}.issuperset(cells)


def is_number(text):
    return re.fullmatch(r"-?\d+(\.\d+)?(e-?\d+)?", text) is not None


def test_numbers_follow_from_the_kept_runs(made_up):
    tables, _ = read_page(made_up / "index.html")
    check_section(made_up, MADE_UP, tables)


def test_published_numbers_stand_beside(made_up):
    tables, _ = read_page(made_up / "index.html")
    rows = {row["model"]: row for row in tables[MADE_UP][0]}
    assert rows["NMU"]["success, elsewhere"] == "94 % (94/100) [88–97]"
    assert rows["NMU"]["median solved at, elsewhere"] == "14,000"
    assert rows["NAC•"]["success, elsewhere"].startswith("13 % (13/100)")
    assert rows["NAC•,σ"]["success, elsewhere"] == "–"
    assert rows["NMU"]["source"] == "paper, table"
    for row in rows.values():
        assert (row["success: verdict"] == "–") == (row["success, elsewhere"] == "–")
        check_verdict(row)


def test_markdown_says_the_same(made_up):
    tables, _ = read_page(made_up / "index.html")
    text = (made_up / "README.md").read_text(encoding="utf-8")
    for row in tables[MADE_UP][0]:
        assert f"| {' | '.join(row.values())} |" in text


def test_differences_are_listed_with_their_notes(made_up):
    tables, _ = read_page(made_up / "index.html")
    marks = [value for row in tables[MADE_UP][0] for value in row.values()]
    listed = tables["differences"][0]
    assert len(listed) == marks.count("differs") > 0
    for row in listed:
        told = "Made up." if row["figure / model / point"] == "simple_mul / nalu / mul" else "–"
        assert row["explanation"] == told


def test_what_was_not_run_has_a_reason(made_up):
    tables, _ = read_page(made_up / "index.html")
    why = {row["figure"].rsplit(", ", 1)[1]: row for row in tables["not-run"][0]}
    assert set(why) == set(EXPERIMENTS)
    assert why["nips-sltr-in2"]["why"] == "too, long"
    assert why["simple_mul"]["runs"] == "440 of 500"
    assert why["loss_landscape"]["why"] == "Needs no training."
    assert all(row["why"] for row in why.values())


def test_the_headline_counts_identical_rates_once():
    data = stored.DATA
    keys = ("benchmark_sltr_add", "benchmark_sltr_add_mcfc")
    results = [rates.result(EXPERIMENTS[key], data) for key in keys]
    found = rates.counted(results)
    (source,) = found["sources"]
    report = "report of 2023 in a code repository, not reviewed"
    assert list(source.values()) == [report, 18, 18, 0, "0 of 0"]
    assert (found["rates"], found["equal"], found["extreme"]) == (18, 18, 18)


def test_the_page_leads_with_what_each_source_can_tell():
    """By a computation of its own: every point once, equal where solved and runs are."""
    found = {}
    for key in stored.kept_keys(measured=False):
        for point in (p for p in published(key) if p.source != OF_ANOTHER):
            runs = [
                run
                for run in kept_runs(PAGE, key)
                if (run["model"], run["operation"]) == (point.model, point.operation)
                and (not point.point or run.get(point.column, "").replace(" ", "") == point.point)
            ]
            # Some of the published seeds are compared one by one, where these are known.
            if len(runs) == point.runs or (point.experiment.endswith("_mul_range") and runs):
                solved = sum(run["solved"] == "1" for run in runs)
                found[point] = (solved, len(runs)) == (point.solved, point.runs)
    chosen = [p for p in found if p.experiment.endswith("_mul_range") and p.solved in (0, p.runs)]
    for point in chosen:
        del found[point]
    lines = page_text().splitlines()
    head = next(i for i, line in enumerate(lines) if line.startswith("| read in |"))
    top = lines[head + 2 :]
    rows = [re.split(r" *\| *", line)[1:-1] for line in top[:3]]
    sources = {"papers": ("table", "abstract", "figure", "derived"), "slide": ("talk",)}
    sources["report"] = ("report",)
    for name, *cells in rows:
        own = [p for p in found if p.source in sources[name.split()[0]]]
        telling = [p for p in own if 0 < p.solved < p.runs]
        equal, told = sum(found[p] for p in own), sum(found[p] for p in telling)
        numbers = (len(own), equal, len(telling), f"{told} of {len(telling)}")
        assert cells == list(map(str, numbers)), name
    extreme = sum(p.solved in (0, p.runs) for p in found)
    assert f"But {extreme} of the {len(found)} are 0 % or 100 %" in "\n".join(top[:6])
    assert (extreme, len(found)) == (82, 116)


def test_runs_of_several_figures_are_one():
    keys = ("benchmark_sltr_add", "benchmark_sltr_add_mcfc")
    results = [rates.result(EXPERIMENTS[key], stored.DATA) for key in keys]
    assert sum(len(found.runs) for found in results) == 1125 + 450
    assert rates.distinct(results) == 1125 + 225


def test_rates_at_the_other_threshold():
    """An NAC on sums is solved 102 times at an epsilon of 1e-5, and 185 times at 1e-4."""
    found = rates.result(EXPERIMENTS["benchmark_sltr_add"], stored.DATA)
    rows, units = rates.at_another_threshold([found])
    counts = {row["unit"]: re.findall(r"\((\d+)/225\)", str(row)) for row in rows}
    assert counts["NAC+"] == ["102", "185"]
    assert "NAU" not in counts
    assert units > len(rows)
    other = rates.result(EXPERIMENTS["nips-realnpu-L1"], stored.DATA)
    assert rates.at_another_threshold([other]) == ([], 0)


def test_revisions_with_changes_are_named_so():
    assert page.revision_text("0123456789abcdef-dirty") == "0123456789ab with uncommitted changes"
    assert page.revision_text("0123456789abcdef") == "0123456789ab"


def test_the_page_needs_nothing_else(made_up):
    _, links = read_page(made_up / "index.html")
    text = (made_up / "index.html").read_text(encoding="utf-8")
    assert {link for link in links if not link.startswith("#")} == {"data:,", "data"}
    assert "<script" not in text
    assert "@import" not in text
    assert "url(" not in text
    assert 'name="viewport"' in text


def test_the_first_screen_counts_figures_runs_and_what_is_left(made_up):
    text = (made_up / "README.md").read_text(encoding="utf-8")
    first = text[: text.index("## Headline figures")]
    planned = [experiment for experiment in EXPERIMENTS.values() if experiment.models]
    whole = f"**0 of {len(planned)} runnable figures and tables are trained in full**"
    assert f"{whole}, 1 in part, {len(planned) - 1} not" in first
    assert "60 different runs, every one kept" in first
    assert "| papers (" in first
    left = sum(experiment.runs for experiment in planned) - 60
    assert f"[Not run](#not-run): {left:,} runs of {len(planned)} figures and tables" in first
    assert "--verify KEY --rows 5" in first


def test_the_written_page_is_small_and_its_first_screen_true():
    assert (PAGE / "index.html").stat().st_size <= 2_000_000
    first = page_text()[: page_text().index("## Headline figures")]
    kept, of_rates = stored.kept_keys(), stored.kept_keys(measured=False)
    whole = [key for key in kept if len(kept_runs(PAGE, key)) >= EXPERIMENTS[key].runs]
    assert f"**{len(whole)} of " in first
    assert f"{len(kept) - len(whole)} in part" in first
    assert f"{len(kept) - len(of_rates)} of these are [not about success rates]" in first
    compared = [key for key in of_rates if published(key)]
    assert f"For {len(compared)} of the {len(of_rates)} figures about success" in first


def test_tables_of_figures_are_folded_with_their_numbers_of_rows(made_up):
    tables, _ = read_page(made_up / "index.html")
    text = (made_up / "index.html").read_text(encoding="utf-8")
    folded = re.findall(r"<details><summary>Table of (\d+) rows</summary>", text)
    assert folded == [str(len(tables[key][0])) for key in (MADE_UP, "not-run")]
    assert text.count("</details>") == 2


def test_notes_may_be_general(tmp_path, made_up):
    texts = {"simple_mul": "figure", "simple_mul/nmu": "model"}

    class At:
        model, point = "nmu", "mul"

    assert notes.note(texts, "simple_mul", At) == "model"
    At.model = "nalu"
    assert notes.note(texts, "simple_mul", At) == "figure"
    assert notes.note({}, "simple_mul", At) == ""


def test_reasons_need_their_columns(tmp_path):
    (tmp_path / notes.REASONS).write_text("a,b\n1,2\n")
    with pytest.raises(UsageError, match="columns are not key, reason"):
        notes.read_reasons(tmp_path)


def test_headline(tmp_path):
    runs = write("nips-sltr-in10", tmp_path, range(3))
    found = {f.claim.text: f for f in headline.findings(tmp_path)}
    gain = found["Division, 10 inputs: gain by the modifications"]
    assert gain.published_text.startswith("+15.1 points")
    solved = runs.groupby("model")["solved"].agg(["sum", "size"])
    new, old = solved.loc["realnpu_modified"], solved.loc["realnpu_baseline"]
    expected = 100 * (new["sum"] / new["size"] - old["sum"] / old["size"])
    assert gain.text.startswith(f"{expected:+.1f} points")
    assert found["Division, 10 inputs: NMRU"].published_text.startswith("91.6 % (206/225)")
    assert found["(x1+x2)(x1+x2+x3+x4): NMU"].text == headline.NOT_RUN


def test_runs_that_were_cut_short_are_named(tmp_path):
    runs = write("simple_mul", tmp_path / "whole", range(2))
    runs.loc[runs["model"] == "nmu", "iterations"] = 5000
    stored.add(EXPERIMENTS["simple_mul"], runs, [], tmp_path / "short")
    found = {f.claim.text: f.verdict for f in headline.findings(tmp_path / "short")}
    verdict = "not comparable: 5,000 of 200,000 iterations"
    short = {text for text, told in found.items() if told == verdict}
    assert short == {"(x1+x2)(x1+x2+x3+x4): NMU"}


def test_every_claim_was_published():
    for claim in headline.CLAIMS:
        models = {(p.model, p.operation) for p in published(claim.experiment)}
        assert {(m, claim.operation) for m in (claim.model, claim.above) if m} <= models


def test_seeds_are_compared_one_by_one(tmp_path):
    key = "function_task_static"
    runs = write(key, tmp_path, range(100), share=1)
    found = Result(EXPERIMENTS[key], runs, [], [])
    rows = {tuple(row.values())[:2]: tuple(row.values())[2:] for row in found.seeds}
    assert rows["nmu", "mul"][:3] == (100, "98 of 100", "70 85")
    assert rows["nau", "add"][-1] == "6 of 100"
    assert rows["linear", "sub"][1] == "7 of 100"
    assert Result(EXPERIMENTS["simple_mul"], runs, [], []).seeds == []


def test_the_readme_has_the_headline_table():
    text = headline.README.read_text(encoding="utf-8")
    assert generated.GENERATED[headline.README](text) == text
    assert "| Division, 10 inputs: NMRU | 91.6 % (206/225)" in text
    assert "| papers (3 table, 2 abstract, 2 figure, 1 derived) | 8 | 4 |" in text
    assert "every experiment and figure" not in text
    units = ("NPU", "iNALU", "G-NALU", "MC-LSTM")
    assert f"{', '.join(units[:-1])} and {units[-1]} papers" in " ".join(text.split())
    assert len([paper for paper in papers.MODULES if paper not in papers.STUDIES]) == len(units)


def numbers_of(text):
    """The text without its numbers, and those."""
    number = re.compile(r"(?<![\w.#-])[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]\d+)?")
    found = [float(word.replace(",", "")) for word in number.findall(text)]
    return number.sub("0", text).splitlines(), found


def test_numbers_are_found_in_text():
    text = "| 85.3 % (192/225) [80–89] | 1,434,500 | 7.5e-06 | U[-0.2,-0.1] | +0.4 |"
    assert numbers_of(text)[1][:6] == [85.3, 192, 225, 80, 89, 1434500]
    assert numbers_of(text)[0] != numbers_of(text.replace("|", "!"))[0]


@pytest.mark.slow
def test_the_written_page_follows_from_the_data(tmp_path):
    words = ["--report", "--data", str(stored.DATA), "--report-out", str(tmp_path)]
    assert command.main(words) == 0
    folder = os.path.relpath(stored.DATA, tmp_path)
    made = (tmp_path / "README.md").read_text(encoding="utf-8").replace(f"]({folder}", "](data")
    (text, found), (kept_text, kept) = map(numbers_of, (made, page_text()))
    assert text == kept_text, "experiments/reproduce.py --report"
    assert found == pytest.approx(kept, rel=0.01)


def page_text():
    return (PAGE / "README.md").read_text(encoding="utf-8")


def test_both_forms_of_the_written_page_hold_the_same_numbers():
    tables, _ = read_page(PAGE / "index.html")
    lines = {plain(line) for line in page_text().splitlines()}
    for key in stored.kept_keys(measured=False):
        for row in tables[key][0]:
            assert plain(f"| {' | '.join(row.values())} |") in lines


def plain(line):
    return line.replace("\\", "")


@pytest.mark.parametrize("key", stored.kept_keys(measured=False))
def test_the_page_in_the_checkout(key):
    tables, _ = read_page(PAGE / "index.html")
    check_section(PAGE, key, tables)


@pytest.mark.parametrize("key", stored.kept_keys(measured=False))
def test_kept_verdicts_follow_from_the_kept_errors(key):
    inclusive = EXPERIMENTS[key].criterion.startswith("zero.range")
    for run in kept_runs(PAGE, key):
        error, threshold = (run[c] and float(run[c]) for c in (TEST_ERROR, "threshold"))
        bound = threshold * (1 + 1 / 256) if inclusive else threshold
        met = error != "" and (error <= bound if inclusive else error < bound)
        assert int(run["solved"]) == met, run
