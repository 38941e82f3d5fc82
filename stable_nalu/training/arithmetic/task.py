"""What distinguishes the arithmetic scripts; everything else is the one trainer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.network import SimpleFunctionStaticNetwork, SingleLayerNetwork
from stable_nalu.options import Config

BuildNetwork = Callable[[Config, dict[str, object]], ExtendedTorchModule]


def build_static(config: Config, layer_options: dict) -> ExtendedTorchModule:
    """The two-layer network of the arithmetic data set."""
    return SimpleFunctionStaticNetwork(
        config.layer_type,
        config.inputs,
        config.hidden_size,
        first_layer=config.first_layer,
        nac_mul=config.nac_mul,
        **layer_options,
    )


def build_single_layer(config: Config, layer_options: dict) -> ExtendedTorchModule:
    """One module alone, or an MLP."""
    return SingleLayerNetwork(
        config.layer_type,
        config.inputs,
        getattr(config, "output_size", 1),
        hidden_size=config.hidden_size,
        mlp_depth=getattr(config, "mlp_depth", 0),
        nac_mul=config.nac_mul,
        **layer_options,
    )


@dataclass(frozen=True)
class Task:
    """A script of the static or single-layer family.

    `curriculum_ranges` replace the training range by stages; `curriculum_threshold` is the total
    loss that opens stage 2, and a tenth of it each later one.
    """

    build: BuildNetwork
    evaluates: bool = True
    evaluates_in_eval_mode: bool = True
    test_is_extrapolation: bool = False
    robustness_logging: bool = False
    beta_tag_verbose_only: bool = False
    beta_only_grows: bool = False
    penalizes_inalu: bool = False
    console_interval: int | None = None
    reports_success: bool = False
    prints_weights_always: bool = False
    curriculum_ranges: tuple[tuple[float, float], ...] = ()
    curriculum_threshold: float = 1e-2


TASKS = {
    "simple_function_static": Task(
        build_static, reports_success=True, prints_weights_always=True, beta_tag_verbose_only=True
    ),
    "simple_function_static_npu": Task(
        build_static, reports_success=True, prints_weights_always=True, beta_tag_verbose_only=True
    ),
    "single_layer": Task(build_single_layer, test_is_extrapolation=True),
    "single_layer_benchmark": Task(build_single_layer, penalizes_inalu=True),
    "single_layer_robust": Task(
        build_single_layer,
        evaluates=False,
        robustness_logging=True,
        beta_tag_verbose_only=True,
        console_interval=1000,
    ),
    "single_layer_curriculum": Task(
        build_single_layer,
        evaluates_in_eval_mode=False,
        beta_only_grows=True,
        curriculum_ranges=((1.1, 1.125), (1.1, 1.15), (1.1, 1.175), (1.1, 1.2)),
    ),
}
