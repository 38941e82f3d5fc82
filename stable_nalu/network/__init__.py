"""Layers wired for a task; a network uses no flags or training."""

from typing import TYPE_CHECKING, Any

from stable_nalu.base import publish

if TYPE_CHECKING:
    from .arithmetic import SimpleFunctionRecurrentNetwork as SimpleFunctionRecurrentNetwork
    from .arithmetic import SimpleFunctionStaticNetwork as SimpleFunctionStaticNetwork
    from .arithmetic import SingleLayerNetwork as SingleLayerNetwork
    from .sequences import NumberTranslationNetwork as NumberTranslationNetwork
    from .sequences import RegressionMnistNetwork as RegressionMnistNetwork
    from .sequences import SequentialMnistNetwork as SequentialMnistNetwork
    from .sequences import SequentialSvhnNetwork as SequentialSvhnNetwork


def __getattr__(name: str) -> Any:
    if name.endswith("Network"):
        from . import arithmetic, sequences  # On first use: a run needs one of them alone.

        for module in (arithmetic, sequences):
            if hasattr(module, name):
                return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


publish(
    __name__,
    "simple_function_static simple_function_recurrent single_layer sequential_mnist",
    "sequential_svhn regression_mnist number_translation",
)
