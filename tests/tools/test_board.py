"""The page of ranks: what it says is what the kept runs say, and it works in a browser."""

import json
import re
from dataclasses import replace

import pytest

from stable_nalu.result.ranking import OPERATIONS, kept_entries
from tests.result.test_board import CARD, LAYER, rows, submit
from tests.tools.browser import READABLE, measured
from tools.board import PATH, refreshed

PAGE = PATH.read_text(encoding="utf-8")
HOSTILE = '<img src=x onerror="document.title=1">&</script><script>document.title=2</script>'


def data(page):
    (text,) = re.findall(r"const DATA = (.*);\n", page)
    return json.loads(text)


def test_ranks_are_of_the_kept_runs():
    found = data(PAGE)
    for operation in OPERATIONS:
        table = found["ranks"][f"0|{operation}|benchmark|"]
        shown = {found["units"][unit]: solved for unit, solved, *_ in table}
        for entry in kept_entries(operation):
            if not entry.told:
                assert shown[entry.label] == sum(entry.outcomes(operation, "benchmark").values())
        bests = [best for _, _, _, best, *_ in table]
        assert bests == sorted(bests)
        assert all(best <= worst for _, _, _, best, worst, *_ in table)


def test_the_page_says_under_which_terms_the_dmu_beats_the_nmu():
    (answer,) = re.findall(r'<ul id="answer">(.*?)</ul>', PAGE, re.DOTALL)
    given, learned = answer.split("<li>")[1:3]
    assert re.match(r"Yes, as published, with operands given .*225/225", given)
    assert re.match(r"No, it is worse, as published, with operands learned", learned)
    assert len(re.findall(r"points \[[-+.\d]+ to [-+.\d]+\]", answer)) >= 2


def test_every_text_of_others_is_escaped(tmp_path):
    hostile = replace(
        CARD, **dict.fromkeys(("given", "learned", "tuned", "failure", "told", "versions"), HOSTILE)
    )
    table = [row | {"verdict": HOSTILE} for row in rows()]
    submit(tmp_path / "bad", replace(hostile, seeds="0-24", iterations=50_000), table, LAYER)
    page = refreshed(root=tmp_path)
    # Counted, as pytest would spend minutes on how the texts differ.
    assert (page.count("<img"), page.count("<script"), page.count("</script")) == (0, 1, 1)
    assert any("<img" in league for league in data(page)["leagues"])


def test_a_short_trial_is_not_ranked(tmp_path):
    submit(tmp_path / "trial")
    assert "trial" not in data(refreshed(root=tmp_path))["units"]


def test_the_page_asks_nothing_of_the_network():
    assert len(PAGE.encode()) <= 200_000
    assert not re.search(r"""(?:src|href)\s*=\s*["']?(?:https?:)?//|@import|\bfetch\(""", PAGE)


MEASURE = """
const told = document.documentElement.dataset, all = q => [...document.querySelectorAll(q)];
const column = k => all(`#ranks tbody td:nth-child(${k})`).map(e => e.textContent).join("|");
const choose = (id, value) => { const e = document.getElementById(id); e.value = value;
  e.dispatchEvent(new Event("change", { bubbles: true })); };
all("summary").forEach(e => e.click());
told.linked = document.getElementById("operation").value;
choose("operation", "mul"); told.mul = column(2);
choose("league", "1"); told.given = column(2);
choose("league", "0"); choose("sort", "1"); told.names = column(2);
const heads = () => all("#ranks th button");
heads()[2].click(); told.rates = column(3); heads()[2].click(); told.turned = column(3);
told.order = all("#ranks th")[2].getAttribute("aria-sort");
choose("range", "U[1,2]"); told.narrow = column(3);
told.address = location.hash;
told.wide = document.documentElement.scrollWidth - innerWidth;
told.contrast = Math.min(...all("p, li, h1, h2, label, button, a, td, th, summary").map(contrast));
told.labelled = all("select").every(e => e.labels.length === 1);
told.requests = performance.getEntriesByType("resource").length;
"""


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (500, "dark")])
def test_sorts_and_filters_in_a_browser(width, theme, tmp_path):
    size = {"width": width, "theme": theme}
    _, told = measured(PAGE, MEASURE, "operation=div", tmp_path, **size)
    lists = {name: told[name].split("|") for name in ("mul", "given", "names", "rates", "turned")}
    assert told["linked"] == "div"
    assert {"NMU", "DMU, operands learned"} <= {*lists["mul"]}
    assert lists["given"] == ["DMU, operands given"]
    assert lists["names"] == sorted(lists["mul"])
    rates = [float(text.partition(" ")[0]) for text in lists["rates"]]
    assert rates == sorted(rates, reverse=True)
    assert lists["turned"] != lists["rates"]
    assert told["order"] == "descending"
    assert all("/25)" in text for text in told["narrow"].split("|"))
    assert "operation=mul" in told["address"]
    assert int(told["wide"]) <= 0
    assert float(told["contrast"]) >= READABLE
    assert (told["labelled"], told["requests"]) == ("true", "0")
