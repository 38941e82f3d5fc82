"""SoftmaxNALU: a gate between adding and multiplying SoftmaxNACs."""

from stable_nalu.layer import SoftmaxNACLayer, SoftmaxNALULayer
from tests.layer.nalu_family import SmoothNALUContract


class TestSoftmaxNALU(SmoothNALUContract):
    nalu = SoftmaxNALULayer
    nac = SoftmaxNACLayer
    key = "SoftmaxNALU"
