"""Published runs of the iNALU paper, and how runs of the same seeds agree with them."""

from stable_nalu.paper import inalu


def test_published_runs_have_the_counts_of_the_papers_data():
    known = inalu.published("inalu/minimal")
    assert len(known) == 840
    solved = known.assign(solved=known["outside"] < -5).groupby(["model", "operation"])["solved"]
    counts = solved.sum().unstack()[["add", "sub", "mul", "div"]]
    assert counts.loc["NALU"].tolist() == [30, 0, 33, 0]
    assert counts.loc["iNALU (sw)"].tolist() == [60, 53, 34, 24]
    assert counts.loc["iNALU (iw)"].tolist() == [70, 70, 50, 24]
    assert len(inalu.published("inalu/functions")) == 320


def test_agreement_counts_verdicts_and_errors_of_the_same_seed():
    known = inalu.published("inalu/minimal").head(40)
    own = known.assign(outside=known["outside"] * 0 - 9, seed=known["seed"].astype(float))
    solved = int((known["outside"] < -5).sum())
    text = inalu._agreement(own, known)
    assert text.startswith(f"{solved} of 40 runs have the verdict")
    assert "40 errors inside are within 12 %" in text
    many = own.assign(distribution="many-normal")
    assert inalu._agreement(many, known.assign(distribution="many-normal")) == ""
