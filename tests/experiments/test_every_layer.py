"""Every layer type trains a few iterations in every network, as its name, tags and files say."""

import pytest

from stable_nalu.layer import GeneralizedLayer, entries
from stable_nalu.layer.basic import ACTIVATIONS
from tests.experiments.scripts import read, run, run_names, saved

LAYERS = sorted(GeneralizedLayer.unit_names())
SECOND_LAYERS_ONLY = sorted(k for k, e in entries().items() if e.layer is None and e.cell is None)
SHORT = ("--max-iterations", "3", "--log-interval", "2")
METRICS = {"metric/valid/interpolation", "metric/test/extrapolation"}
LOSSES = {f"loss/train/{name}" for name in ("critation", "regualizer", "total")}
ALL_PENALTIES = (
    *("--regualizer-z", "1", "--regualizer-scaling-start", "0"),
    *("--oob-mode", "regualized"),
)


def assert_trained(script, words, exit_code=0):
    assert run(script, *words) == exit_code
    (name,) = run_names(script, *words)
    record = read(name)
    assert METRICS | LOSSES <= record.tags
    assert list(record.series("metric/valid/interpolation")) == [0, 2, 3]
    checkpoint = saved(name)
    assert checkpoint["epoch"] == 4
    return record, checkpoint


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("script", ["single_layer", "single_layer_benchmark"])
def test_single_layer(script, layer):
    words = ("--operation", "mul", "--layer-type", layer, *SHORT)
    record, checkpoint = assert_trained(script, words)
    series = record.series("loss/train/critation")
    assert all(0 < value < 1e4 for value in series.values())
    width = "layer_2" if layer in ACTIVATIONS else "layer_1"
    assert any(key.startswith(width) for key in checkpoint["model_state_dict"])


@pytest.mark.parametrize("layer", LAYERS)
def test_verbose_with_all_penalties(layer):
    words = ("--operation", "mul", "--layer-type", layer, *SHORT, *ALL_PENALTIES, "--verbose")
    record, _ = assert_trained("single_layer_benchmark", words)
    assert list(record.series("loss/train/total")) == [0, 1, 2, 3]
    assert "network/x/mean" in record.tags
    total, parts = (record.series(f"loss/train/{n}") for n in ("total", "critation"))
    penalty = record.series("loss/train/regualizer")
    for step, value in total.items():
        assert value == pytest.approx(parts[step] + penalty[step], rel=1e-5)


@pytest.mark.parametrize("layer", LAYERS)
def test_two_layers(layer):
    # The products of 100 inputs overflow; 10 inputs do not.
    words = ("--operation", "add", "--layer-type", layer, "--input-size", "10", *SHORT)
    if layer in ("NPU", "RealNPU"):  # names of published models, too
        words += ("--nac-mul", "none")
    record, checkpoint = assert_trained("simple_function_static", words)
    assert {key.split(".")[0] for key in checkpoint["model_state_dict"]} == {"layer_1", "layer_2"}
    assert any("network/" in tag for tag in record.tags) == (
        layer not in ("EnsembleGumbelNAU", "SigmoidNAU", "ScaledSigmoidNAU")
    )


@pytest.mark.parametrize("layer", LAYERS)
def test_curriculum(layer):
    words = ("--operation", "add", "--layer-type", layer, *SHORT)
    assert_trained("single_layer_curriculum", words)


@pytest.mark.parametrize("layer", ["ReRegualizedLinearNAC", "NALU", "RealNPU", "SignNMRU"])
def test_robustness_script_has_no_metrics(layer):
    words = ("--operation", "mul", "--layer-type", layer, *SHORT)
    assert run("single_layer_robust", *words) == 0
    record = read(run_names("single_layer_robust", *words)[0])
    assert record.tags >= LOSSES
    assert not record.tags & METRICS


@pytest.mark.parametrize("layer", ["NPU", "RealNPU", "MulMCFCSignRealNPU", "GatedSignNMRU"])
@pytest.mark.parametrize("scale", ["heim", "madsen"])
def test_penalties_of_the_npu_papers(layer, scale):
    penalties = ("--regualizer-npu-w", "1", "--regualizer-gate", "1", "--regualizer-l1")
    ramp = ("--regualizer-scaling-start", "0", "--regualizer-scaling-end", "4")
    words = ("--operation", "div", "--layer-type", layer, *penalties, *ramp, *SHORT)
    words = (*words, "--reg-scale-type", scale)
    record, _ = assert_trained("single_layer_benchmark", words)
    assert record.series("L1/train/beta") == {0: pytest.approx(1e-5), 2: pytest.approx(1e-5)}


@pytest.mark.parametrize("script", ["single_layer", "single_layer_benchmark"])
@pytest.mark.parametrize("operation", ["add", "sub", "mul", "div", "squared", "root", "reciprocal"])
def test_operations(script, operation):
    words = ("--operation", operation, "--layer-type", "RealNPU", *SHORT)
    if operation in ("squared", "root", "reciprocal"):
        words = (*words, "--num-subsets", "1")
    assert_trained(script, words)


@pytest.mark.parametrize("operation", ["add", "sub", "mul", "div", "squared", "root"])
def test_operations_of_two_layers(operation):
    words = ("--operation", operation, "--layer-type", "ReRegualizedLinearNAC", *SHORT)
    assert_trained("simple_function_static", words)
    assert_trained("simple_function_static", (*words, "--simple", "--id", "1"))


@pytest.mark.parametrize("nac_mul", ["normal", "safe", "max-safe", "mnac", "npu", "real-npu"])
def test_ways_to_multiply(nac_mul):
    unit = "ReRegualizedLinearNAC"
    words = ("--operation", "mul", "--layer-type", unit, "--nac-mul", nac_mul, *SHORT)
    assert_trained("simple_function_static", (*words, "--regualizer-z", "1"))


@pytest.mark.parametrize(
    "words",
    [
        ("--nalu-bias", "--nalu-two-nac", "--nalu-two-gate"),
        ("--nalu-mul", "safe"),
        ("--nalu-mul", "max-safe"),
        ("--nalu-mul", "trig"),
        ("--nalu-gate", "regualized"),
        ("--nalu-gate", "gumbel"),
        ("--nalu-gate", "obs-gumbel"),
        ("--nalu-gate", "linear", "--nalu-two-nac", "--nalu-init", "xavier-normal"),
        ("--nalu-gate", "independent", "--nalu-two-nac"),
        ("--nalu-gate-shape", "vector", "--nalu-init", "truncated"),
    ],
)
def test_variants_of_the_nalu(words):
    base = ("--operation", "add", "--layer-type", "NALU", "--input-size", "10", *SHORT)
    assert_trained("simple_function_static", (*base, *words))


def test_gated_nau_nmu():
    unit = ("--layer-type", "ReRegualizedLinearNALU", "--nalu-two-nac", "--nalu-mul", "mnac")
    words = (*unit, "--first-layer", "ReRegualizedLinearNAC", *SHORT)
    assert_trained("simple_function_static", words)


@pytest.mark.parametrize("unit", SECOND_LAYERS_ONLY)
def test_first_half_of_a_pair_of_names(unit, capsys):
    words = ("--layer-type", unit, *SHORT)
    assert run("simple_function_static", *words) == 2
    assert "--nac-mul mnac" in capsys.readouterr().err
    if "MNAC".join(unit.rsplit("NAC", 1)) in GeneralizedLayer.unit_names():
        pair = (*words, "--nac-mul", "mnac", "--first-layer", "ReRegualizedLinearNAC")
        assert_trained("simple_function_static", pair)


@pytest.mark.parametrize("flag", ["--nmu-noise", "--nau-noise"])
@pytest.mark.parametrize("layer", ["ReRegualizedLinearNAC", "ReRegualizedLinearMNAC", "NMRU"])
def test_noise(flag, layer):
    words = ("--operation", "mul", "--layer-type", layer, flag, *SHORT)
    assert_trained("single_layer", words)


def test_float64():
    words = ("--operation", "mul", "--layer-type", "ReRegualizedLinearMNAC", *SHORT)
    _, checkpoint = assert_trained("single_layer", (*words, "--pytorch-precision", "64"))
    assert {str(value.dtype) for value in checkpoint["model_state_dict"].values()} == {
        "torch.float64"
    }


def test_several_outputs_are_trained_on_one_target():
    words = ("--operation", "mul", "--layer-type", "NALU", "--output-size", "3", *SHORT)
    assert_trained("single_layer", words)


def test_more_than_a_product_of_all_inputs_diverges():
    words = ("--operation", "mul", "--layer-type", "ReRegualizedLinearMNAC", *SHORT)
    assert run("simple_function_static", *words) == 3
