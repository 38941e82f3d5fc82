"""stable-nalu: neural arithmetic logic modules and the experiments that study them."""

import os

# Keep MKL from choosing the order of sums in a matrix product by the processor's features. It is
# read once, at the first product; whoever prefers speed on large layers can set it beforehand.
os.environ.setdefault("MKL_CBWR", "COMPATIBLE")

__version__ = "1.0.0"
