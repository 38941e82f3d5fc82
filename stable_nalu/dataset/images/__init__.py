"""Images of digits: MNIST, SVHN and the digits of scikit-learn, in memory as bytes."""

from .even_digits import EvenDigitPictures, Placement, TrainingStream
from .sequential import DigitSequences, DigitSubset
from .sources import ImageCorpus, PixelTable, load_corpus, load_subset
