"""The division papers, one module with two inputs; `division_redundancy` has ten."""

from __future__ import annotations

from dataclasses import replace

from stable_nalu.papers import MISTRY_2022_DIVISION, MISTRY_2022_MECHANISMS

from .experiment import Experiment, Model, Resources, Setting, Shown
from .sweeps import DISTRIBUTIONS, MIXED_SIGNS, NEAR_ZERO, SINGLE_MODULE_RANGES

UNREGULARISED = (
    "--layer-type RealNPU --nac-mul real-npu --learning-rate 5e-3 --regualizer-shape none "
    "--regualizer 0"
)
BASELINE = (
    f"{UNREGULARISED} --regualizer-beta-start 1e-9 --regualizer-beta-end 1e-7 --regualizer-l1"
)


def betas(start: str, end: str) -> str:
    """Return the baseline with another beta."""
    weights = f"--regualizer-beta-start {start} --regualizer-beta-end {end}"
    return f"{UNREGULARISED} {weights} --regualizer-l1"


def window(start: int, end: int) -> str:
    """Return the flags of the iterations over which a penalty rises."""
    return f"--regualizer-scaling-start {start} --regualizer-scaling-end {end}"


def ramp(start: int, end: int) -> str:
    """Return the flags of NPU penalties that follow the window instead of beta."""
    return f"--reg-scale-type madsen {window(start, end)}"


def modified(start: int, end: int) -> str:
    """Return the Real NPU with clipping, penalties and constrained start weights."""
    return (
        f"{BASELINE} --npu-clip wg --regualizer-npu-w 1 --regualizer-gate 1 "
        f"--npu-Wr-init xavier-uniform-constrained {ramp(start, end)}"
    )


def nru(start: int, end: int, rate: str) -> str:
    """Return the NRU."""
    return f"--layer-type NRU --nac-mul mnac {window(start, end)} --learning-rate {rate}"


def nmru(start: int, end: int) -> str:
    """Return the NMRU with sign retrieval and clipped gradients."""
    return f"--layer-type SignNMRU {window(start, end)} --clip-grad-norm 1 --learning-rate 1e-2"


MODIFIED, NRU, NMRU = modified(40000, 50000), nru(20000, 35000, "1"), nmru(20000, 35000)
REAL_NPU_LABEL = "Real NPU (modified)"

IN2 = Setting(
    "single_layer",
    "--operation div --max-iterations 50000 --no-cuda",
    range(25),
    Resources(40),
    points=SINGLE_MODULE_RANGES,
)


def on_distributions(
    setting: Setting, real_npu: str, nru_text: str, nmru_text: str
) -> tuple[Model, ...]:
    """Return three units on every distribution of inputs, in a folder of the setting's."""
    prefix = f"{setting.prefix}distributions/"
    drawn = replace(
        setting,
        flags=f"{setting.flags} --log-interval 1000",
        points=(),
        variants=DISTRIBUTIONS,
        prefix=prefix,
    )
    return (
        drawn.model("realnpu", REAL_NPU_LABEL, real_npu, csv=f"{prefix}realnpu_modified"),
        drawn.model("nru", "NRU", nru_text),
        drawn.model("sign-nmru", "NMRU", nmru_text),
    )


_MAIN = replace(IN2, prefix="sltr-in2/")
_CHANGES = replace(IN2, prefix="sltr-in2/realnpu-modifications/")
_baseline = _MAIN.model("realnpu_baseline", "Real NPU (baseline)", BASELINE)
_modified = _MAIN.model("realnpu_modified", REAL_NPU_LABEL, MODIFIED)
_nru = _MAIN.model("nru", "NRU", NRU)
_nmru = _MAIN.model("sign-nmru", "NMRU", NMRU)
_l1_off = _CHANGES.model("L1F", "L1 off", UNREGULARISED)
_l2 = _CHANGES.model("L2", "L2", f"{betas('1e-7', '1e-5')} --lp-norm 2")
_clip = tuple(
    _CHANGES.model(key, label, f"{BASELINE} --npu-clip {clip}", name=f"clip/{label}")
    for key, label, clip in (("clip-G", "G", "g"), ("clip-W", "W", "w"), ("clip-GW", "GW", "wg"))
)
_PENALISED_GATE = f"{BASELINE} --npu-clip wg --regualizer-gate 1 {ramp(40000, 50000)}"
_gate = _CHANGES.model("G1", "G", _PENALISED_GATE, name="discretisation/G1")
_gate_and_weight = _CHANGES.model(
    "G1-W1", "GW", f"{_PENALISED_GATE} --regualizer-npu-w 1", name="discretisation/G1-W1"
)
_constrained = _CHANGES.model("XUC", "Xavier-Uniform Constrained", MODIFIED, name="init/XUC")


def _beta_model(start: str, end: str) -> Model:
    return _CHANGES.model(
        f"{start}_{end}",
        f"({start},{end})",
        betas(start, end),
        name=f"L1_beta_sweep/{start}_{end}",
    )


_beta_sweep = (
    _beta_model("1e-11", "1e-9"),
    _baseline.named("1e-9_1e-7", "(1e-9,1e-7)"),
    _beta_model("1e-8", "1e-6"),
    _beta_model("1e-7", "1e-5"),
    _beta_model("1e-5", "1e-3"),
    _beta_model("1e-3", "1e-1"),
    _beta_model("1e-1", "10"),
)
_nru_rates = tuple(
    _MAIN.model(f"nru-lr-{rate}", rate, nru(20000, 35000, rate), name=f"nru-extra/lr-{rate}")
    for rate in ("1e-3", "1e-2", "1e-1")
)
_npu_rates = tuple(
    replace(IN2, prefix="RealNPU-mod_inSize2_lr/").model(
        f"realnpu-lr-{rate}", rate, f"{MODIFIED} --learning-rate {rate} --id {number}", name=rate
    )
    for rate, number in (("5e-1", 8), ("5e-2", 7), ("5e-4", 6))
)

_SIGNS = replace(IN2, points=MIXED_SIGNS, prefix="mixedSigns-in2/")
_mixed_signs = (
    _SIGNS.model("realnpu-modified", REAL_NPU_LABEL, MODIFIED),
    _SIGNS.model("nru", "NRU", f"{NRU} --id 1"),
    _SIGNS.model("nmru", "NMRU", f"{NMRU} --id 2"),
)
_distributions = on_distributions(_MAIN, MODIFIED, NRU, NMRU)


def _small_divisors(task: str, text: str, real_npu: str, nru_text: str) -> tuple[Model, ...]:
    setting = replace(
        IN2, flags=f"{text} --no-cuda", points=NEAR_ZERO, prefix=f"in2_divBy0/{task}/"
    )
    return tuple(
        setting.model(f"{task}-{name}", label, model, name=name, csv=f"SLTR_divBy0/{task}/{name}")
        for name, label, model in (
            ("realnpu", "Real NPU", real_npu),
            ("nru", "NRU", nru_text),
            ("signNMRU", "NMRU", NMRU),
        )
    )


_easy = _small_divisors(
    "easy",
    "--operation reciprocal --input-size 1 --subset-ratio 1 --num-subsets 1 --max-iterations 5000",
    f"{UNREGULARISED} --npu-clip wg --npu-Wr-init xavier-uniform-constrained",
    nru(15000, 20000, "1"),
)
_medium = _small_divisors("medium", "--operation reciprocal --max-iterations 50000", MODIFIED, NRU)
_hard = _small_divisors("hard", "--operation div --max-iterations 50000", MODIFIED, NRU)


def shown(number: str) -> tuple[Shown, ...]:
    """Return where a figure of the first paper is shown."""
    return (Shown(MISTRY_2022_DIVISION, f"Figure {number}"),)


_LATER = (Shown(MISTRY_2022_MECHANISMS, "appendix"),)

EXPERIMENTS = (
    Experiment(
        "nips-realnpu-L1",
        "Real NPU: L1 penalty",
        shown("1a"),
        (_l1_off, _baseline.named("realnpu_baseline", "L1 on")),
    ),
    Experiment("nips-realnpu-L1_sweep", "Real NPU: beta of L1", shown("1b"), _beta_sweep),
    Experiment(
        "nips-realnpu-clipping",
        "Real NPU: clipping",
        shown("2a"),
        (_baseline.named("realnpu_baseline", "None"), *_clip),
    ),
    Experiment(
        "nips-realnpu-discretisation",
        "Real NPU: discretisation",
        shown("2b"),
        (_clip[2].named("clip-GW", "None"), _gate, _gate_and_weight),
    ),
    Experiment(
        "nips-realnpu-init",
        "Real NPU: start weights",
        shown("2c"),
        (_gate_and_weight.named("G1-W1", "Xavier-Uniform"), _constrained),
    ),
    Experiment(
        "nips-sltr-in2",
        "Division without redundancy",
        shown("3"),
        (_baseline, _modified, _nru, _nmru),
    ),
    Experiment(
        "mixed-sign-ds_realnpu-modified",
        "Mixed signs, modified Real NPU",
        shown("4"),
        (replace(_mixed_signs[0], csv="sltr-in2/mixed-sign-ds_realnpu-modified"),),
    ),
    Experiment("in2-mixedSigns", "Mixed signs", _LATER, _mixed_signs),
    Experiment(
        "divBy0_gold_test_errors",
        "Errors of perfect modules on small divisors",
        shown("5"),
        (),
        note="Needs no training.",
    ),
    Experiment(
        "nips-in2-distributions",
        "Division, more distributions",
        shown("6 (distributions)"),
        _distributions,
        parameter="train.distribution",
        criterion="distributions",
    ),
    Experiment(
        "loss_landscape",
        "Loss landscapes of multiplication",
        shown("9"),
        (),
        note="Needs no training.",
    ),
    Experiment(
        "nips-in2-nru-lr",
        "NRU: learning rates",
        shown("10"),
        (*_nru_rates, _nru.named("nru", "1")),
    ),
    *(
        Experiment(
            f"nips-divBy0-{task}",
            f"Division by small numbers, {text}",
            shown(number),
            models,
            criterion=f"zero.range.{task}",
        )
        for task, text, number, models in (
            ("easy", "[a] to 1/a", "11", _easy),
            ("medium", "[a,b] to 1/a", "12", _medium),
            ("hard", "[a,b] to a/b", "13", _hard),
        )
    ),
    Experiment(
        "nips-realnpu-L2",
        "Real NPU: L2 penalty",
        shown("14"),
        (_l1_off.named("L1F", "No reg"), _baseline.named("realnpu_baseline", "L1"), _l2),
    ),
    Experiment(
        "nips-in2-realnpu-lr",
        "Real NPU: learning rates",
        _LATER,
        (*_npu_rates[:2], _modified.named("realnpu_modified", "5e-3"), _npu_rates[2]),
    ),
)
