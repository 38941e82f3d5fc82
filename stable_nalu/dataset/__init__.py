"""Generators of samples: (generator, range, size) -> (x, t).

A dataset owns its random generators; numpy's global one is never touched, and nothing is loaded or
drawn at import.
"""

from .loader import IndexLoader, TensorLoader
from .number_translation import NumberTranslationDataset
from .simple_function import SimpleFunctionStaticDataset
from .simple_function_recurrent import SimpleFunctionRecurrentDataset
from .stream import SampleStream, StreamLoader
