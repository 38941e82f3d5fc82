"""Every layer type trains a few iterations in every network, as its name, tags and files say."""

import pytest
import torch

from stable_nalu.layer import entries
from stable_nalu.options.flag import buildable_layers
from tests.experiments.scripts import read, run, run_names, saved

LAYERS = sorted(buildable_layers())
SECOND_LAYERS_ONLY = sorted(k for k, e in entries().items() if e.layer is None and e.cell is None)
SHORT = "--max-iterations 3 --log-interval 2"
METRICS = {"metric/valid/interpolation", "metric/test/extrapolation"}
LOSSES = {f"loss/train/{name}" for name in ("critation", "regualizer", "total")}
ALL_PENALTIES = "--regualizer-z 1 --regualizer-scaling-start 0 --oob-mode regualized"
IN_TORCH = "--engine torch"
"""Where the engine would take longer to compile; tests/training/engine has its numbers."""
WITHOUT_LOGS = ("EQL", "EQLDiv", "EnsembleGumbelNAU", "NSR", "SigmoidNAU", "ScaledSigmoidNAU")


def trained(script, words):
    """Log and saved state of a short run."""
    assert run(script, words, SHORT) == 0
    (name,) = run_names(script, words, SHORT)
    record, checkpoint = read(name), saved(name)
    assert METRICS | LOSSES <= record.tags
    assert list(record.series("metric/valid/interpolation")) == [0, 2, 3]
    assert checkpoint["epoch"] == 4
    return record, checkpoint


@pytest.mark.parametrize("layer", LAYERS)
def test_verbose_with_all_penalties(layer):
    narrow = "--layer-option width=2" if layer.startswith("EQL") else ""
    words = f"--operation mul --layer-type {layer} {ALL_PENALTIES} --verbose {narrow}"
    record, _ = trained("single_layer_benchmark", words)
    assert list(record.series("loss/train/total")) == [0, 1, 2, 3]
    assert "network/x/mean" in record.tags
    total, parts = (record.series(f"loss/train/{n}") for n in ("total", "critation"))
    penalty = record.series("loss/train/regualizer")
    for step, value in total.items():
        assert value == pytest.approx(parts[step] + penalty[step], rel=1e-5)


@pytest.mark.parametrize("layer", [one for one in LAYERS if one != "EML"])  # exp(exp) overflows
def test_two_layers(layer):
    # The products of 100 inputs overflow.
    words = f"--operation add --layer-type {layer} --input-size 4 {IN_TORCH}"
    if layer in ("NPU", "RealNPU"):  # names of published models, too
        words += " --nac-mul none"
    record, checkpoint = trained("simple_function_static", words)
    assert {key.split(".")[0] for key in checkpoint["model_state_dict"]} == {"layer_1", "layer_2"}
    assert any("network/" in tag for tag in record.tags) == (layer not in WITHOUT_LOGS)


@pytest.mark.parametrize("layer", ["NAC", "NRU", "MCFC", "GumbelNALU", "Tanh"])
def test_curriculum(layer):
    trained("single_layer_curriculum", f"--operation add --layer-type {layer}")


@pytest.mark.parametrize("layer", ["ReRegualizedLinearNAC", "NALU", "RealNPU", "SignNMRU"])
def test_robustness_script_has_no_metrics(layer):
    words = f"--operation mul --layer-type {layer} {SHORT}"
    assert run("single_layer_robust", words) == 0
    record = read(run_names("single_layer_robust", words)[0])
    assert record.tags >= LOSSES
    assert not record.tags & METRICS


@pytest.mark.parametrize("layer", ["NPU", "RealNPU", "MulMCFCSignRealNPU", "GatedSignNMRU"])
@pytest.mark.parametrize("scale", ["heim", "madsen"])
def test_penalties_of_the_npu_papers(layer, scale):
    words = (
        f"--operation div --layer-type {layer} --regualizer-npu-w 1 --regualizer-gate 1 "
        "--regualizer-l1 --regualizer-scaling-start 0 --regualizer-scaling-end 4 "
        f"--reg-scale-type {scale}"
    )
    record, _ = trained("single_layer_benchmark", words)
    assert record.series("L1/train/beta") == {0: pytest.approx(1e-5), 2: pytest.approx(1e-5)}


OF_TWO = "simple_function_static", "--layer-type ReRegualizedLinearNAC"
NALU = "simple_function_static", "--operation add --layer-type NALU --input-size 4"


@pytest.mark.parametrize(
    ("script", "words"),
    [
        *(
            ("single_layer_benchmark", f"--layer-type RealNPU --num-subsets {n} --operation {name}")
            for n, name in ((2, "sub"), (1, "squared"), (1, "root"), (1, "reciprocal"))
        ),
        *(
            (OF_TWO[0], f"{OF_TWO[1]} --operation {name} --simple --id 1")
            for name in ("sub", "div")
        ),
        *(
            (OF_TWO[0], f"{OF_TWO[1]} --operation mul --nac-mul {how} --regualizer-z 1")
            for how in ("normal", "safe", "max-safe", "mnac", "npu", "real-npu")
        ),
        *(
            (NALU[0], f"{NALU[1]} {flags}")
            for flags in (
                "--nalu-bias --nalu-two-nac --nalu-two-gate --nalu-mul safe",
                "--nalu-mul max-safe --nalu-gate regualized",
                "--nalu-mul trig --nalu-gate obs-gumbel",
                "--nalu-gate linear --nalu-two-nac --nalu-init xavier-normal",
                "--nalu-gate independent --nalu-two-nac",
                "--nalu-gate gumbel --nalu-gate-shape vector --nalu-init truncated",
            )
        ),
        (
            "simple_function_static",
            "--layer-type ReRegualizedLinearNALU --nalu-two-nac --nalu-mul mnac "
            "--first-layer ReRegualizedLinearNAC",
        ),
        ("single_layer", "--nmu-noise --nau-noise --operation mul --layer-type NMRU"),
        ("single_layer", "--operation mul --layer-type NALU --output-size 3"),
    ],
)
def test_options(script, words):
    trained(script, f"{words} {IN_TORCH}")


@pytest.mark.parametrize("unit", SECOND_LAYERS_ONLY)
def test_first_half_of_a_pair_of_names(unit, capsys):
    assert run("simple_function_static", f"--layer-type {unit} {SHORT}") == 2
    assert "--nac-mul mnac" in capsys.readouterr().err
    if "MNAC".join(unit.rsplit("NAC", 1)) in buildable_layers():
        words = f"--layer-type {unit} --nac-mul mnac --first-layer ReRegualizedLinearNAC"
        trained("simple_function_static", words)


def test_float64():
    words = "--operation mul --layer-type ReRegualizedLinearMNAC --pytorch-precision 64"
    _, checkpoint = trained("single_layer", words)
    assert {v.dtype for v in checkpoint["model_state_dict"].values()} == {torch.float64}


def test_more_than_a_product_of_all_inputs_diverges():
    words = f"--operation mul --layer-type ReRegualizedLinearMNAC {SHORT}"
    assert run("simple_function_static", words) == 3
