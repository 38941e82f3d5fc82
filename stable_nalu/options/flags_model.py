"""Flags of the model: units, sizes, and the options that layers read."""

from __future__ import annotations

from .flag import INHERITED, Flag, FlagGroup, switch
from .kinds import files, integer, layer_names, layer_option, noise_range, number, text

NAC_MUL = ("none", "normal", "safe", "max-safe", "mnac", "npu", "real-npu")
NALU_MUL = ("normal", "safe", "trig", "max-safe", "mnac")
NALU_GATE = ("normal", "regualized", "obs-gumbel", "gumbel")

LAYER_TYPE = Flag(
    "--layer-type", text(), "NALU", "Unit of every layer, by its key.", choices=layer_names
)

OWN_LAYERS = FlagGroup(
    "Layers of your own",
    (
        Flag(
            "--layer-file",
            files(),
            (),
            "Python files that define layers; each class in them is a --layer-type. See "
            "docs/your-layer.md.",
            unnamed="the record of a run holds the digest and the text of each file",
            result=False,
        ),
        Flag(
            "--layer-option",
            layer_option(),
            (),
            "Options of the layer's constructor that no other flag sets, as name=value; several "
            "values of one name are several runs.",
            sweep=True,
        ),
    ),
)

NETWORK = FlagGroup(
    "Network",
    (
        LAYER_TYPE,
        Flag(
            "--first-layer",
            text(),
            None,
            "Unit of the first layer where it differs from the layer type.",
            choices=layer_names,
            unnamed=INHERITED,
        ),
        Flag("--hidden-size", integer(1), 2, "Width between the layers."),
        Flag(
            "--output-size",
            integer(1),
            1,
            "Number of model outputs, all trained on the one target.",
            unnamed=INHERITED,
        ),
        Flag(
            "--nac-mul",
            text(),
            "none",
            "How the second layer multiplies: in log space (normal, safe, max-safe), or as the "
            "multiplicative form of the unit (mnac), an NPU or a RealNPU.",
            choices=NAC_MUL,
            unnamed=INHERITED,
        ),
        switch(
            "--mlp-bias",
            "Give plain activation layers and the linear layer behind them a bias.",
            layer_option="bias",
            unnamed=INHERITED,
        ),
        Flag(
            "--mlp-depth",
            integer(0),
            0,
            "Additional hidden layers of a plain activation network.",
            unnamed=INHERITED,
        ),
    ),
)

WEIGHTS = FlagGroup(
    "Weights of NAU, NMU, NRU and NMRU units",
    (
        Flag(
            "--oob-mode",
            text(),
            "clip",
            "Keep weights in range by clamping them after each update (clip) or by a penalty "
            "(regualized).",
            choices=("regualized", "clip"),
            layer_option="nac_oob",
        ),
        Flag(
            "--mnac-epsilon",
            number(0, maximum=1),
            0,
            "Lower limit of the weights of multiplying units.",
            layer_option="mnac_epsilon",
            sweep=True,
        ),
        switch(
            "--nmu-noise",
            "In training, multiply the inputs of NMU-type units by noise that the output undoes.",
            layer_option="nmu_noise",
            unnamed=INHERITED,
        ),
        switch(
            "--nau-noise",
            "In training, add noise to the inputs of NAU units that the output undoes.",
            layer_option="nau_noise",
            unnamed=INHERITED,
        ),
        Flag(
            "--noise-range",
            noise_range(),
            [1, 5],
            "Bounds of the noise of NMU and SignNMRU; [1,0] means from 1 to 1 + 1/std of the batch "
            "(NMU).",
            layer_option="noise_range",
            sweep=True,
            unnamed=INHERITED,
        ),
        switch(
            "--beta-nau",
            "Start NAU and NRU weights from 2 Beta(7,7) - 1.",
            layer_option="beta_nau",
            unnamed=INHERITED,
        ),
        Flag(
            "--nru-div-mode",
            text(),
            "div",
            "Forward pass of the NRU: as a whole, or magnitude and sign apart.",
            choices=("div", "div-sepSign"),
            layer_option="nru_div_mode",
        ),
        switch(
            "--trash-cell",
            "Give the NRU an additive scalar that acts in training only.",
            layer_option="trash_cell",
        ),
        Flag(
            "--W-set-count",
            integer(1),
            5,
            "Number of weight matrices that MultiWeightNAU rotates through.",
            layer_option="W_set_count",
            unnamed=INHERITED,
        ),
    ),
)

NALU = FlagGroup(
    "NALU units",
    (
        switch("--nalu-bias", "Add a bias to the gate.", layer_option="nalu_bias"),
        switch(
            "--nalu-two-nac",
            "Use separate weights for adding and multiplying.",
            layer_option="nalu_two_nac",
        ),
        switch(
            "--nalu-two-gate",
            "Use separate gates for adding and multiplying.",
            layer_option="nalu_two_gate",
        ),
        Flag(
            "--nalu-mul",
            text(),
            "normal",
            "How the multiplying path multiplies; mnac needs --nalu-two-nac.",
            choices=NALU_MUL,
            layer_option="nalu_mul",
        ),
        Flag(
            "--nalu-gate",
            text(),
            "normal",
            "Gate between adding and multiplying: plain, with a penalty, or sampled.",
            choices=NALU_GATE,
            layer_option="nalu_gate",
        ),
        Flag(
            "--nac-weight",
            text(),
            "normal",
            "Base of the functions that squash NAC weights.",
            choices=("normal", "golden-ratio"),
            layer_option="nac_weight",
        ),
    ),
)

NPU = FlagGroup(
    "NPU and RealNPU units",
    (
        Flag(
            "--npu-clip",
            text(),
            "none",
            "Clamp after each update: real weights (w), gates (g), both (wg), or imaginary weights "
            "as well (wig, NPU only).",
            choices=("none", "w", "g", "wg", "wig"),
            layer_option="npu_clip",
        ),
        Flag(
            "--npu-Wr-init",
            text(),
            "xavier-uniform",
            "Start values of the real weights; constrained is the start of the NAU.",
            choices=("xavier-uniform", "xavier-uniform-constrained"),
            layer_option="npu_Wr_init",
        ),
        Flag(
            "--realnpu-reg-type",
            text(),
            "W",
            "Weight penalty of the RealNPU: zero at -1 and 1 (W), or at -1, 0 and 1 (bias).",
            choices=("W", "bias"),
            layer_option="realnpu_reg_type",
        ),
    ),
)
