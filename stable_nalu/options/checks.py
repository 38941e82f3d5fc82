"""Check what a single configuration must fulfil beyond the limits of each flag."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from stable_nalu.errors import OptionError

from .flag import Config
from .flags_training import NPU_PENALTIES
from .kinds import (
    BATCH_NOISE,
    activation_names,
    as_clause,
    buildable_layers,
    cell_names,
)
from .layer_options import units_of

Check = Callable[[Config], None]


def check_slices(c: Config) -> None:
    """Require slices that have a length, fit into the input and suffice for the operation."""
    from stable_nalu.dataset.simple_function import get_operation, subsets_from_ratios

    if c.simple:
        return
    try:
        subsets_from_ratios(c.input_size, c.subset_ratio, c.overlap_ratio, c.num_subsets)
    except ValueError as error:
        remedy = "change --subset-ratio, --overlap-ratio, --num-subsets or --input-size"
        raise OptionError("--subset-ratio", as_clause(error), remedy) from None
    try:
        get_operation(c.operation).check(c.num_subsets)
    except ValueError as error:
        raise OptionError("--num-subsets", as_clause(error), "use 2") from None


def check_distribution(c: Config) -> None:
    """Require ranges that suit the distribution."""
    from stable_nalu.dataset.distribution import SampleRange, make_distribution

    for flag, value, in_test in (
        ("--interpolation-range", c.interpolation_range, False),
        ("--extrapolation-range", c.extrapolation_range, True),
    ):
        distribution = make_distribution(c.sample_distribution, in_test)
        for interval in SampleRange.parse(value).intervals:
            try:
                distribution.check(interval)
            except ValueError as error:
                remedy = "choose a range that suits --sample-distribution"
                raise OptionError(flag, as_clause(error), remedy) from None


def check_divisors(c: Config) -> None:
    """Require that a score of division has a finite base: no sum of inputs may be about zero."""
    from stable_nalu.dataset.simple_function import SIMPLE_SUBSETS, subsets_from_ratios

    if c.operation != "div" or not (c.random_models or c.extrapolation_rule != "range"):
        return
    sizes = c.input_size, c.subset_ratio, c.overlap_ratio, c.num_subsets
    start, end = (SIMPLE_SUBSETS if c.simple else subsets_from_ratios(*sizes))[1]
    for flag in ("interpolation_range", "extrapolation_range"):
        require_no_zero(getattr(c, flag), end - start, f"--{flag.replace('_', '-')}")


def require_no_zero(sample_range: list[Any], summands: int, flag: str) -> None:
    """Require that the mean square of 1 / (a sum of so many inputs) is finite.

    Of a range that ends at zero, three uniform inputs are enough for that.
    """
    from stable_nalu.dataset.distribution import SampleRange

    intervals = [sorted(interval) for interval in SampleRange.parse(sample_range).intervals]
    low, high = min(i[0] for i in intervals), max(i[1] for i in intervals)
    around = any(i[0] < 0 < i[1] for i in intervals) or (low < 0 < high and summands > 1)
    if around or (summands < 3 and any(0 in interval for interval in intervals)):
        raise OptionError(
            flag,
            f"division on {sample_range} divides by zero, no score has a finite base there",
            "choose a range without zero, or leave out --random-models and other scores",
        )


def check_extrapolation_rule(c: Config) -> None:
    """Require that samples of the extrapolation range can exceed training, where they have to."""
    from stable_nalu.dataset.distribution import SampleRange

    if c.extrapolation_rule == "range":
        return
    training, test = (
        SampleRange.parse(value).intervals
        for value in (c.interpolation_range, c.extrapolation_range)
    )
    if min(min(i) for i in test) >= max(max(i) for i in training):
        return
    sizes = c.input_size, c.subset_ratio, c.overlap_ratio, c.num_subsets, c.simple
    error = _cannot_exceed(c.operation, repr((c.interpolation_range, c.extrapolation_range)), sizes)
    if error is not None:
        raise OptionError(
            "--extrapolation-range",
            error,
            "widen it beyond --interpolation-range, or leave out --extrapolation-rule exceed",
        )


@cache
def _cannot_exceed(operation: str, ranges: str, sizes: tuple[Any, ...]) -> str | None:
    """Return what keeps the test rows from being drawn; it hardly depends on the seed."""
    from ast import literal_eval

    from stable_nalu.dataset import SimpleFunctionStaticDataset
    from stable_nalu.dataset.exceeding import ExceedingStream

    names = "input_size", "subset_ratio", "overlap_ratio", "num_subsets", "simple"
    dataset = SimpleFunctionStaticDataset(operation, **dict(zip(names, sizes, strict=True)), seed=0)
    training, test = literal_eval(ranges)
    try:
        ExceedingStream(dataset, training, test, seed=0)[0:1000]
    except ValueError as error:
        return as_clause(error)
    return None


def check_sequences(c: Config) -> None:
    """Require slices that fit into the vector, and divisors that keep away from zero in scores."""
    from stable_nalu.dataset import SimpleFunctionRecurrentDataset

    if c.subset_ratio is None and c.is_typed("overlap_ratio"):
        raise OptionError("--overlap-ratio", "has no slice to be part of", "add --subset-ratio")
    try:
        dataset = SimpleFunctionRecurrentDataset(
            c.operation,
            c.input_size,
            subset_ratio=c.subset_ratio,
            overlap_ratio=c.overlap_ratio,
            simple=c.simple,
            seed=c.seed,
        )
    except ValueError as error:
        flag = "--input-size" if c.subset_ratio is None else "--subset-ratio"
        remedy = "change --input-size, --subset-ratio or --overlap-ratio"
        raise OptionError(flag, as_clause(error), remedy) from None
    if c.operation == "div" and c.random_models:
        start, end = dataset.subset_ranges[1]
        require_no_zero(c.input_range, (end - start) * c.interpolation_length, "--input-range")


def check_schedule(c: Config) -> None:
    """Require that a linear ramp ends behind its start."""
    start, end = c.regualizer_scaling_start, c.regualizer_scaling_end
    if c.regualizer_scaling == "linear" and start >= end:
        ends = f"and ends at iteration {end}" if start == end else f"at {start} and ends at {end}"
        raise OptionError(
            "--regualizer-scaling-end",
            f"the ramp starts {ends}",
            "start and end must differ, and the start, --regualizer-scaling-start, comes first",
        )


def check_growing_beta(c: Config) -> None:
    """Require that beta ends above its start, where it only grows; elsewhere it may fall, too."""
    start, end = c.regualizer_beta_start, c.regualizer_beta_end
    if end < start and (c.regualizer_l1 or c.regualizer_npu_w or c.regualizer_gate):
        raise OptionError(
            "--regualizer-beta-end",
            f"{end} is less than --regualizer-beta-start {start}",
            "beta only grows in this script; give a larger one",
        )


def check_optimizer(c: Config) -> None:
    """Refuse momentum for Adam, which takes none."""
    if c.optimizer == "adam" and c.momentum != 0:
        raise OptionError(
            "--momentum", f"{c.momentum} has no effect with adam", "add --optimizer sgd"
        )


def check_nalu(c: Config, init: str = "default") -> None:
    """Require a gate that can be built, and own weights for a NALU that multiplies by an NMU.

    init: what --nalu-init is by default, which other units may leave as it is.
    """
    if c.nalu_mul == "mnac" and not c.nalu_two_nac:
        raise OptionError("--nalu-mul", "mnac shares no weights with adding", "add --nalu-two-nac")
    if c.nalu_gate == "independent" and c.nalu_gate_shape == "vector":
        problem = "vector maps inputs to one gate, an independent gate has no inputs"
        raise OptionError("--nalu-gate-shape", problem, "leave it out")
    if c.nalu_gate == "independent" and c.nalu_bias:
        problem = "an independent gate is nothing but a bias"
        raise OptionError("--nalu-bias", problem, "leave it out")
    for flag, asks in (
        ("--nalu-gate", c.nalu_gate in ("linear", "independent")),
        ("--nalu-gate-shape", c.nalu_gate_shape != "matrix"),
        ("--nalu-init", c.nalu_init != init),
    ):
        if asks:
            _require_nalu(flag, c)


def _require_nalu(flag: str, c: Config) -> None:
    from stable_nalu.layer import entries

    units = units_of(c)
    # Tasks have networks of their own, which are in no registry.
    found = [entries()[unit] for unit in units if unit in entries()]
    if not any("nalu_gate" in entry.options for entry in found):
        raise OptionError(flag, f"{units[0]} is no NALU and has no gate", "use --layer-type NALU")


def check_files(c: Config) -> None:
    """Refuse wishes about files that contradict each other."""
    for flag, given in (("--load-checkpoint", c.load_checkpoint), ("--resume", c.resume)):
        if given and c.remove_existing_data:
            raise OptionError(
                "--remove-existing-data",
                f"would delete the log of the run that {flag} resumes",
                "give only one of the two",
            )
    if c.no_save and c.checkpoint_interval:
        raise OptionError(
            "--checkpoint-interval", "saves nothing with --no-save", "give only one of the two"
        )


def check_units(c: Config) -> None:
    """Refuse options that the chosen units cannot follow."""
    units = {c.layer_type, c.first_layer} - {None}
    if c.trash_cell and "NRU" not in units:
        raise OptionError(
            "--trash-cell",
            f"{c.layer_type} has no trash cell, only the NRU has one",
            "use --layer-type NRU or leave the flag out",
        )
    if c.noise_range == BATCH_NOISE and "SignNMRU" in units:
        raise OptionError(
            "--noise-range",
            "SignNMRU reads it as plain bounds and cannot draw from [1,0]",
            "write the low end first; only the NMU knows [1,0]",
        )


def check_single_layer(c: Config) -> None:
    """Require one unit that can be built; hidden layers are for plain activations only."""
    _check_buildable("--layer-type", c.layer_type)
    if c.mlp_depth > 0 and c.layer_type not in activation_names():
        raise OptionError(
            "--mlp-depth",
            f"{c.layer_type} is not a plain activation and has no hidden layers",
            f"choose --layer-type from {', '.join(activation_names())}",
        )


def check_two_layers(c: Config) -> None:
    """Require two layers that can be built and a second one that multiplies as asked for."""
    _check_buildable(
        "--first-layer" if c.first_layer else "--layer-type", c.first_layer or c.layer_type
    )
    if c.nac_mul == "mnac":
        _check_multiplying_form(c, buildable_layers())
    elif c.nac_mul not in ("npu", "real-npu"):
        _check_buildable("--layer-type", c.layer_type)


def check_cell(c: Config) -> None:
    """Require a cell that multiplies as asked for, and one label where a reference replaces it."""
    if c.nac_mul == "mnac":
        _check_multiplying_form(c, cell_names())
    outputs = next(getattr(c, f) for f in ("mnist_outputs", "svhn_outputs") if hasattr(c, f))
    if c.model_simplification != "none" and outputs > 1:
        raise OptionError(
            "--model-simplification",
            f"{c.model_simplification} takes one label, the image network gives {outputs}",
            "ask for one output",
        )
    if c.nac_mul == "normal" and c.layer_type == "LSTM":
        raise OptionError(
            "--nac-mul", "an LSTM has a pair of states and no logarithm of it", "leave it out"
        )


def _check_multiplying_form(c: Config, units: Sequence[str]) -> None:
    """Require that `units` hold the form of a unit that multiplies, as `mnac` asks for."""
    multiplying = [f"{name[:-4]}NAC" for name in units if name.endswith("MNAC")]
    if c.layer_type not in multiplying:
        raise OptionError(
            "--nac-mul",
            f"{c.layer_type} has no multiplying form for mnac",
            f"units that have one: {', '.join(multiplying)}",
        )


def _check_buildable(flag: str, unit: str) -> None:
    from stable_nalu.layer import entries

    entry = entries()[unit]
    if entry.layer is None:
        raise OptionError(
            flag,
            f"{unit} only names a second layer and cannot be built itself",
            "combine it with --nac-mul mnac and a --first-layer",
        )


def check_no_npu_terms(c: Config) -> None:
    """Refuse penalties that the plain two-layer script does not have."""
    for flag in NPU_PENALTIES:
        if getattr(c, flag.dest) != flag.default:
            raise OptionError(
                flag.name,
                "the loss of simple_function_static has no such term",
                "use simple_function_static_npu",
            )


def check_device(c: Config) -> None:
    """Refuse `--cuda` and `--no-cuda` where they contradict each other."""
    if c.cuda and c.no_cuda:
        raise OptionError("--cuda", "contradicts --no-cuda", "give only one of the two")
    if c.cuda:
        import torch

        if not torch.cuda.is_available():
            raise OptionError("--cuda", "there is no GPU that torch can use", "leave it out")
