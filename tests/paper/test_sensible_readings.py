"""Where the published scripts are at odds with their papers, the catalogue follows the papers."""

from stable_nalu.paper.experiment import expected_runs
from stable_nalu.paper.index import EXPERIMENTS
from stable_nalu.paper.sweeps import DATA_SET_RANGES, MIXED_SIGNS, SINGLE_MODULE_RANGES


def model(key, name):
    return EXPERIMENTS[key].model(name)


def flag(key, name, *, flag):
    return model(key, name).flags.get(flag)


def test_nine_ranges_in_published_order():
    pairs = [(p["--interpolation-range"], p["--extrapolation-range"]) for p in SINGLE_MODULE_RANGES]
    assert pairs[0] == (("[-20,-10]",), ("[-40,-20]",))
    assert pairs[2] == (("[-1.2,-1.1]",), ("[-6.1,-1.2]",))
    assert pairs[4] == (("[-2,2]",), ("[[-6,-2],[2,6]]",))
    assert pairs[8] == (("[10,20]",), ("[20,40]",))
    assert {str(p) for p in DATA_SET_RANGES} == {str(p) for p in SINGLE_MODULE_RANGES}
    assert [p["--interpolation-range"][0] for p in DATA_SET_RANGES[:3]] == [
        "[1.1,1.2]",
        "[0.1,0.2]",
        "[-1.2,-1.1]",
    ]


def test_units_with_ten_inputs_train_on_every_range():
    for name in ("nru", "sign-nmru", "realnpu_modified"):
        assert model("nips-sltr-in10", name).points == SINGLE_MODULE_RANGES


def test_mixed_signs_have_five_ranges():
    assert model("in2-mixedSigns", "nru").points == MIXED_SIGNS
    assert model("in2-mixedSigns", "nru").runs == 125


def test_criterion_of_the_losses():
    for loss in ("pcc", "mape"):
        for key, name in (("realnpu", "realnpu_modified"), ("nru", "nru"), ("nmru", "sign-nmru")):
            found = model(f"nips-sltr-in10-losses-{key}", f"{name}_{loss}")
            assert found.flags["--train-criterion"] == (loss,)
            assert found.prefix == f"sltr-in10/{name}_{loss}"


def test_batch_noise_and_fixed_noise_are_two_series():
    fixed = model("robust-benchmark_sltr_mul", "sNMU")
    batch = model("robust-batch-snmu", "batch-sNMU")
    assert "--noise-range" not in fixed.flags
    assert batch.flags["--noise-range"] == ("[1,0]",)
    assert fixed.prefix != batch.prefix


def test_the_widest_noise_is_trained():
    found = model("fts-snmu-noise-ranges", "10-20")
    assert found.flags["--noise-range"] == ("[10,20]",)
    assert found.runs == 225


def test_hidden_size_of_every_unit_follows_the_number_of_subsets():
    for one in EXPERIMENTS["function_task_static_mul_num_subsets"].models:
        assert all("--hidden-size" in variant.flags for variant in one.variants)


def test_learning_rates_replace_that_of_the_model():
    assert flag("nips-in2-realnpu-lr", "realnpu-lr-5e-1", flag="--learning-rate") == ("5e-1",)
    assert flag("nips-in10-nmru-lr", "nmru-lr-1e-1", flag="--learning-rate") == ("1e-1",)


def test_npu_replaces_the_real_npu():
    found = model("nips-sltr-in10-npu", "npu-clip").flags
    assert (found["--layer-type"], found["--nac-mul"]) == (("NPU",), ("npu",))
    assert found["--npu-clip"] == ("wig",)


def test_longest_published_run_names_fit_a_folder():
    for key in ("function_task_static_mul_range", "fts-2021-final"):
        for one in EXPERIMENTS[key].models:
            leaves = [run.name.rsplit("/", 1)[-1] for run in expected_runs(one, [0, 49])]
            assert max(len(leaf.encode()) for leaf in leaves) <= 255
            assert len(set(leaves)) == len(leaves)
