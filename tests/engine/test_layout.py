"""Which run is in which lane: every one in exactly one, whatever is shared."""

import random

import pytest

from stable_nalu.engine.layout import arranged


@pytest.mark.parametrize("lanes", [1, 4, 16])
@pytest.mark.parametrize("seed", range(30))
def test_every_run_is_in_one_lane_beside_its_like(seed, lanes):
    dice = random.Random(seed)
    runs = dice.randint(1, 60)
    generators = [dice.randrange(dice.choice((1, 5, 60))) for _ in range(runs)]
    kinds = [dice.randrange(dice.choice((1, 3))) for _ in range(runs)]
    work = [dice.choice((0.1, 1, 10)) for _ in range(3)]
    layout = arranged(generators, kinds, lanes, [work[kind] for kind in kinds])
    assert layout.members.shape[1] == lanes
    places = [tuple(place) for place in layout.place.tolist()]
    assert len(set(places)) == runs
    for run, (vector, lane) in enumerate(places):
        assert layout.members[vector][lane] == run
    for vector in layout.members:
        assert len({kinds[run] for run in vector}) == 1
    vectors = [vector for tile in layout.tiles for vector in tile]
    assert vectors == list(range(len(layout.members)))
    for tile in layout.tiles:
        drawn = {}
        for run, (vector, lane) in enumerate(places):
            if vector in tile:
                assert drawn.setdefault(lane, generators[run]) == generators[run]


def test_runs_that_share_generators_share_their_numbers():
    """Nine ranges of sixteen seeds are drawn once, whatever a vector takes."""
    layout = arranged(
        [seed for _ in range(9) for seed in range(16)], ["mul"] * 144, 16, [100] * 144
    )
    assert len(layout.tiles) == 1
    assert len(layout.members) == 9


@pytest.mark.parametrize(("work", "vectors"), [(1, 18), (10, 15)])
def test_lanes_stay_empty_where_drawing_takes_longer(work, vectors):
    """Nine ranges of twenty-five seeds fill fifteen vectors, or share generators in eighteen."""
    seeds = [seed for _ in range(9) for seed in range(25)]
    assert len(arranged(seeds, ["mul"] * 225, 16, [work] * 225).members) == vectors


def test_what_takes_long_fills_all_lanes_beside_what_shares_generators():
    seeds = [seed for _ in range(18) for seed in range(25)]
    work = [1] * 225 + [10] * 225
    assert len(arranged(seeds, ["mul"] * 225 + ["div"] * 225, 16, work).members) == 18 + 15
