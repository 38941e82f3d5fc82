"""The arithmetic training scripts: which flags each takes and how it names its runs."""

from __future__ import annotations

from functools import partial

from . import checks
from . import name_fields as nf
from .flags_model import NALU, NALU_GATE, NALU_MUL, NETWORK, NPU, OWN_LAYERS, WEIGHTS
from .flags_task import CRITERION, OPTIMIZER, REINIT, SCORE, STATIC_OPERATIONS, TASK
from .flags_training import LOGGING, NPU_PENALTIES, PENALTIES, RUN_CONTROL
from .script_spec import ScriptSpec

_ALL_GROUPS = (
    TASK,
    NETWORK,
    OWN_LAYERS,
    WEIGHTS,
    NALU,
    NPU,
    PENALTIES,
    NPU_PENALTIES,
    CRITERION,
    OPTIMIZER,
    REINIT,
    SCORE,
    LOGGING,
    RUN_CONTROL,
)
_FIXED = {flag.dest: flag.default for group in _ALL_GROUPS for flag in group}

_WEIGHT_PULL = "it had no effect in the published code either, leave it out"
_REFUSED = {"--weight-pull-start": _WEIGHT_PULL, "--weight-pull-end": _WEIGHT_PULL}
_arithmetic = partial(
    ScriptSpec,
    training="stable_nalu.training.arithmetic.trainer",
    refused=_REFUSED,
    fixed=_FIXED,
    drawn_by=(
        *("seed", "interpolation_range", "sample_distribution", "batch_size"),
        *("input_size", "simple", "num_subsets", "subset_ratio", "overlap_ratio"),
    ),
)

_COMMON_CHECKS = (
    checks.check_slices,
    checks.check_schedule,
    checks.check_optimizer,
    checks.check_nalu,
    checks.check_units,
    checks.check_files,
)
_TWO_LAYER_CHECKS = (*_COMMON_CHECKS, checks.check_two_layers)
_SINGLE_LAYER_CHECKS = (*_COMMON_CHECKS, checks.check_single_layer, checks.check_distribution)

_STATIC_TASK = TASK.without("--sample-distribution").but(
    operation={"choices": STATIC_OPERATIONS},
    input_size={"default": 100},
    subset_ratio={"default": 0.25},
    overlap_ratio={"default": 0.5},
)
_STATIC_GROUPS = (
    _STATIC_TASK,
    NETWORK.only("--layer-type", "--first-layer", "--hidden-size", "--nac-mul"),
    OWN_LAYERS,
    WEIGHTS.without("--nru-div-mode"),
    NALU.without("--nac-weight"),
    NPU.without("--realnpu-reg-type"),
    PENALTIES,
    NPU_PENALTIES.without("--lp-norm"),
    CRITERION.but(pcc2mse_iteration={"default": 750000}),
    OPTIMIZER.without("--clip-grad-norm", "--clip-grad-value"),
    LOGGING,
    RUN_CONTROL,
)
_STATIC_NAME = (
    nf.TWO_LAYER_MODEL,
    *nf.COMMON,
    nf.L1,
    nf.BETA,
    nf.NPU_W,
    nf.GATE,
    nf.SCALE_TYPE,
    nf.NPU_CLIP,
    nf.NPU_INIT,
    nf.PRECISION,
    nf.NMU_NOISE,
    nf.NAU_NOISE,
    nf.BETA_NAU,
    nf.CRITERION_TRASH,
)
_NO_TERM = {
    flag.dest: {"note": "refused unless at its default, the loss has no such term"}
    for flag in NPU_PENALTIES.without("--lp-norm")
}

SIMPLE_FUNCTION_STATIC = _arithmetic(
    name="simple_function_static",
    nac_mul_acts=True,
    summary="Train two layers on the arithmetic data set: sums of two slices of a vector, joined "
    "by an operation.",
    example="--operation mul --layer-type ReRegualizedLinearNAC --nac-mul mnac --seed 0-9",
    groups=(
        *(
            group.but(**_NO_TERM) if group.title == NPU_PENALTIES.title else group
            for group in _STATIC_GROUPS
        ),
        SCORE,
    ),
    name_fields=(
        *_STATIC_NAME,
        nf.ID,
        nf.LAYER_OPTION,
        *nf.NALU_TRAILING,
        nf.EXTRAPOLATION_RULE,
        nf.RANDOM_MODELS,
    ),
    checks=(
        *_TWO_LAYER_CHECKS,
        checks.check_no_npu_terms,
        checks.check_divisors,
        checks.check_extrapolation_rule,
    ),
)

SIMPLE_FUNCTION_STATIC_NPU = _arithmetic(
    name="simple_function_static_npu",
    nac_mul_acts=True,
    summary="Train two layers on the arithmetic data set, with the L1 and NPU penalties in the "
    "loss.",
    example="--operation div --layer-type ReRegualizedLinearNAC --nac-mul npu --regualizer-l1",
    groups=_STATIC_GROUPS,
    name_fields=(
        *_STATIC_NAME,
        nf.trailing(nf.NOISE_RANGE),
        nf.trailing(nf.ID),
        nf.LAYER_OPTION,
        *nf.NALU_TRAILING,
    ),
    checks=_TWO_LAYER_CHECKS,
)

_SINGLE_NETWORK = NETWORK.but(
    first_layer={"note": "recorded without effect, there is one layer"},
    hidden_size={"note": "used by plain activations only, recorded otherwise"},
    nac_mul={"note": "only max-safe has an effect, it adds the penalty z of the output"},
)
_SINGLE_SAVING = LOGGING.without("--save-best-model")
_SINGLE_NPU_TAIL = (
    nf.L1, nf.BETA, nf.NPU_W_TYPED, nf.GATE, nf.SCALE_TYPE, nf.NPU_CLIP, nf.NPU_INIT,
)  # fmt: skip

SINGLE_LAYER = _arithmetic(
    name="single_layer",
    summary="Train one arithmetic unit alone on two or more inputs.",
    example="--operation div --layer-type RealNPU --learning-rate 5e-3 --seed 0-24",
    groups=(
        TASK,
        _SINGLE_NETWORK.without("--mlp-bias", "--mlp-depth"),
        OWN_LAYERS,
        WEIGHTS.without("--W-set-count"),
        NALU.without("--nac-weight"),
        NPU,
        PENALTIES,
        NPU_PENALTIES,
        CRITERION,
        OPTIMIZER.without("--clip-grad-value"),
        _SINGLE_SAVING,
        RUN_CONTROL,
    ),
    name_fields=(
        nf.SINGLE_LAYER_MODEL,
        *nf.COMMON,
        nf.DISTRIBUTION,
        nf.NOISE_RANGE,
        *_SINGLE_NPU_TAIL,
        nf.NMU_NOISE,
        nf.GRAD_NORM,
        nf.CRITERION_TRASH,
        nf.ID,
        nf.LAYER_OPTION,
        *nf.NALU_TRAILING,
    ),
    checks=_SINGLE_LAYER_CHECKS,
)

SINGLE_LAYER_ROBUST = _arithmetic(
    name="single_layer_robust",
    summary="Train one arithmetic unit without validation and log its weights' path.",
    example="--operation mul --layer-type ReRegualizedLinearMNAC --nmu-noise --verbose",
    groups=(
        TASK.but(extrapolation_range={"note": "part of the run name only, nothing is evaluated"}),
        _SINGLE_NETWORK.without("--mlp-bias", "--mlp-depth"),
        OWN_LAYERS,
        WEIGHTS.without("--trash-cell", "--W-set-count"),
        NALU.without("--nac-weight"),
        NPU,
        PENALTIES,
        NPU_PENALTIES.without("--lp-norm"),
        CRITERION,
        OPTIMIZER.without("--clip-grad-value"),
        _SINGLE_SAVING.but(id={"note": "recorded only, the run name lacks it", "result": False}),
        RUN_CONTROL,
    ),
    name_fields=(
        nf.SINGLE_LAYER_MODEL,
        *nf.COMMON,
        nf.ROBUST_DISTRIBUTION,
        nf.NOISE_RANGE,
        *_SINGLE_NPU_TAIL,
        nf.NMU_NOISE,
        nf.GRAD_NORM,
        nf.LOG_INTERVAL,
        nf.CRITERION,
        nf.LAYER_OPTION,
        *nf.NALU_TRAILING,
    ),
    checks=_SINGLE_LAYER_CHECKS,
)

SINGLE_LAYER_CURRICULUM = _arithmetic(
    name="single_layer_curriculum",
    drawn_by=(),
    summary="Train one arithmetic unit on four ranges, from [1.1,1.125] to [1.1,1.2]; the next "
    "begins when the loss is low enough.",
    example="--operation add --layer-type NAC --learning-rate 0.01",
    groups=(
        TASK.without("--sample-distribution").but(
            operation={"choices": STATIC_OPERATIONS},
            interpolation_range={"note": "range of the validation inputs, training has its own"},
        ),
        _SINGLE_NETWORK.without("--output-size", "--mlp-bias", "--mlp-depth"),
        OWN_LAYERS,
        WEIGHTS,
        NALU.without("--nac-weight"),
        NPU,
        PENALTIES,
        NPU_PENALTIES.without("--reg-scale-type", "--lp-norm").but(
            regualizer_npu_w={
                "kind": None,
                "default": False,
                "sweep": False,
                "help": "Add the penalty on undecided NPU weights.",
            }
        ),
        OPTIMIZER.without("--clip-grad-norm", "--clip-grad-value"),
        _SINGLE_SAVING,
        RUN_CONTROL,
    ),
    name_fields=(
        nf.SINGLE_LAYER_MODEL,
        *nf.COMMON,
        nf.L1,
        nf.BETA,
        nf.NPU_W_SWITCH,
        nf.GATE,
        nf.PRECISION,
        *map(
            nf.trailing,
            (
                nf.NOISE_RANGE,
                nf.NMU_NOISE,
                nf.NAU_NOISE,
                nf.BETA_NAU,
                nf.NPU_CLIP,
                nf.NPU_INIT,
                nf.REALNPU_TYPE,
                nf.TRASH_CELL,
                nf.W_SET_COUNT,
                nf.LOG_INTERVAL,
                nf.ID,
            ),
        ),
        nf.LAYER_OPTION,
        *nf.NALU_TRAILING,
    ),
    checks=(*_SINGLE_LAYER_CHECKS, checks.check_growing_beta),
)

SINGLE_LAYER_BENCHMARK = _arithmetic(
    name="single_layer_benchmark",
    summary="Train one arithmetic unit, or a plain MLP, on the benchmark of single modules.",
    example="--operation mul --layer-type iNALU --clip-grad-value 0.1 --reinit --seed 0-24",
    groups=(
        TASK.without("--sample-distribution"),
        _SINGLE_NETWORK,
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
        REINIT,
        _SINGLE_SAVING,
        RUN_CONTROL,
    ),
    name_fields=(
        nf.BENCHMARK_MODEL,
        *nf.COMMON,
        *_SINGLE_NPU_TAIL,
        nf.GRAD_NORM,
        nf.GRAD_VALUE,
        nf.REINIT,
        nf.BENCHMARK_CRITERION,
        nf.ID,
        nf.LAYER_OPTION,
        *nf.NALU_TRAILING,
    ),
    checks=_SINGLE_LAYER_CHECKS,
)
