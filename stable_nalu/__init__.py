"""stable-nalu: neural arithmetic logic modules and the experiments that study them."""

import os

# Matrix products then round alike on every x86 CPU, in the order of the published figures. It is
# read once, at the first product; whoever prefers speed on large layers can set it beforehand.
os.environ.setdefault("MKL_CBWR", "COMPATIBLE")

__version__ = "1.0.0"
