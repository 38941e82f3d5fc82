"""Images of digits: MNIST, SVHN and the digits of scikit-learn, in memory as bytes."""

from .corpus import ImageCorpus
from .pixels import PixelTable
from .sources import load_corpus

__all__ = ["ImageCorpus", "PixelTable", "load_corpus"]
