"""Types of the flags of all scripts, for editors; generated, rewrite with `make generated`."""
# ruff: noqa: E501, UP013
# fmt: off

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any, Literal, TypedDict, TypeVar

_Value = TypeVar("_Value")
Several = _Value | Iterable[_Value] | None
Switch = Several[bool]
Int = Several[int]
Float = Several[float]
Text = Several[str]
Paths = Several[str | PathLike[str]]
Range = Iterable[Any] | None

Script = Literal["simple_function_static", "simple_function_static_npu", "single_layer",
    "single_layer_robust", "single_layer_curriculum", "single_layer_benchmark",
    "simple_function_recurrent", "number_translation", "sequential_mnist", "sequential_svhn",
    "two_digit_mnist", "ST_mnist_labels", "identity_autoencoder", "even_digit_count",
    "mnist_counting", "gridworld_time", "program_evaluation", "notebook_addition", "comparison",
    "depth", "eml_recovery", "equations", "powers", "fractional_sir", "inalu", "marked_addition",
    "mystery_arithmetic", "own_task"]
Flags = TypedDict("Flags", {"operation": Several[Literal["add", "sub", "mul", "div", "squared",
    "root", "reciprocal", "cumsum", "sum", "cumprod", "prod"]], "num_subsets": Int,
    "interpolation_range": Range, "extrapolation_range": Range, "input_size": Int, "subset_ratio":
    Float, "overlap_ratio": Float, "simple": Switch, "batch_size": Int, "seed": Int | str,
    "max_iterations": Int, "layer_type": Text, "first_layer": Text, "hidden_size": Int, "nac_mul":
    Several[Literal["none", "normal", "safe", "max-safe", "mnac", "npu", "real-npu"]], "layer_file":
    Paths, "layer_option": Mapping[str, Any] | Text, "oob_mode": Several[Literal["regualized",
    "clip"]], "mnac_epsilon": Float, "nmu_noise": Switch, "nau_noise": Switch, "noise_range": Range,
    "beta_nau": Switch, "trash_cell": Switch, "W_set_count": Int, "nalu_bias": Switch,
    "nalu_two_nac": Switch, "nalu_two_gate": Switch, "nalu_mul": Several[Literal["normal", "safe",
    "trig", "max-safe", "mnac", "golden-ratio"]], "nalu_gate": Several[Literal["normal",
    "regualized", "obs-gumbel", "gumbel", "linear", "independent", "golden-ratio"]],
    "nalu_gate_shape": Several[Literal["matrix", "vector"]], "nalu_init": Several[Literal["default",
    "truncated", "xavier-normal", "uniform"]], "npu_clip": Several[Literal["none", "w", "g", "wg",
    "wig"]], "npu_Wr_init": Several[Literal["xavier-uniform", "xavier-uniform-constrained"]],
    "regualizer": Float, "regualizer_z": Float, "regualizer_oob": Float, "regualizer_scaling":
    Several[Literal["exp", "linear"]], "regualizer_scaling_start": Int, "regualizer_scaling_end":
    Int, "regualizer_shape": Several[Literal["squared", "linear", "none"]], "reg_scale_type":
    Several[Literal["heim", "madsen"]], "regualizer_beta_start": Float, "regualizer_beta_end":
    Float, "regualizer_beta_step": Int, "regualizer_beta_growth": Int, "regualizer_l1": Switch,
    "regualizer_npu_w": Int | Switch, "regualizer_gate": Int, "train_criterion":
    Several[Literal["mse", "pcc", "pcc-mse", "mape"]], "pcc2mse_iteration": Int, "learning_rate":
    Float, "momentum": Float, "id": Int, "name_prefix": Paths, "short_names": Text | Switch,
    "remove_existing_data": Switch, "verbose": Switch, "log_interval": Int, "no_save": Switch,
    "load_checkpoint": Switch, "resume": Switch, "save_best_model": Switch, "no_cuda": Switch,
    "pytorch_precision": Several[Literal[32, 64]], "checkpoint_interval": Int, "ensemble_size": Int,
    "workers": Int, "engine": Several[Literal["lanes", "torch"]], "no_compile": Switch,
    "show_engine": Switch, "extrapolation_rule": Several[Literal["range", "exceed"]],
    "random_models": Int, "sample_distribution": Iterable[Any] | str | None, "output_size": Int,
    "nru_div_mode": Several[Literal["div", "div-sepSign"]], "realnpu_reg_type": Several[Literal["W",
    "bias"]], "lp_norm": Several[Literal[1, 2]], "clip_grad_norm": Float, "mlp_bias": Switch,
    "mlp_depth": Int, "published_container": Switch, "nac_weight": Several[Literal["normal",
    "golden-ratio"]], "clip_grad_value": Float, "reinit": Switch, "reinit_epoch_interval": Int,
    "reinit_max_stored_losses": Int, "reinit_loss_thr": Float, "interpolation_length": Int,
    "extrapolation_length": Int, "validation_length": Int, "readout": Text, "readout_l2": Float,
    "input_range": Range, "cuda": Switch, "max_epochs": Int, "number_range":
    Several[Literal["reference", "paper"]], "head": Several[Literal["recurrent", "final"]],
    "embedding_size": Int, "mnist_digits": Several[int | str], "extrapolation_lengths": Range,
    "data_source": Several[Literal["mnist", "digits", "svhn"]], "data_dir": Paths,
    "dataset_workers": Int, "mnist_outputs": Int, "model_simplification": Several[Literal["none",
    "solved-accumulator", "pass-through"]], "nac_oob": Several[Literal["regualized", "clip"]],
    "svhn_digits": Several[int | str], "svhn_outputs": Int, "resnet": Several[Literal["resnet18",
    "resnet34", "resnet50", "resnet101", "resnet152"]], "num_folds": Int, "samples_per_permutation":
    Int, "use_nalm": Switch, "learn_labels2out": Switch, "nalm_name": Text, "use_tau": Switch,
    "use_argmax": Switch, "only_nalm_cgn": Switch, "weight_decay": Float, "evaluation_dir": Paths,
    "rounded": Switch, "val_split": Float, "image_concat_dim": Several[Literal["colour", "width"]],
    "img2label_model": Text, "tps_unbounded_stn": Switch, "identity_start": Switch,
    "scheduler_step_size": Int, "no_scheduler": Switch, "train_sampling": Several[Literal["grid",
    "uniform"]], "train_range": Range, "test_range": Range, "hidden_layers": Int, "head_bias":
    Switch, "no_head_bias": Switch, "max_digits": Int, "min_distance": Int, "image_size": Int,
    "train_images": Int, "digit_source": Several[Literal["mnist", "digits"]], "valid_images": Int,
    "test_images": Int, "task": Text, "cnn": Several[Literal["small", "large", "mlp8"]],
    "sequence_loss": Several[Literal["last", "all"]], "cnn_outputs": Int, "cnn_dropout": Float,
    "test_repeats": Int, "nac_wiring": Several[Literal["recurrent", "feedforward"]], "observation":
    Several[Literal["symbolic", "pixels"]], "stimulus_range": Range, "max_reward": Float,
    "time_limit": Int, "reward_shape": Several[Literal["linear", "exact"]], "late":
    Several[Literal["symmetric", "zero"]], "reachable_only": Switch, "no_reachable_only": Switch,
    "register_size": Int, "episodes_per_update": Int, "entropy": Float, "entropy_iterations": Int,
    "discount": Float, "eval_stimuli": Range, "eval_episodes": Int, "eval_interval": Int, "program":
    Several[Literal["addition", "programs"]], "nesting": Int, "test_ranges": Range,
    "controller_sees_value": Several[Literal["yes", "no"]], "controller_sees_registers":
    Several[Literal["yes", "no"]], "train_size": Int, "train_on_test": Switch, "relation":
    Several[Literal["gt", "lt", "ge", "le", "eq", "ne"]], "scale": Float | Switch, "operations":
    Text, "depth": Int, "redundant": Int, "noise": Float, "sum_layer": Text, "start":
    Several[Literal["random", "near", "curriculum", "layer", "calcnet", "glorot", "positive"]],
    "start_noise": Float, "target": Text, "warm_start": Float, "equation": Text, "adam_epsilon":
    Float, "tenth_every": Int, "function": Several[Literal["four", "add", "mul", "inv", "sqrt"]],
    "upper": Float, "sums_first": Switch, "beta": Float, "polish": Int, "distribution":
    Several[Literal["exponential-0.2", "exponential-0.8", "normal-centred", "normal-above",
    "normal-below", "uniform-1", "uniform-5", "many-uniform", "many-normal", "many-start"]],
    "mean_w": Float, "mean_m": Float, "mean_g": Float, "deviation": Float, "penalty_epoch": Int,
    "penalty_turns": Several[Literal["own", "all"]], "no_restarts": Switch, "forget_bias": Float,
    "nalu_variant": Several[Literal["article", "two-nac", "shared", "custom"]], "test_size": Int,
    "shuffle": Switch, "problem_seed": Int, "task_file": Text, "data": Text, "input_names": Text,
    "outputs": Int, "train": Text, "test": Text, "threshold": Text, "hidden": Int}, total=False)
