"""Generators of samples: (generator, range, size) -> (x, t).

A dataset owns its random generators; numpy's global one is never touched, and nothing is loaded or
drawn at import.
"""

from typing import TYPE_CHECKING, Any

from stable_nalu.base import publish

if TYPE_CHECKING:
    from .images import SequentialMnistDataset as SequentialMnistDataset
    from .images import SequentialSvhnDataset as SequentialSvhnDataset
    from .number_translation import NumberTranslationDataset as NumberTranslationDataset
    from .simple_function import SimpleFunctionRecurrentDataset as SimpleFunctionRecurrentDataset
    from .simple_function import SimpleFunctionStaticDataset as SimpleFunctionStaticDataset
    from .simple_function import SingleLayerStaticDataset as SingleLayerStaticDataset


def __getattr__(name: str) -> Any:
    if name.endswith("Dataset"):
        from . import images, number_translation, simple_function  # A run needs one of them alone.

        for module in (simple_function, images, number_translation):
            if hasattr(module, name):
                return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


publish(
    __name__,
    "simple_function_static simple_function_recurrent single_layer_static",
    "sequential_mnist sequential_svhn",
)
