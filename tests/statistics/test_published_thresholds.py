"""The thresholds of the DMU's repository."""

from stable_nalu.statistics.setups import DMU, SHIPPED, Thresholds, read_setups


def test_they_count_only_where_they_are_asked_for():
    run = {"operation": "mul", "extrapolation.range": "U[20,40]", "model_code": "dmu"}
    run |= {"input.size": 2, "subset.ratio": 0.5, "overlap.ratio": 0.0}
    tables = read_setups(SHIPPED)
    assert Thresholds(tables).of(run).threshold == 1e-5
    assert Thresholds(tables, DMU).of(run).threshold == 6.67e-2
