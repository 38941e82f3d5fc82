"""Layers wired for a task; a network uses no flags, data or training."""

from .arithmetic import (
    SimpleFunctionRecurrentNetwork,
    SimpleFunctionStaticNetwork,
    SingleLayerNetwork,
)
from .digits import RegressionMnistNetwork, SequentialDigitNetwork
from .texts import NumberTranslationNetwork

__all__ = [
    "NumberTranslationNetwork",
    "RegressionMnistNetwork",
    "SequentialDigitNetwork",
    "SimpleFunctionRecurrentNetwork",
    "SimpleFunctionStaticNetwork",
    "SingleLayerNetwork",
]
