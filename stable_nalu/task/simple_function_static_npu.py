"""The arithmetic data set again, with the penalties of the NPU papers in the loss."""

from stable_nalu.options import run_names as nf

from . import arithmetic
from .simple_function_static import CHECKS, GROUPS, NAME, TASK

SCRIPT = arithmetic.script(
    name="simple_function_static_npu",
    nac_mul_acts=True,
    summary="Train two layers on the arithmetic data set, with the L1 and NPU penalties in the "
    "loss.",
    example="--operation div --layer-type ReRegualizedLinearNAC --nac-mul npu --regualizer-l1",
    groups=GROUPS,
    name_fields=(*NAME, nf.trailing(nf.NOISE_RANGE), nf.trailing(nf.ID)),
    checks=CHECKS,
)

__all__ = ["SCRIPT", "TASK"]
