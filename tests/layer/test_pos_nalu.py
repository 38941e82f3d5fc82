"""PosNALU: a gate between adding and multiplying PosNACs."""

from stable_nalu.layer import PosNACLayer, PosNALULayer
from tests.layer.nalu_family import SmoothNALUContract


class TestPosNALU(SmoothNALUContract):
    nalu = PosNALULayer
    nac = PosNACLayer
    key = "PosNALU"
