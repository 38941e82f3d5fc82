"""What the kept results of the NALU paper's experiments say, as docs/nalu.md tells it."""

from stable_nalu.reproduction.stored import read

SATURATING = ("hardtanh", "tanh", "relu6", "softsign", "sigmoid")


def test_networks_fail_beyond_their_range_and_nacs_do_not():
    runs = read("nalu/fig1")
    assert len(runs) == 1800
    assert runs.groupby("model")["seed"].nunique().eq(100).all()
    assert runs["iterations"].eq(10000).all()
    ends = runs.groupby("model")[["abs.error.-20", "abs.error.20"]]
    assert ends.mean().loc[list(SATURATING)].min().min() > 12
    assert ends.mean().loc["prelu"].max() < 0.5
    nac = runs.loc[runs["model"] == "nac", "abs.error.20"]
    assert nac.median() < 1e-3
    assert (nac < 1e-3).sum() == 94
    inside = runs.groupby("model")["metric.valid.interpolation"].mean()
    assert inside.drop(["threshold", "softshrink", "nalu"]).max() < 0.05
