"""Layers wired for a task; a network uses no flags, data or training."""

from .number_translation import NumberTranslationNetwork
from .regression_mnist import RegressionMnistNetwork
from .sequential_digits import SequentialDigitNetwork
from .simple_function_recurrent import SimpleFunctionRecurrentNetwork
from .simple_function_static import SimpleFunctionStaticNetwork
from .single_layer import SingleLayerNetwork
