"""Layers wired for a task; a network uses no flags, data or training."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .arithmetic import SimpleFunctionRecurrentNetwork as SimpleFunctionRecurrentNetwork
    from .arithmetic import SimpleFunctionStaticNetwork as SimpleFunctionStaticNetwork
    from .arithmetic import SingleLayerNetwork as SingleLayerNetwork
    from .sequences import NumberTranslationNetwork as NumberTranslationNetwork
    from .sequences import RegressionMnistNetwork as RegressionMnistNetwork
    from .sequences import SequentialDigitNetwork as SequentialDigitNetwork


def __getattr__(name: str) -> Any:
    if name.endswith("Network"):
        from . import arithmetic, sequences  # On first use: a run needs one of them alone.

        for module in (arithmetic, sequences):
            if hasattr(module, name):
                return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
