"""One training iteration: loss, gradients, clipping, optimiser and schedules."""

from .step import StepResult, TrainingStep, per_run_value

__all__ = ["StepResult", "TrainingStep", "per_run_value"]
