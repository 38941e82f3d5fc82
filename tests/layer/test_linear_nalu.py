"""LinearNALU: a gate between adding and multiplying LinearNACs."""

from stable_nalu.layer import LinearNACLayer, LinearNALUCell, LinearNALULayer, entries
from tests.layer.nalu_family import SmoothNALUContract


class TestLinearNALU(SmoothNALUContract):
    nalu = LinearNALULayer
    nac = LinearNACLayer
    key = "LinearNALU"

    def test_the_cell(self):
        """The class exists; it is not registered."""
        assert entries()[self.key].cell is None
        assert LinearNALUCell(2, 3).op.G_add.shape == (3, 5)
