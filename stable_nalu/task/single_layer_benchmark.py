"""One module alone, or a plain MLP, as in the benchmark of single modules, with iNALU's rules."""

from __future__ import annotations

from stable_nalu.options import Config, Flag, FlagGroup, switch
from stable_nalu.options import name_fields as nf
from stable_nalu.options.flags_model import (
    NALU,
    NALU_GATE,
    NALU_MUL,
    NPU,
    OWN_LAYERS,
    WEIGHTS,
)
from stable_nalu.options.flags_task import CRITERION, OPTIMIZER, TASK
from stable_nalu.options.flags_training import NPU_PENALTIES, PENALTIES, RUN_CONTROL
from stable_nalu.options.kinds import integer, number

from . import arithmetic

_REINIT = FlagGroup(
    "Restarts",
    switch(
        "--reinit", "Draw new start weights when validation has stopped improving (iNALU's rule)."
    ),
    Flag(
        "--reinit-epoch-interval",
        integer(1),
        10,
        "Iterations between two tests of the restart rule.",
    ),
    Flag(
        "--reinit-max-stored-losses",
        integer(0),
        5000,
        "The rule applies once more validation errors than this are stored.",
    ),
    Flag(
        "--reinit-loss-thr",
        number(),
        1.0,
        "Restart only while the mean of the newer half of the stored errors exceeds this.",
    ),
)

# Published names of these layers come from a script without criteria, hence without the field.
_NO_CRITERION_FIELD = ("MCFC", "MulMCFC", "MulMCFCSignINALU", "MulMCFCSignRealNPU")


def _criterion(c: Config) -> str | None:
    return None if c.layer_type in _NO_CRITERION_FIELD else nf.criterion(c)


SCRIPT = arithmetic.script(
    name="single_layer_benchmark",
    short="B",
    summary="Train one arithmetic unit, or a plain MLP, on the benchmark of single modules.",
    example="--operation mul --layer-type iNALU --clip-grad-value 0.1 --reinit --seed 0-24",
    groups=(
        TASK.without("--sample-distribution"),
        arithmetic.SINGLE_NETWORK,
        OWN_LAYERS,
        WEIGHTS.without("--trash-cell", "--W-set-count"),
        NALU.but(
            nalu_mul={"choices": (*NALU_MUL, "golden-ratio")},
            nalu_gate={"choices": (*NALU_GATE, "golden-ratio")},
        ),
        NPU,
        PENALTIES,
        NPU_PENALTIES.without("--lp-norm"),
        CRITERION,
        OPTIMIZER,
        _REINIT,
        arithmetic.SINGLE_LOGGING,
        RUN_CONTROL,
    ),
    name_fields=(
        nf.NameField(
            arithmetic.single_layer_model,
            ("layer_type", *nf.NALU_FLAGS, "nac_weight", "nru_div_mode"),
            arithmetic.ONLY_NALU | {"nac_weight": "printed for layers NALU and NAC only"},
        ),
        *nf.COMMON,
        *nf.SINGLE_PENALTIES,
        nf.GRAD_NORM,
        nf.GRAD_VALUE,
        nf.RESTARTS,
        nf.NameField(
            _criterion,
            nf.CRITERION.flags,
            {**nf.CRITERION.partial, "train_criterion": "not printed for the MCFC layers"},
        ),
        nf.ID,
    ),
    checks=arithmetic.SINGLE_LAYER_CHECKS,
)


class SingleLayerBenchmark(arithmetic.SingleLayerTask):
    """iNALU's penalty begins when validation says so."""

    penalizes_inalu = True


TASK = SingleLayerBenchmark()
