"""stable-nalu: neural arithmetic logic modules and the experiments that study them."""

__version__ = "1.0.0"
