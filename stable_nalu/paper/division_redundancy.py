"""The division papers: one module with ten inputs, two of which matter; and pairs of digits."""

from __future__ import annotations

from dataclasses import replace

from stable_nalu.papers import MISTRY_2022_MECHANISMS

from .digit_measures import measures_of_pairs
from .division import (
    BASELINE,
    IN2,
    REAL_NPU_LABEL,
    modified,
    nmru,
    nru,
    on_distributions,
    shown,
    window,
)
from .experiment import Experiment, Model, Resources, Setting, Shown
from .sweeps import MIXED_SIGNS

_WINDOW = (50000, 75000)
_MODIFIED, _NRU, _NMRU = modified(*_WINDOW), nru(*_WINDOW, "1e-3"), nmru(*_WINDOW)

_IN10 = replace(
    IN2,
    flags="--operation div --input-size 10 --subset-ratio 0.1 --overlap-ratio 0 "
    "--max-iterations 100000 --no-cuda",
    resources=Resources(60),
)
_MAIN = replace(_IN10, prefix="sltr-in10/")
_baseline = _MAIN.model("realnpu_baseline", "Real NPU (baseline)", BASELINE)
_modified = _MAIN.model("realnpu_modified", REAL_NPU_LABEL, _MODIFIED)
_nru = _MAIN.model("nru", "NRU", _NRU)
_nmru = _MAIN.model("sign-nmru", "NMRU", _NMRU)

_NPU = f"{_MODIFIED} --layer-type NPU --nac-mul npu"
_npu = (
    _MAIN.model("npu", "NPU (no constraints)", _NPU, name="npu/realMod"),
    _MAIN.model(
        "npu-clip",
        "NPU (clip & reg)",
        f"{_NPU} --npu-clip wig",
        name="npu/realMod_Reg-Wim-l1_clip-wig",
    ),
)
_nau_reg = _MAIN.model(
    "realnpu_modified_W-nau-reg", "{-1,0,1}", f"{_MODIFIED} --realnpu-reg-type bias"
)


def _extra(key: str, label: str, text: str, name: str | None = None) -> Model:
    return _MAIN.model(key, label, text, name=f"nmru-extra/{name or key}")


_RATE = f"{window(*_WINDOW)} --learning-rate 1e-2"
_ablation = (
    _extra("nmru", "vanilla", f"--layer-type NMRU {_RATE}"),
    _extra("nmru_gnc-1", "gnc", f"--layer-type NMRU {_RATE} --clip-grad-norm 1"),
    _extra("sign-nmru_gnc-F", "sign", f"--layer-type SignNMRU {_RATE}"),
    _nmru.named("sign-nmru", "gnc+sign"),
    _extra(
        "sign-nmru_gnc-1_gate-1",
        "gnc+sign+gating",
        f"--layer-type GatedSignNMRU {_RATE} --clip-grad-norm 1 --reg-scale-type madsen "
        "--regualizer-gate 1",
    ),
)
_nmru_rates = tuple(
    _extra(f"nmru-lr-{rate}", rate, f"{_NMRU} --learning-rate {rate}", f"lr-{rate}")
    for rate in ("1e-3", "1e-1")
)
_sgd = _extra("nmru-sgd", "sgd", f"{_NMRU} --optimizer sgd", "sgd")
_separate = _MAIN.model("nru-sepSign", "separate", f"{_NRU} --nru-div-mode div-sepSign")


def _losses(model: Model, text: str) -> tuple[Model, ...]:
    others = (
        _MAIN.model(f"{model.key}_{loss}", loss.upper(), f"{text} --train-criterion {loss}")
        for loss in ("pcc", "mape")
    )
    return (model.named(model.key, "MSE"), *others)


_SIGNS = replace(_IN10, points=MIXED_SIGNS, prefix="mixedSigns-in10/")
_mixed_signs = (
    _SIGNS.model(
        "realnpu_mod",
        REAL_NPU_LABEL,
        f"{_MODIFIED} --id 3",
        csv="mixedSigns-in10/realnpu-modified",
    ),
    _SIGNS.model("nru", "NRU", f"{_NRU} --id 4"),
    _SIGNS.model("nmru", "NMRU", f"{_NMRU} --id 5"),
)

_DIGITS = Setting(
    "two_digit_mnist",
    "--operation div --max-epochs 1000 --dataset-workers 5",
    range(10),
    Resources(1440, cores=5, memory_gb=8, gpu=True),
    prefix="two-digit-mnist/div/",
    steps_per_epoch=571,
)
_MODULE = "--use-nalm --learn-labels2out"
_digit_pairs = tuple(
    _DIGITS.model(key, label, f"{text} --id {name[2:4]}", name=name, csv=name)
    for key, label, name, text in (
        ("div", "DIV", "ID79-1digit_conv-div", ""),
        (
            "mlp",
            "MLP",
            "ID84-1digit_conv-mlp_2L-256HU_wDecay-1e-3",
            "--learn-labels2out --weight-decay 0.001",
        ),
        (
            "nru",
            "NRU",
            "ID78-1digit_conv-nru_R30-40-2_gnc1_s3Init",
            f"{_MODULE} --nalm-name nru {window(30, 40)} --regualizer 2 --clip-grad-norm 1",
        ),
        (
            "realnpu-mod",
            "Real NPU (mod)",
            "ID80-1digit_conv-realnpu-mod_R30-40-2_s3Init",
            f"{_MODULE} --nalm-name realnpu-mod {window(30, 40)} --regualizer-npu-w 2 "
            "--regualizer-gate 2",
        ),
        (
            "nmru-sign",
            "NMRU",
            "ID81-1digit_conv-nmruSign_R30-40-2_gncF_s3Init",
            f"{_MODULE} --nalm-name nmru-sign {window(30, 40)} --regualizer 2",
        ),
    )
)
_LATER = (Shown(MISTRY_2022_MECHANISMS, "appendix"),)

EXPERIMENTS = (
    Experiment(
        "nips-sltr-in10",
        "Division with redundancy",
        shown("6 (redundancy)"),
        (_baseline, _modified, _nru, _nmru),
    ),
    Experiment(
        "nips-in10-distributions",
        "Division with redundancy, more distributions",
        shown("7"),
        on_distributions(_MAIN, _MODIFIED, _NRU, _NMRU),
        parameter="train.distribution",
        criterion="distributions",
    ),
    Experiment("in10-mixedSigns", "Mixed signs with redundancy", _LATER, _mixed_signs),
    Experiment("nips-sltr-in10-npu", "NPU", shown("15"), (_modified, *_npu)),
    Experiment(
        "nips-in10-realnpu-W-reg",
        "Real NPU: targets of the weight penalty",
        shown("16"),
        (_modified.named("realnpu_modified", "{-1,1}"), _nau_reg),
    ),
    Experiment("nips-in10-nmru-ablation", "NMRU: ablation", shown("17"), _ablation),
    Experiment(
        "nips-in10-nmru-lr",
        "NMRU: learning rates",
        shown("18"),
        (_nmru_rates[0], _nmru.named("sign-nmru", "1e-2"), _nmru_rates[1]),
    ),
    Experiment(
        "nips-in10-nmru-optimiser",
        "NMRU: optimiser",
        shown("19"),
        (_sgd, _nmru.named("sign-nmru", "adam")),
    ),
    Experiment(
        "nips-in10-nru-separate-mag-sign",
        "NRU: magnitude and sign apart",
        shown("20"),
        (_nru.named("nru", "together"), _separate),
    ),
    Experiment(
        "nips-sltr-in10-losses-realnpu",
        "Losses: Real NPU",
        shown("21"),
        _losses(_modified, _MODIFIED),
        note="The last published code trains on MSE whatever the criterion; this honours it.",
    ),
    Experiment("nips-sltr-in10-losses-nru", "Losses: NRU", shown("22"), _losses(_nru, _NRU)),
    Experiment("nips-sltr-in10-losses-nmru", "Losses: NMRU", shown("23"), _losses(_nmru, _NMRU)),
    Experiment(
        "div-1digit_conv-Adam-s3Init",
        "Division of digit pairs",
        (Shown(MISTRY_2022_MECHANISMS, "MNIST division figure"),),
        _digit_pairs,
        parameter="model",
        criterion="accuracy",
        measures=measures_of_pairs("mse", "output_rounded_5dp"),
    ),
)
