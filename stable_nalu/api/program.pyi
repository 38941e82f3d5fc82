# Generated from the flags of the scripts; rewrite with `make generated`.
# ruff: noqa: E501, UP013
# fmt: off
from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any, Literal, TypedDict, TypeVar, Unpack, overload

from torch.nn import Module

from stable_nalu.api.runs import TrainedRuns

_Value = TypeVar("_Value")
Several = _Value | Iterable[_Value] | None
Switch = Several[bool]
Int = Several[int]
Float = Several[float]
Text = Several[str]
Seeds = Int | str
Digits = Several[int | str]
Path = str | PathLike[str] | None
Paths = Several[str | PathLike[str]]
Range = Iterable[Any] | None
Layers = Several[type[Module] | str]
Options = Mapping[str, Any] | Text
Distribution = Iterable[str | float | Iterable[str | float]] | str | None

_WithNumSubsets = TypedDict("_WithNumSubsets", {"num_subsets": Int, "first_layer": Text, "nac_mul":
    Several[Literal["none", "normal", "safe", "max-safe", "mnac", "npu", "real-npu"]], "npu_clip":
    Several[Literal["none", "w", "g", "wg", "wig"]], "npu_Wr_init":
    Several[Literal["xavier-uniform", "xavier-uniform-constrained"]], "regualizer_beta_start":
    Float, "regualizer_beta_end": Float, "regualizer_beta_step": Int, "regualizer_beta_growth": Int,
    "regualizer_l1": Switch}, total=False)
_WithInterpolationRange = TypedDict("_WithInterpolationRange", {"interpolation_range": Range,
    "extrapolation_range": Range}, total=False)
_WithSubsetRatio = TypedDict("_WithSubsetRatio", {"subset_ratio": Float, "overlap_ratio": Float,
    "simple": Switch}, total=False)
_WithSeed = TypedDict("_WithSeed", {"seed": Seeds, "layer_file": Paths, "layer_option": Options,
    "nmu_noise": Switch, "noise_range": Range, "name_prefix": Paths, "short_names": Text,
    "remove_existing_data": Switch, "verbose": Switch, "no_save": Switch, "load_checkpoint": Switch,
    "resume": Switch, "no_cuda": Switch, "checkpoint_interval": Int, "layer": Layers, "out": Path},
    total=False)
_WithLayerType = TypedDict("_WithLayerType", {"layer_type": Text, "mnac_epsilon": Float,
    "nalu_bias": Switch, "nalu_two_nac": Switch, "nalu_two_gate": Switch, "nalu_gate_shape":
    Several[Literal["matrix", "vector"]], "nalu_init": Several[Literal["default", "truncated",
    "xavier-normal", "uniform"]]}, total=False)
_WithOobMode = TypedDict("_WithOobMode", {"oob_mode": Several[Literal["regualized", "clip"]],
    "regualizer_shape": Several[Literal["squared", "linear", "none"]], "pytorch_precision":
    Several[Literal[32, 64]], "ensemble_size": Int, "workers": Int}, total=False)
_WithNauNoise = TypedDict("_WithNauNoise", {"nau_noise": Switch, "beta_nau": Switch}, total=False)
_WithNaluMul = TypedDict("_WithNaluMul", {"nalu_mul": Several[Literal["normal", "safe", "trig",
    "max-safe", "mnac"]], "nalu_gate": Several[Literal["normal", "regualized", "obs-gumbel",
    "gumbel", "linear", "independent"]]}, total=False)
_WithRegualizer = TypedDict("_WithRegualizer", {"regualizer": Float, "regualizer_scaling_start":
    Int, "regualizer_scaling_end": Int}, total=False)
_WithRegualizerZ = TypedDict("_WithRegualizerZ", {"regualizer_z": Float, "regualizer_oob": Float,
    "regualizer_scaling": Several[Literal["exp", "linear"]]}, total=False)
_WithTrainCriterion = TypedDict("_WithTrainCriterion", {"train_criterion": Several[Literal["mse",
    "pcc", "pcc-mse", "mape"]], "pcc2mse_iteration": Int}, total=False)
_WithEngine = TypedDict("_WithEngine", {"engine": Several[Literal["lanes", "torch"]], "no_compile":
    Switch, "show_engine": Switch}, total=False)
_WithOperation = TypedDict("_WithOperation", {"operation": Several[Literal["cumsum", "sum",
    "cumprod", "prod"]], "nac_mul": Several[Literal["none", "normal", "mnac"]],
    "model_simplification": Several[Literal["none", "solved-accumulator", "pass-through"]],
    "nac_oob": Several[Literal["regualized", "clip"]], "regualizer_shape":
    Several[Literal["squared", "linear"]]}, total=False)
_WithNumFolds = TypedDict("_WithNumFolds", {"num_folds": Int, "samples_per_permutation": Int,
    "use_nalm": Switch, "learn_labels2out": Switch, "nalm_name": Text, "rounded": Switch},
    total=False)
_SimpleFunctionStatic = TypedDict("_SimpleFunctionStatic", {"operation": Several[Literal["add",
    "sub", "mul", "div", "squared", "root"]], "input_size": Int, "batch_size": Int,
    "max_iterations": Int, "hidden_size": Int, "trash_cell": Switch, "W_set_count": Int,
    "reg_scale_type": Several[Literal["heim", "madsen"]], "regualizer_npu_w": Int,
    "regualizer_gate": Int, "optimizer": Several[Literal["adam", "sgd"]], "learning_rate": Float,
    "momentum": Float, "id": Int, "log_interval": Int, "save_best_model": Switch,
    "extrapolation_rule": Several[Literal["range", "exceed"]], "random_models": Int}, total=False)
class SimpleFunctionStatic(_WithNumSubsets, _WithInterpolationRange, _WithSubsetRatio, _WithSeed,
    _WithLayerType, _WithOobMode, _WithNauNoise, _WithNaluMul, _WithRegualizer, _WithRegualizerZ,
    _WithTrainCriterion, _WithEngine, _SimpleFunctionStatic): ...
_SimpleFunctionStaticNpu = TypedDict("_SimpleFunctionStaticNpu", {"operation":
    Several[Literal["add", "sub", "mul", "div", "squared", "root"]], "input_size": Int,
    "batch_size": Int, "max_iterations": Int, "hidden_size": Int, "trash_cell": Switch,
    "W_set_count": Int, "reg_scale_type": Several[Literal["heim", "madsen"]], "regualizer_npu_w":
    Int, "regualizer_gate": Int, "optimizer": Several[Literal["adam", "sgd"]], "learning_rate":
    Float, "momentum": Float, "id": Int, "log_interval": Int, "save_best_model": Switch},
    total=False)
class SimpleFunctionStaticNpu(_WithNumSubsets, _WithInterpolationRange, _WithSubsetRatio, _WithSeed,
    _WithLayerType, _WithOobMode, _WithNauNoise, _WithNaluMul, _WithRegualizer, _WithRegualizerZ,
    _WithTrainCriterion, _WithEngine, _SimpleFunctionStaticNpu): ...
_SingleLayer = TypedDict("_SingleLayer", {"input_size": Int, "batch_size": Int, "max_iterations":
    Int, "hidden_size": Int, "trash_cell": Switch, "reg_scale_type": Several[Literal["heim",
    "madsen"]], "regualizer_npu_w": Int, "regualizer_gate": Int, "optimizer":
    Several[Literal["adam", "sgd"]], "learning_rate": Float, "momentum": Float, "id": Int,
    "log_interval": Int, "operation": Several[Literal["add", "sub", "mul", "div", "squared", "root",
    "reciprocal"]], "sample_distribution": Distribution, "output_size": Int, "nru_div_mode":
    Several[Literal["div", "div-sepSign"]], "realnpu_reg_type": Several[Literal["W", "bias"]],
    "lp_norm": Several[Literal[1, 2]], "clip_grad_norm": Float}, total=False)
class SingleLayer(_WithNumSubsets, _WithInterpolationRange, _WithSubsetRatio, _WithSeed,
    _WithLayerType, _WithOobMode, _WithNauNoise, _WithNaluMul, _WithRegualizer, _WithRegualizerZ,
    _WithTrainCriterion, _WithEngine, _SingleLayer): ...
_SingleLayerRobust = TypedDict("_SingleLayerRobust", {"input_size": Int, "batch_size": Int,
    "max_iterations": Int, "hidden_size": Int, "reg_scale_type": Several[Literal["heim", "madsen"]],
    "regualizer_npu_w": Int, "regualizer_gate": Int, "optimizer": Several[Literal["adam", "sgd"]],
    "learning_rate": Float, "momentum": Float, "id": Int, "log_interval": Int, "operation":
    Several[Literal["add", "sub", "mul", "div", "squared", "root", "reciprocal"]],
    "sample_distribution": Distribution, "output_size": Int, "nru_div_mode": Several[Literal["div",
    "div-sepSign"]], "realnpu_reg_type": Several[Literal["W", "bias"]], "clip_grad_norm": Float},
    total=False)
class SingleLayerRobust(_WithNumSubsets, _WithInterpolationRange, _WithSubsetRatio, _WithSeed,
    _WithLayerType, _WithOobMode, _WithNauNoise, _WithNaluMul, _WithRegualizer, _WithRegualizerZ,
    _WithTrainCriterion, _WithEngine, _SingleLayerRobust): ...
_SingleLayerCurriculum = TypedDict("_SingleLayerCurriculum", {"operation": Several[Literal["add",
    "sub", "mul", "div", "squared", "root"]], "input_size": Int, "batch_size": Int,
    "max_iterations": Int, "hidden_size": Int, "trash_cell": Switch, "W_set_count": Int,
    "regualizer_gate": Int, "optimizer": Several[Literal["adam", "sgd"]], "learning_rate": Float,
    "momentum": Float, "id": Int, "log_interval": Int, "nru_div_mode": Several[Literal["div",
    "div-sepSign"]], "realnpu_reg_type": Several[Literal["W", "bias"]], "regualizer_npu_w": Switch},
    total=False)
class SingleLayerCurriculum(_WithNumSubsets, _WithInterpolationRange, _WithSubsetRatio, _WithSeed,
    _WithLayerType, _WithOobMode, _WithNauNoise, _WithNaluMul, _WithRegualizer, _WithRegualizerZ,
    _WithEngine, _SingleLayerCurriculum): ...
_SingleLayerBenchmark = TypedDict("_SingleLayerBenchmark", {"input_size": Int, "batch_size": Int,
    "max_iterations": Int, "hidden_size": Int, "reg_scale_type": Several[Literal["heim", "madsen"]],
    "regualizer_npu_w": Int, "regualizer_gate": Int, "optimizer": Several[Literal["adam", "sgd"]],
    "learning_rate": Float, "momentum": Float, "id": Int, "log_interval": Int, "operation":
    Several[Literal["add", "sub", "mul", "div", "squared", "root", "reciprocal"]], "output_size":
    Int, "nru_div_mode": Several[Literal["div", "div-sepSign"]], "realnpu_reg_type":
    Several[Literal["W", "bias"]], "clip_grad_norm": Float, "mlp_bias": Switch, "mlp_depth": Int,
    "nalu_mul": Several[Literal["normal", "safe", "trig", "max-safe", "mnac", "golden-ratio"]],
    "nalu_gate": Several[Literal["normal", "regualized", "obs-gumbel", "gumbel", "linear",
    "independent", "golden-ratio"]], "nac_weight": Several[Literal["normal", "golden-ratio"]],
    "reinit": Switch, "reinit_epoch_interval": Int, "reinit_max_stored_losses": Int,
    "reinit_loss_thr": Float, "clip_grad_value": Float}, total=False)
class SingleLayerBenchmark(_WithNumSubsets, _WithInterpolationRange, _WithSubsetRatio, _WithSeed,
    _WithLayerType, _WithOobMode, _WithNauNoise, _WithRegualizer, _WithRegualizerZ,
    _WithTrainCriterion, _WithEngine, _SingleLayerBenchmark): ...
_SimpleFunctionRecurrent = TypedDict("_SimpleFunctionRecurrent", {"operation":
    Several[Literal["add", "sub", "mul", "div", "squared", "root"]], "input_size": Int,
    "batch_size": Int, "max_iterations": Int, "hidden_size": Int, "optimizer":
    Several[Literal["adam", "sgd"]], "learning_rate": Float, "momentum": Float, "random_models":
    Int, "clip_grad_norm": Float, "interpolation_length": Int, "extrapolation_length": Int,
    "input_range": Range, "cuda": Switch}, total=False)
class SimpleFunctionRecurrent(_WithSubsetRatio, _WithSeed, _WithLayerType, _WithOobMode,
    _WithNauNoise, _WithNaluMul, _WithEngine, _SimpleFunctionRecurrent): ...
_NumberTranslation = TypedDict("_NumberTranslation", {"batch_size": Int, "hidden_size": Int,
    "optimizer": Several[Literal["adam", "sgd"]], "learning_rate": Float, "momentum": Float,
    "clip_grad_norm": Float, "cuda": Switch, "max_epochs": Int, "number_range":
    Several[Literal["reference", "paper"]], "head": Several[Literal["recurrent", "final"]],
    "embedding_size": Int}, total=False)
class NumberTranslation(_WithSeed, _WithLayerType, _WithOobMode, _WithNauNoise, _WithNaluMul,
    _NumberTranslation): ...
_SequentialMnist = TypedDict("_SequentialMnist", {"batch_size": Int, "interpolation_length": Int,
    "max_epochs": Int, "mnist_digits": Digits, "mnist_outputs": Int, "extrapolation_lengths": Range,
    "data_source": Several[Literal["mnist", "digits"]], "data_dir": Paths, "dataset_workers": Int},
    total=False)
class SequentialMnist(_WithSeed, _WithLayerType, _WithNauNoise, _WithNaluMul, _WithRegualizer,
    _WithRegualizerZ, _WithTrainCriterion, _WithOperation, _SequentialMnist): ...
_SequentialSvhn = TypedDict("_SequentialSvhn", {"batch_size": Int, "id": Int,
    "interpolation_length": Int, "max_epochs": Int, "extrapolation_lengths": Range, "data_dir":
    Paths, "dataset_workers": Int, "svhn_digits": Digits, "data_source": Several[Literal["svhn",
    "digits"]], "svhn_outputs": Int, "resnet": Several[Literal["resnet18", "resnet34", "resnet50",
    "resnet101", "resnet152"]]}, total=False)
class SequentialSvhn(_WithSeed, _WithLayerType, _WithNaluMul, _WithRegualizer, _WithRegualizerZ,
    _WithOperation, _SequentialSvhn): ...
_TwoDigitMnist = TypedDict("_TwoDigitMnist", {"batch_size": Int, "regualizer_npu_w": Int,
    "regualizer_gate": Int, "learning_rate": Float, "id": Int, "log_interval": Int,
    "clip_grad_norm": Float, "max_epochs": Int, "data_source": Several[Literal["mnist", "digits"]],
    "data_dir": Paths, "dataset_workers": Int, "operation": Several[Literal["add", "mul", "div"]],
    "use_tau": Switch, "use_argmax": Switch, "only_nalm_cgn": Switch, "weight_decay": Float,
    "evaluation_dir": Paths}, total=False)
class TwoDigitMnist(_WithSeed, _WithNauNoise, _WithRegualizer, _WithNumFolds, _TwoDigitMnist): ...
_STMnistLabels = TypedDict("_STMnistLabels", {"batch_size": Int, "optimizer":
    Several[Literal["adam", "sgd"]], "learning_rate": Float, "id": Int, "log_interval": Int,
    "clip_grad_norm": Float, "max_epochs": Int, "data_source": Several[Literal["mnist", "digits"]],
    "data_dir": Paths, "dataset_workers": Int, "evaluation_dir": Paths, "operation":
    Several[Literal["add", "mul"]], "val_split": Float, "image_concat_dim":
    Several[Literal["colour", "width"]], "img2label_model": Text, "tps_unbounded_stn": Switch,
    "identity_start": Switch, "scheduler_step_size": Int, "no_scheduler": Switch}, total=False)
class STMnistLabels(_WithSeed, _WithNauNoise, _WithRegualizer, _WithNumFolds, _STMnistLabels): ...
_IdentityAutoencoder = TypedDict("_IdentityAutoencoder", {"batch_size": Int, "max_iterations": Int,
    "hidden_size": Int, "learning_rate": Float, "id": Int, "log_interval": Int, "clip_grad_norm":
    Float, "train_sampling": Several[Literal["grid", "uniform"]], "train_range": Range,
    "test_range": Range, "hidden_layers": Int, "optimizer": Several[Literal["adam", "rmsprop",
    "sgd"]]}, total=False)
class IdentityAutoencoder(_WithSeed, _WithLayerType, _WithOobMode, _WithNauNoise, _WithNaluMul,
    _WithEngine, _IdentityAutoencoder): ...
_EvenDigitCount = TypedDict("_EvenDigitCount", {"batch_size": Int, "max_iterations": Int,
    "learning_rate": Float, "id": Int, "log_interval": Int, "clip_grad_norm": Float, "data_dir":
    Paths, "optimizer": Several[Literal["adam", "rmsprop", "sgd"]], "head_bias": Switch,
    "no_head_bias": Switch, "image_size": Int, "max_digits": Int, "min_distance": Int,
    "train_images": Int, "valid_images": Int, "test_images": Int, "digit_source":
    Several[Literal["mnist", "digits"]]}, total=False)
class EvenDigitCount(_WithSeed, _WithLayerType, _WithOobMode, _WithNauNoise, _WithNaluMul,
    _EvenDigitCount): ...
_MnistCounting = TypedDict("_MnistCounting", {"batch_size": Int, "learning_rate": Float, "id": Int,
    "log_interval": Int, "clip_grad_norm": Float, "interpolation_length": Int, "max_epochs": Int,
    "extrapolation_lengths": Range, "data_dir": Paths, "optimizer": Several[Literal["adam",
    "rmsprop", "sgd"]], "digit_source": Several[Literal["mnist", "digits"]], "task":
    Several[Literal["count", "sum"]], "cnn": Several[Literal["small", "large", "mlp8"]],
    "cnn_outputs": Int, "cnn_dropout": Float, "sequence_loss": Several[Literal["last", "all"]],
    "test_repeats": Int}, total=False)
class MnistCounting(_WithSeed, _WithLayerType, _WithOobMode, _WithNauNoise, _WithNaluMul,
    _MnistCounting): ...
_GridworldTime = TypedDict("_GridworldTime", {"max_iterations": Int, "hidden_size": Int,
    "learning_rate": Float, "id": Int, "log_interval": Int, "clip_grad_norm": Float, "optimizer":
    Several[Literal["adam", "rmsprop", "sgd"]], "nac_wiring": Several[Literal["recurrent",
    "feedforward"]], "observation": Several[Literal["symbolic", "pixels"]], "stimulus_range": Range,
    "max_reward": Float, "time_limit": Int, "reward_shape": Several[Literal["linear", "exact"]],
    "late": Several[Literal["symmetric", "zero"]], "reachable_only": Switch, "no_reachable_only":
    Switch, "episodes_per_update": Int, "entropy": Float, "entropy_iterations": Int, "discount":
    Float, "eval_stimuli": Range, "eval_episodes": Int, "eval_interval": Int, "register_size": Int},
    total=False)
class GridworldTime(_WithSeed, _WithLayerType, _WithOobMode, _WithNauNoise, _WithNaluMul,
    _GridworldTime): ...
_ProgramEvaluation = TypedDict("_ProgramEvaluation", {"batch_size": Int, "max_iterations": Int,
    "hidden_size": Int, "learning_rate": Float, "id": Int, "log_interval": Int, "clip_grad_norm":
    Float, "train_range": Range, "optimizer": Several[Literal["adam", "rmsprop", "sgd"]],
    "register_size": Int, "program": Several[Literal["addition", "programs"]], "nesting": Int,
    "test_ranges": Range, "controller_sees_value": Several[Literal["yes", "no"]],
    "controller_sees_registers": Several[Literal["yes", "no"]]}, total=False)
class ProgramEvaluation(_WithSeed, _WithLayerType, _WithOobMode, _WithNauNoise, _WithNaluMul,
    _ProgramEvaluation): ...
_NotebookAddition = TypedDict("_NotebookAddition", {"max_iterations": Int, "learning_rate": Float,
    "id": Int, "log_interval": Int, "clip_grad_norm": Float, "optimizer": Several[Literal["adam",
    "rmsprop", "sgd"]], "train_size": Int, "train_on_test": Switch}, total=False)
class NotebookAddition(_WithSeed, _WithLayerType, _WithOobMode, _WithNauNoise, _WithNaluMul,
    _WithEngine, _NotebookAddition): ...
_Comparison = TypedDict("_Comparison", {"max_iterations": Int, "hidden_size": Int, "learning_rate":
    Float, "id": Int, "log_interval": Int, "clip_grad_norm": Float, "optimizer":
    Several[Literal["adam", "rmsprop", "sgd"]], "relation": Several[Literal["gt", "lt", "ge", "le",
    "eq", "ne"]], "scale": Float}, total=False)
class Comparison(_WithSeed, _WithLayerType, _WithOobMode, _WithNauNoise, _WithNaluMul, _WithEngine,
    _Comparison): ...
_Depth = TypedDict("_Depth", {"batch_size": Int, "max_iterations": Int, "trash_cell": Switch,
    "optimizer": Several[Literal["adam", "sgd"]], "learning_rate": Float, "momentum": Float, "id":
    Int, "log_interval": Int, "nru_div_mode": Several[Literal["div", "div-sepSign"]],
    "clip_grad_norm": Float, "clip_grad_value": Float, "operations": Several[Literal["add,mul",
    "add,div", "sub,mul", "sub,div", "add", "mul", "sub", "div", "eml"]], "redundant": Int,
    "sum_layer": Text, "start": Several[Literal["random", "near", "curriculum"]], "start_noise":
    Float, "depth": Int, "noise": Float}, total=False)
class Depth(_WithInterpolationRange, _WithSeed, _WithLayerType, _WithOobMode, _WithNauNoise,
    _WithNaluMul, _WithRegualizer, _WithRegualizerZ, _WithEngine, _Depth): ...
_EmlRecovery = TypedDict("_EmlRecovery", {"max_iterations": Int, "learning_rate": Float, "id": Int,
    "log_interval": Int, "clip_grad_norm": Float, "optimizer": Several[Literal["adam", "rmsprop",
    "sgd"]], "depth": Int, "target": Several[Literal["drawn", "chain"]], "warm_start": Float},
    total=False)
class EmlRecovery(_WithSeed, _WithLayerType, _WithOobMode, _WithNauNoise, _WithNaluMul, _WithEngine,
    _EmlRecovery): ...
_Equations = TypedDict("_Equations", {"batch_size": Int, "max_iterations": Int, "hidden_size": Int,
    "trash_cell": Switch, "optimizer": Several[Literal["adam", "sgd"]], "learning_rate": Float,
    "momentum": Float, "id": Int, "log_interval": Int, "nru_div_mode": Several[Literal["div",
    "div-sepSign"]], "clip_grad_norm": Float, "clip_grad_value": Float, "hidden_layers": Int,
    "noise": Float, "equation": Several[Literal["div", "F-1", "F-2", "F-3", "F-4"]], "adam_epsilon":
    Float}, total=False)
class Equations(_WithSeed, _WithLayerType, _WithOobMode, _WithNauNoise, _WithNaluMul,
    _WithRegualizer, _WithRegualizerZ, _WithEngine, _Equations): ...
_MysteryArithmetic = TypedDict("_MysteryArithmetic", {"input_size": Int, "batch_size": Int,
    "learning_rate": Float, "id": Int, "log_interval": Int, "output_size": Int, "clip_grad_norm":
    Float, "max_epochs": Int, "evaluation_dir": Paths, "train_range": Range, "test_range": Range,
    "optimizer": Several[Literal["adam", "rmsprop", "sgd"]], "train_size": Int, "nalu_variant":
    Several[Literal["article", "two-nac", "shared", "custom"]], "operations": Text, "test_size":
    Int, "shuffle": Switch, "problem_seed": Int}, total=False)
class MysteryArithmetic(_WithSeed, _WithLayerType, _WithOobMode, _WithNauNoise, _WithNaluMul,
    _MysteryArithmetic): ...
@overload
def train(script: Literal["simple_function_static"], **flags: Unpack[SimpleFunctionStatic]) -> TrainedRuns: ...
@overload
def train(script: Literal["simple_function_static_npu"], **flags: Unpack[SimpleFunctionStaticNpu]) -> TrainedRuns: ...
@overload
def train(script: Literal["single_layer"], **flags: Unpack[SingleLayer]) -> TrainedRuns: ...
@overload
def train(script: Literal["single_layer_robust"], **flags: Unpack[SingleLayerRobust]) -> TrainedRuns: ...
@overload
def train(script: Literal["single_layer_curriculum"], **flags: Unpack[SingleLayerCurriculum]) -> TrainedRuns: ...
@overload
def train(script: Literal["single_layer_benchmark"], **flags: Unpack[SingleLayerBenchmark]) -> TrainedRuns: ...
@overload
def train(script: Literal["simple_function_recurrent"], **flags: Unpack[SimpleFunctionRecurrent]) -> TrainedRuns: ...
@overload
def train(script: Literal["number_translation"], **flags: Unpack[NumberTranslation]) -> TrainedRuns: ...
@overload
def train(script: Literal["sequential_mnist"], **flags: Unpack[SequentialMnist]) -> TrainedRuns: ...
@overload
def train(script: Literal["sequential_svhn"], **flags: Unpack[SequentialSvhn]) -> TrainedRuns: ...
@overload
def train(script: Literal["two_digit_mnist"], **flags: Unpack[TwoDigitMnist]) -> TrainedRuns: ...
@overload
def train(script: Literal["ST_mnist_labels"], **flags: Unpack[STMnistLabels]) -> TrainedRuns: ...
@overload
def train(script: Literal["identity_autoencoder"], **flags: Unpack[IdentityAutoencoder]) -> TrainedRuns: ...
@overload
def train(script: Literal["even_digit_count"], **flags: Unpack[EvenDigitCount]) -> TrainedRuns: ...
@overload
def train(script: Literal["mnist_counting"], **flags: Unpack[MnistCounting]) -> TrainedRuns: ...
@overload
def train(script: Literal["gridworld_time"], **flags: Unpack[GridworldTime]) -> TrainedRuns: ...
@overload
def train(script: Literal["program_evaluation"], **flags: Unpack[ProgramEvaluation]) -> TrainedRuns: ...
@overload
def train(script: Literal["notebook_addition"], **flags: Unpack[NotebookAddition]) -> TrainedRuns: ...
@overload
def train(script: Literal["comparison"], **flags: Unpack[Comparison]) -> TrainedRuns: ...
@overload
def train(script: Literal["depth"], **flags: Unpack[Depth]) -> TrainedRuns: ...
@overload
def train(script: Literal["eml_recovery"], **flags: Unpack[EmlRecovery]) -> TrainedRuns: ...
@overload
def train(script: Literal["equations"], **flags: Unpack[Equations]) -> TrainedRuns: ...
@overload
def train(script: Literal["mystery_arithmetic"], **flags: Unpack[MysteryArithmetic]) -> TrainedRuns: ...
