"""The arithmetic data set in Neural Arithmetic Units and Measuring Arithmetic Extrapolation."""

from __future__ import annotations

from stable_nalu.papers import MADSEN_2019, MADSEN_2020

from . import arithmetic_models as trained
from .arithmetic_models import by_operation
from .experiment import Experiment, Shown, judged_by

EXPERIMENTS = judged_by(
    "arithmetic",
    Experiment(
        "simple_mul",
        "The four-input function (x1+x2)(x1+x2+x3+x4)",
        (Shown(MADSEN_2020, "Table 1"),),
        trained.SIMPLE,
        parameter="operation",
        note="The table prints NAC•, NALU and NMU.",
    ),
    Experiment(
        "function_task_static",
        "The arithmetic data set, default parameters",
        (Shown(MADSEN_2020, "Table 2"),),
        by_operation(
            trained.ALL,
            {
                "nac-mul": "mul",
                "nmu": "mul",
                "linear": "add sub",
                "nac-add": "add sub",
                "nalu": "add sub mul",
                "nau": "add sub",
            },
        ),
        parameter="operation",
    ),
    Experiment(
        "function_task_static_all",
        "The arithmetic data set, every unit and operation",
        (Shown(MADSEN_2020, "Table 6"),),
        trained.ALL,
        parameter="operation",
        note="The first layer of NAC•,NMU is NAC+ in the paper, NAU in its scripts and here.",
    ),
    Experiment(
        "function_task_static_reproduce",
        "Reproduction of the NALU on the arithmetic data set",
        (Shown(MADSEN_2019, "table of default parameters"),),
        by_operation(
            trained.ALL,
            {
                "linear": "add sub",
                "nac-add": "add sub",
                "nac-mul": "mul div",
                "nalu": "add sub mul div",
            },
        ),
        parameter="operation",
    ),
    Experiment(
        "function_task_static_mul_hidden_size",
        "Multiplication against the hidden size",
        (Shown(MADSEN_2020, "Figure 3 (top)"),),
        trained.HIDDEN,
        parameter="hidden.size",
        note="The published figure was drawn from 26 to 38 of the 50 seeds.",
        rate=12_000,  # Ten hidden units take several times as long as two.
    ),
    Experiment(
        "function_task_static_mul_range",
        "Multiplication against the training range",
        (Shown(MADSEN_2020, "Figure 3 (bottom)"),),
        trained.RANGE,
    ),
    Experiment(
        "function_task_static_mul_hidden_size_ablation",
        "Ablation of the NMU against the hidden size",
        (Shown(MADSEN_2020, "Figure 7"),),
        trained.ABLATION,
        parameter="hidden.size",
        rate=12_000,
    ),
    Experiment(
        "function_task_static_mul_input_size",
        "Multiplication against the input size",
        (Shown(MADSEN_2020, "Figure 8 (input size)"),),
        trained.INPUT,
        parameter="input.size",
    ),
    Experiment(
        "function_task_static_mul_overlap",
        "Multiplication against the overlap of subsets",
        (Shown(MADSEN_2020, "Figure 8 (overlap)"),),
        trained.OVERLAP,
        parameter="overlap.ratio",
    ),
    Experiment(
        "function_task_static_mul_subset",
        "Multiplication against the size of subsets",
        (Shown(MADSEN_2020, "Figure 8 (subset)"),),
        trained.SUBSET,
        parameter="subset.ratio",
    ),
    Experiment(
        "function_task_static_nalu",
        "The gate of the NALU behind an adding layer",
        (Shown(MADSEN_2020, "Figure 9"), Shown(MADSEN_2020, "Table 5")),
        trained.NALU_STUDY,
        parameter="operation",
    ),
    Experiment(
        "function_task_static_regualization",
        "Strength of the sparsity penalty",
        tuple(Shown(MADSEN_2020, f"Figure {number}") for number in (10, 11, 12)),
        trained.REGUALIZATION,
        parameter="regualizer",
        note="The published script stores seeds 25-49 only; the figure has about 50 seeds.",
    ),
    Experiment(
        "function_task_static_mul_paramaters",
        "Multiplication by NAC• and NALU against data set parameters",
        (Shown(MADSEN_2019, "figure of data set parameters"),),
        trained.PARAMETER_STUDY,
        parameter="hidden.size",
    ),
    Experiment(
        "function_task_static_mul_range_reproduce",
        "Multiplication by NAC• and NALU against the training range",
        (Shown(MADSEN_2019, "figure of training ranges"),),
        trained.RANGE_STUDY,
    ),
    Experiment(
        "function_task_static_learning",
        "Learning rates and optimizers",
        (Shown(MADSEN_2020, "learning-rate figures (not in the final text)"),),
        trained.LEARNING,
        parameter="learning.rate",
    ),
    Experiment(
        "function_task_static_mul_num_subsets",
        "Products of more than two sums",
        (),
        trained.NUM_SUBSETS,
        parameter="hidden.size",
        note="The published script left the hidden size of NAC•,NMU at 2; here it varies, too.",
    ),
)
