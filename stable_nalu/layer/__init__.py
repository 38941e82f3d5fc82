"""All layers: one file per layer or family, each of them registered in `registry`."""

from .abstract_nalu import AbstractNALULayer
from .base import Layer
from .basic import BasicCell, BasicLayer
from .ensemble_gumbel_nau import EnsembleGumbelNAULayer
from .feature_selector import FeatureSelector
from .gated_nau_nmu import GatedNAUNMUCell, GatedNAUNMULayer
from .generalized import GeneralizedCell, GeneralizedLayer
from .gradient_bandit_nac import GradientBanditNACCell, GradientBanditNACLayer
from .gumbel_mnac import GumbelMNACCell, GumbelMNACLayer
from .gumbel_nac import GumbelNACCell, GumbelNACLayer
from .hard_softmax_nac import HardSoftmaxNACCell, HardSoftmaxNACLayer
from .inalu import INALULayer
from .independent_nac import IndependentNACCell, IndependentNACLayer
from .linear_nac import LinearNACCell, LinearNACLayer
from .mcfc import MCFullyConnected
from .mnac import MNACCell, MNACLayer
from .mul_mcfc import MulMCFC
from .mul_mcfc_sign_inalu import MulMCFCSignINALU
from .mul_mcfc_sign_real_npu import MulMCFCSignRealNPU
from .multi_weight_nau import MultiWeightNAULayer
from .nac import NACCell, NACLayer
from .nalu import NALUCell, NALULayer
from .nalu_variants import (
    GradientBanditNALUCell,
    GradientBanditNALULayer,
    GumbelNALUCell,
    GumbelNALULayer,
    HardSoftmaxNALUCell,
    HardSoftmaxNALULayer,
    IndependentNALUCell,
    IndependentNALULayer,
    LinearNALUCell,
    LinearNALULayer,
    PosNALUCell,
    PosNALULayer,
    RegualizedLinearNALUCell,
    RegualizedLinearNALULayer,
    SoftmaxNALUCell,
    SoftmaxNALULayer,
)
from .nau import NAUCell, NAULayer
from .nmru import ConcatReciprocalNMULayer
from .nmru_gated_sign import ConcatReciprocalNMUGatedSignRetrievalLayer
from .nmru_sign import ConcatReciprocalNMUSignRetrievalLayer
from .nmu import NMUCell, NMULayer
from .nnu import NNULayer
from .npu import NPULayer
from .npu_real import RealNPULayer
from .nru import ReciprocalNMULayer
from .pos_nac import PosNACCell, PosNACLayer
from .pos_nau import PosNAUCell, PosNAULayer
from .registry import entries, has_own
from .regualized_linear_mnac import RegualizedLinearMNACCell, RegualizedLinearMNACLayer
from .regualized_linear_nac import RegualizedLinearNACCell, RegualizedLinearNACLayer
from .scaled_sigmoid_nau import ScaledSigmoidNAULayer
from .sigmoid_nau import SigmoidNAULayer
from .silly_mnac import SillyReRegualizedLinearMNACCell, SillyReRegualizedLinearMNACLayer
from .softmax_nac import SoftmaxNACCell, SoftmaxNACLayer
from .torch_cell import GRUCell, LSTMCell, RNNReLUCell, RNNTanhCell

ReRegualizedLinearNACLayer, ReRegualizedLinearNACCell = NAULayer, NAUCell
ReRegualizedLinearMNACLayer, ReRegualizedLinearMNACCell = NMULayer, NMUCell
ReRegualizedLinearPosNACLayer, ReRegualizedLinearPosNACCell = PosNAULayer, PosNAUCell
ReRegualizedLinearNALULayer, ReRegualizedLinearNALUCell = GatedNAUNMULayer, GatedNAUNMUCell
EnsembleGumbelSoftmaxNAU, SigmoidNAU, ScaledSigmoidNAU = (
    EnsembleGumbelNAULayer,
    SigmoidNAULayer,
    ScaledSigmoidNAULayer,
)
