"""Flags of the model: units, sizes, and the options that layers read."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from .flag import Flag, FlagGroup, switch
from .kinds import choice, files, integer, layer_names, layer_option, noise_range, number

NAC_MUL = ("none", "normal", "safe", "max-safe", "mnac", "npu", "real-npu")
NALU_MUL = ("normal", "safe", "trig", "max-safe", "mnac")
NALU_GATE = ("normal", "regualized", "obs-gumbel", "gumbel", "linear", "independent")
NALU_GATE_SHAPE = ("matrix", "vector")
NALU_INIT = ("default", "truncated", "xavier-normal", "uniform")

LAYER_TYPE = choice(
    "--layer-type",
    "NALU",
    "Unit of every layer, by its key or its name in the papers.",
    layer_names,
)

OWN_LAYERS = FlagGroup(
    "Layers of your own",
    Flag(
        "--layer-file",
        files(),
        (),
        "Python files that define layers; each class in them is a --layer-type. See "
        "docs/your-layer.md.",
        unnamed="the record of a run holds the digest and the text of each file",
        result=False,
        young=True,
    ),
    Flag(
        "--layer-option",
        layer_option(),
        (),
        "Options of the layer's constructor that no other flag sets, as name=value; several "
        "values of one name are several runs.",
        sweep=True,
        young=True,
        in_name="lo-{layer_option:options}",
    ),
)


def add_layer_flags(parser: argparse.ArgumentParser, title: str) -> Callable[..., object]:
    """Add a group of flags that name one layer to a command that is not a training script.

    Return what adds others to the group.
    """
    add = parser.add_argument_group(title).add_argument
    add("--layer-type", metavar="NAME", help="the layer, of the package or of --layer-file")
    add("--layer-file", type=Path, metavar="PATH", help="Python file that defines it")
    add("--layer-option", nargs="+", metavar="NAME=VALUE", help="of its constructor")
    return add


NETWORK = FlagGroup(
    "Network",
    LAYER_TYPE,
    choice(
        "--first-layer",
        None,
        "Unit of the first layer where it differs from the layer type.",
        layer_names,
    ),
    Flag("--hidden-size", integer(1), 2, "Width between the layers."),
    Flag("--output-size", integer(1), 1, "Number of model outputs, all trained on the one target."),
    choice(
        "--nac-mul",
        "none",
        "How the second layer multiplies: in log space (normal, safe, max-safe), or as the "
        "multiplicative form of the unit (mnac), an NPU or a RealNPU.",
        NAC_MUL,
    ),
    switch(
        "--mlp-bias",
        "Give plain activation layers and the linear layer behind them a bias.",
        layer_option="bias",
    ),
    Flag(
        "--mlp-depth",
        integer(0, 1000),
        0,
        "Additional hidden layers of a plain activation network.",
    ),
)


def _of_layers(title: str, *flags: Flag) -> FlagGroup:
    """Return a group of flags, each of which sets the layer option that it names, or its own."""
    return FlagGroup(title, *(f.but(layer_option=f.layer_option or f.dest) for f in flags))


WEIGHTS = _of_layers(
    "Weights of NAU, NMU, NRU and NMRU units",
    choice(
        "--oob-mode",
        "clip",
        "Keep weights in range by clamping them after each update (clip) or by a penalty "
        "(regualized).",
        ("regualized", "clip"),
        layer_option="nac_oob",
    ),
    Flag(
        "--mnac-epsilon",
        number(0, maximum=1),
        0,
        "Lower limit of the weights of multiplying units.",
        sweep=True,
    ),
    switch(
        "--nmu-noise",
        "In training, multiply the inputs of NMU-type units by noise that the output undoes.",
    ),
    switch(
        "--nau-noise", "In training, add noise to the inputs of NAU units that the output undoes."
    ),
    Flag(
        "--noise-range",
        noise_range(),
        [1, 5],
        "Bounds of the noise of NMU and SignNMRU; [1,0] means from 1 to 1 + 1/std of the batch "
        "(NMU).",
        sweep=True,
    ),
    switch("--beta-nau", "Start NAU and NRU weights from 2 Beta(7,7) - 1."),
    choice(
        "--nru-div-mode",
        "div",
        "Forward pass of the NRU: as a whole, or magnitude and sign apart.",
        ("div", "div-sepSign"),
    ),
    switch("--trash-cell", "Give the NRU an additive scalar that acts in training only."),
    Flag(
        "--W-set-count",
        integer(1),
        5,
        "Number of weight matrices that MultiWeightNAU rotates through.",
    ),
)

NALU = _of_layers(
    "NALU units",
    switch("--nalu-bias", "Add a bias to the gate."),
    switch("--nalu-two-nac", "Use separate weights for adding and multiplying."),
    switch("--nalu-two-gate", "Use separate gates for adding and multiplying."),
    choice(
        "--nalu-mul",
        "normal",
        "How the multiplying path multiplies; mnac needs --nalu-two-nac.",
        NALU_MUL,
    ),
    choice(
        "--nalu-gate",
        "normal",
        "Gate between adding and multiplying: plain, with a penalty, sampled, not squashed "
        "(linear), or the same for all inputs (independent).",
        NALU_GATE,
    ),
    choice(
        "--nalu-gate-shape",
        "matrix",
        "A gate per output (matrix), or one for all outputs (vector).",
        NALU_GATE_SHAPE,
        young=True,
        in_name="ng-{nalu_gate_shape:word}",
    ),
    choice(
        "--nalu-init",
        "default",
        "Start values of all weight matrices: those of the paths' units and Xavier-uniform gates "
        "(default), a normal of deviation 0.02 cut at 0.04 (truncated), Xavier-normal, or from "
        "-0.01 to 0.01 (uniform).",
        NALU_INIT,
        young=True,
        in_name="ni-{nalu_init}",
    ),
    choice(
        "--nac-weight",
        "normal",
        "Base of the functions that squash NAC weights.",
        ("normal", "golden-ratio"),
    ),
)

NPU = _of_layers(
    "NPU and RealNPU units",
    choice(
        "--npu-clip",
        "none",
        "Clamp after each update: real weights (w), gates (g), both (wg), or imaginary weights "
        "as well (wig, NPU only).",
        ("none", "w", "g", "wg", "wig"),
    ),
    choice(
        "--npu-Wr-init",
        "xavier-uniform",
        "Start values of the real weights; constrained is the start of the NAU.",
        ("xavier-uniform", "xavier-uniform-constrained"),
    ),
    choice(
        "--realnpu-reg-type",
        "W",
        "Weight penalty of the RealNPU: zero at -1 and 1 (W), or at -1, 0 and 1 (bias).",
        ("W", "bias"),
    ),
)
