"""Layers wired for a task; a network uses no flags, data or training."""

from .arithmetic import SimpleFunctionStaticNetwork, SingleLayerNetwork
from .number_translation import NumberTranslationNetwork
from .sequential_digits import RegressionMnistNetwork, SequentialDigitNetwork
from .simple_function_recurrent import SimpleFunctionRecurrentNetwork
