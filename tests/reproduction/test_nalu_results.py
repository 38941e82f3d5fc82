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


def test_the_articles_nalu_alone_learns_products():
    runs = read("article/mystery")
    assert runs.groupby("model")["seed"].nunique().eq(50).all()
    train, test = (
        runs.pivot(index="seed", columns="model", values=f"metric.{part}.mse")
        for part in ("train", "test")
    )
    assert (train["article"] < train["vanilla"] / 2).all()
    assert (test["article"] < test["vanilla"] / 2).sum() == 48
    assert (test["nac"] > test["vanilla"]).sum() == 42
    assert (train["nac"] < train["vanilla"]).sum() == 26
    for gated in ("two-nac", "shared"):
        assert (train[gated] > train["article"]).all()
        assert (test[gated] > test["article"]).all()
    typical = runs.groupby("model")[
        [f"metric.test.mse.{o}" for o in ("add", "sub", "mul")]
    ].median()
    assert typical.loc["nac", ["metric.test.mse.add", "metric.test.mse.sub"]].max() < 0.2
    products = typical["metric.test.mse.mul"]
    assert products["article"] < 0.1
    assert products.drop("article").min() > 1000
