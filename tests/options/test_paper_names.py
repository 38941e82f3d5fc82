"""Names of the papers as values of --layer-type: what they stand for, and which are refused."""

import shlex

import pytest

from stable_nalu.layer.registry import SPELLINGS
from stable_nalu.options.flag import MODELS
from stable_nalu.paper.arithmetic_units import ALL
from stable_nalu.task.table import SCRIPTS

TWO = "--operation mul --seed 3"
SEEDS = {
    "Linear": "linear",
    "NAC-add": "NAC",
    "NAC-mul": "NAC --nac-mul normal",
    "NAC-sigma": "PosNAC --nac-mul normal --first-layer NAC",
    "NAC-nmu": "ReRegualizedLinearPosNAC --nac-mul normal --first-layer ReRegualizedLinearNAC",
    "NALU": "NALU",
    "NAU": "ReRegualizedLinearNAC",
    "NMU": "ReRegualizedLinearNAC --nac-mul mnac",
}
"""Names of the first README; NAC-sigma with the first layer of the paper and its batch script."""


def planned(script: str, unit: str, text: str = TWO):
    """Configuration and run name of one run."""
    spec = SCRIPTS[script]
    (config,) = spec.plan(["--layer-type", unit, *shlex.split(text)]).configs
    return config, spec.run_name(config)


def longhand(script: str, flags: str, text: str = TWO):
    unit, *more = flags.split(maxsplit=1)
    return planned(script, unit, " ".join((*more, text)))


@pytest.mark.parametrize(("name", "flags"), SEEDS.items())
def test_a_name_of_the_first_readme_is_the_model_of_two_layers(name, flags):
    for spelling in (name, name.lower() if "-" in name else name):
        assert planned("simple_function_static", spelling) == longhand(
            "simple_function_static", flags
        )


@pytest.mark.parametrize("name", [n for n in MODELS if n != "NPU"])
def test_every_name_and_spelling_gives_its_flags(name):
    expected = longhand("simple_function_static", MODELS[name].removeprefix("--layer-type "))
    for spelling in (name, *SPELLINGS.get(name, ())):
        assert planned("simple_function_static", spelling) == expected


def test_the_names_in_the_figures_train_what_the_catalogue_trains():
    """The table of units in Neural Arithmetic Units, by the labels of its models."""
    for model in ALL:
        config, _ = planned("simple_function_static", model.label)
        for flag in ("--layer-type", "--nac-mul", "--first-layer", "--nalu-mul"):
            if flag in model.flags:
                assert getattr(config, flag[2:].replace("-", "_")) == model.flags[flag][0]


@pytest.mark.parametrize(
    ("script", "name", "flags", "more"),
    [
        ("single_layer", "NMU", "ReRegualizedLinearMNAC", TWO),
        ("single_layer", "sNMU", "ReRegualizedLinearMNAC --nmu-noise", TWO),
        ("single_layer", "NAC*", "MNAC", TWO),
        ("single_layer", "Real NPU", "RealNPU", TWO),
        ("single_layer_benchmark", "NAU", "ReRegualizedLinearNAC", TWO),
        ("single_layer", "DMU_sub", "DMU --layer-option operands=sub", TWO),
        (
            "simple_function_static",
            "NALUIG",
            "NALU --nalu-gate independent --nalu-init uniform --layer-option eps=1e-10",
            TWO,
        ),
        ("simple_function_recurrent", "NMU", "ReRegualizedLinearMNAC", "--operation add"),
        ("number_translation", "NAU", "ReRegualizedLinearNAC", ""),
        ("mystery_arithmetic", "NMU", "ReRegualizedLinearMNAC", ""),
        ("sequential_mnist", "NMU", "ReRegualizedLinearNAC --nac-mul mnac", "--seed 1"),
        ("sequential_mnist", "NAC-sigma", "PosNAC --nac-mul normal", "--seed 1"),
    ],
)
def test_a_name_means_what_the_script_trains(script, name, flags, more):
    assert planned(script, name, more) == longhand(script, flags, more)


def test_a_name_with_options_takes_more_of_them():
    typed = "--operation add --layer-option temperature=1 temperature=0.5"
    configs = SCRIPTS["single_layer"].plan(shlex.split(f"{typed} --layer-type DMU-add")).configs
    options = [config.layer_option for config in configs]
    assert options == [(f"temperature={t}", "operands=add") for t in ("1", "0.5")]
