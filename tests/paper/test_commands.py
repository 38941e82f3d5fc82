"""Flags as data."""

import pytest

from stable_nalu.options.kinds import seeds
from stable_nalu.paper.experiment import flags, gathered, merged, seeds_text, words


def test_reading_and_writing():
    read = flags("--operation div --range '[1, 2]' [3,4] --no-cuda")
    assert read == {"--operation": ("div",), "--range": ("[1, 2]", "[3,4]"), "--no-cuda": ()}
    assert words(read) == ["--operation", "div", "--range", "[1, 2]", "[3,4]", "--no-cuda"]


def test_a_later_flag_replaces_a_former_one():
    assert flags("--regualizer 0 --seed 1 --regualizer 2")["--regualizer"] == ("2",)
    assert merged(flags("--a 1 --b 2"), flags("--b 3")) == {"--a": ("1",), "--b": ("3",)}


def test_a_value_needs_a_flag():
    with pytest.raises(ValueError, match="does not begin with a flag"):
        flags("5 --a")


def test_gathering_keeps_the_order_of_points():
    points = (flags("--i [1,2] --e [2,6]"), flags("--i [0,1] --e [2,6]"))
    assert gathered(points) == {"--i": ("[1,2]", "[0,1]"), "--e": ("[2,6]", "[2,6]")}
    assert gathered(()) == {}


@pytest.mark.parametrize(
    ("given", "text"),
    [(range(25), "0-24"), ([3], "3"), ([0, 3, 9], "0,3,9"), ([7, 0, 1, 2], "0-2,7"), ([], "")],
)
def test_seeds_as_text(given, text):
    assert seeds_text(list(given)) == text
    if text:
        assert sorted(given) == seeds().read_all([text])
