"""Check what a single configuration must fulfil beyond the limits of each flag."""

from collections.abc import Sequence
from typing import Any

from stable_nalu.base.errors import OptionError
from stable_nalu.layer import entries

from .flag import Config
from .kinds import cell_names
from .layer_options import units_of


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
    asked = {
        "--nalu-gate": c.nalu_gate in ("linear", "independent"),
        "--nalu-gate-shape": c.nalu_gate_shape != "matrix",
        "--nalu-init": c.nalu_init != init,
    }
    if any(asked.values()):
        # Tasks have networks of their own, which are in no registry.
        found = [entries()[unit] for unit in units_of(c) if unit in entries()]
        if not any("nalu_gate" in entry.options for entry in found):
            flag = next(flag for flag, asks in asked.items() if asks)
            problem = f"{units_of(c)[0]} is not a NALU and has no gate"
            raise OptionError(flag, problem, "use --layer-type NALU")


def check_files(c: Config) -> None:
    """Reject contradictory file options."""
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


def check_cell(c: Config) -> None:
    """Require a cell that multiplies as asked for, and one label where a reference replaces it."""
    if c.nac_mul == "mnac":
        check_multiplying_form(c, cell_names())
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


def check_multiplying_form(c: Config, units: Sequence[str]) -> None:
    """Require that `units` hold the form of a unit that multiplies, as `mnac` asks for."""
    multiplying = [f"{name[:-4]}NAC" for name in units if name.endswith("MNAC")]
    if c.layer_type not in multiplying:
        raise OptionError(
            "--nac-mul",
            f"{c.layer_type} has no multiplying form for mnac",
            f"units that have one: {', '.join(multiplying)}",
        )


def check_device(c: Config) -> None:
    """Refuse `--cuda` and `--no-cuda` where they contradict each other."""
    if c.cuda and c.no_cuda:
        raise OptionError("--cuda", "contradicts --no-cuda", "give only one of the two")
    if c.cuda:
        import torch

        if not torch.cuda.is_available():
            raise OptionError("--cuda", "there is no GPU that torch can use", "leave it out")
