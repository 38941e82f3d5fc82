"""What users of torch expect of any module, promised by every registered layer and cell."""

import copy
import inspect
import io
import pickle
import re
from ast import literal_eval
from importlib import import_module
from importlib.util import find_spec

import pytest
import torch
from torch.func import functional_call, grad, stack_module_state, vmap

from stable_nalu.layer import entries
from tests import layer_values
from tests.contract.test_layers import BATCH, IN, KEYS, OUT, all_of, build, make_input

VARIANTS = [(key, v.options) for key, entry in entries().items() for v in entry.variants]
CASES = [(key, {}) for key in KEYS] + VARIANTS
CELLS = [key for key, entry in entries().items() if entry.cell is not None]
DEEP = [(key, {}) for key in ("ReRegualizedLinearMNAC", "SignNMRU", "RealNPU")]
"""Layers that are compiled for inputs of more dimensions, too."""
FAST = ("ReRegualizedLinearMNAC", "ReRegualizedLinearNAC", "NALU")
"""Layers that are compiled and exported with every change; some others are with `make test`."""
SLOW = ("NAC", "SignNMRU", "RealNPU", "EML", "GumbelNAC", "iNALU", "MCFC", "DMU")

VALUES = """
W_set_count=3 activation='Tanh' beta_nau=True bias=False copies=3 depth=3 epoch=9 iterations=99
l1=0.5 layers=3 width=2 eps=1e-05 gate_smoothing=0.1 init='biased' mnac_epsilon=0.1
mnac_normalized=True nac_oob='clip' nac_weight='golden-ratio' nalu_bias=True
nalu_gate='regualized' nalu_gate_shape='vector' nalu_init='truncated' nalu_mul='safe'
nalu_two_gate=True nalu_two_nac=True nau_noise=True nmu_noise=True noise_range=[2,3]
npu_Wr_init='xavier-uniform-constrained' npu_clip='wg' nru_div_mode='div-sepSign'
realnpu_reg_type='bias' operands='sub' regualizer_gate=1 regualizer_npu_w=1
regualizer_shape='linear' regualizer_z=1 single_gate=True start=0.25 temperature=0.5
trash_cell=True tree='bottom' z=2.0 npu_gate='open' gate_of_input=True
gate_of_abs=True shared_weights=True sigmoids=True
"""
NOT_THE_DEFAULT = {k: literal_eval(v) for k, _, v in (w.partition("=") for w in VALUES.split())}

pytestmark = [
    pytest.mark.filterwarnings("ignore:<class 'torch.autograd.*should not be instantiated"),
    pytest.mark.filterwarnings("ignore:There is a performance drop"),
    pytest.mark.filterwarnings("ignore:The tensor attribute self.* was assigned during export"),
    pytest.mark.filterwarnings("ignore:.*LeafSpec.* is deprecated:FutureWarning"),
]
"""Warnings of torch about its own doings, at compilation and under vmap."""


def named(case):
    return "-".join([case[0], *case[1]])


def split(cases):
    """Some layers of all kinds, most of them marked as slow."""
    slow = pytest.mark.slow
    cases = [c for c in cases if c[0] in (*FAST, *SLOW) and (c[0] in FAST or not c[1])]
    return [pytest.param(c, id=named(c), marks=() if c[0] in FAST else slow) for c in cases]


def build_case(case, **options):
    key, own = case
    return build(key, **own, **options)


def build_cell(key, **options):
    entry = entries()[key]
    torch.manual_seed(0)
    return entry.cell(IN, OUT, **entry.fixed_options, **options)


def cell_input(key):
    x, h = make_input(key), torch.rand(BATCH, OUT)
    return x, (h, h) if key == "LSTM" else h


def output(module, *inputs):
    torch.manual_seed(5)
    return module(*inputs)


def draws(case, training):
    layer = build_case(case).train(training)
    return layer_values.draws(lambda: layer(make_input(case[0])))


def floating(module):
    return [v for v in [*module.parameters(), *module.buffers()] if v.is_floating_point()]


def copies_of(module):
    """Copies by every way there is, the last from a file."""
    file = io.BytesIO()
    torch.save(module, file)
    file.seek(0)
    loaded = torch.load(file, weights_only=False)
    return [copy.deepcopy(module), pickle.loads(pickle.dumps(module)), loaded]


@pytest.mark.parametrize("case", CASES, ids=named)
def test_copies_of_a_layer_in_use_compute_the_same(case):
    """So does a layer of another seed with its state.

    In use: a forward pass has left inputs and gates behind for the penalties.
    """
    case = (case[0], all_of(case[0]) | case[1])
    layer, another = build_case(case), build_case(case, seed=1)
    leaf = make_input(case[0]).requires_grad_()
    layer(2 * leaf)
    expected = output(layer, make_input(case[0]))
    another.load_state_dict(layer.state_dict())
    for other in (*copies_of(layer), another):
        assert torch.equal(output(other, make_input(case[0])), expected)
        assert repr(other) == repr(layer)


@pytest.mark.parametrize("case", CASES, ids=named)
def test_a_vector_is_a_batch_of_one_row(case):
    layer, row = build_case(case), make_input(case[0])[:1]
    y = output(layer, row[0])
    assert y.shape == (OUT,)
    layer = build_case(case)
    assert torch.equal(y, output(layer, row)[0])


@pytest.mark.parametrize("key", KEYS)
def test_inputs_of_a_wrong_size_are_refused_in_one_sentence(key):
    layer = build(key)
    for shape in ((BATCH, IN + 1), (BATCH, 1), (IN + 1,), ()):
        sentence = f"{type(layer).__name__} takes inputs (..., {IN}), not of shape {shape}"
        with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
            layer(torch.ones(shape))


@pytest.mark.parametrize("key", CELLS)
def test_cells_refuse_inputs_and_states_of_a_wrong_size(key):
    cell, (x, h) = build_cell(key), cell_input(key)
    wrong = (x, x) if isinstance(h, tuple) else x
    for what, size, given in (("inputs", IN, (x[:, 1:], h)), ("states", OUT, (x, wrong))):
        says = f"{type(cell).__name__} takes {what} (..., {size}), not of"
        with pytest.raises(ValueError, match=re.escape(says)):
            cell(*given)


@pytest.mark.parametrize("case", CASES, ids=named)
def test_dtype_and_device_are_those_asked_for(case):
    layer = build_case(case, dtype=torch.float64)
    assert torch.get_default_dtype() == torch.float32
    assert {v.dtype for v in floating(layer)} == {torch.float64}
    torch.set_default_dtype(torch.float64)
    expected = build_case(case).state_dict()
    assert all(torch.equal(expected[name], v) for name, v in layer.state_dict().items())
    layer = build_case(case, device="meta")
    assert all(v.is_meta for v in [*layer.parameters(), *layer.buffers()])


@pytest.mark.parametrize("case", CASES, ids=named)
def test_a_step_in_bfloat16(case):
    layer = build_case(case, dtype=torch.bfloat16)
    x = make_input(case[0]).bfloat16().requires_grad_()
    y = layer(x)
    assert y.dtype == torch.bfloat16
    y.square().sum().backward()
    gradients = [p.grad for p in layer.parameters() if p.grad is not None]
    assert all(torch.isfinite(v).all() for v in (y, x.grad, *gradients))
    layer.optimize(torch.zeros((), dtype=torch.bfloat16))


@pytest.mark.parametrize("key", KEYS)
def test_every_option_that_is_not_the_default_is_shown_and_known_to_help(key):
    names = entries()[key].options
    assert names <= NOT_THE_DEFAULT.keys()
    assert names <= inspect.signature(entries()[key].layer).parameters.keys()
    # A layer that multiplies by itself shows its options where it is part of the NALU.
    has_mnac = getattr(entries()[key].layer, "MNACOp", None) is not None
    with_mnac = {"nalu_two_nac": True, "nalu_mul": "mnac"} if has_mnac else {}
    for name in names:
        layer = build(key, **with_mnac | {name: NOT_THE_DEFAULT[name]})
        assert f"{name}={NOT_THE_DEFAULT[name]}" in repr(layer), name
        assert f"{name}=" not in repr(build(key)), name


@pytest.mark.parametrize("case", CASES, ids=named)
def test_models_stacked_by_torch_equal_single_ones(case):
    """Outputs and gradients of stack_module_state, functional_call, vmap and grad."""
    layers = [build_case(case, seed=seed, dtype=torch.float64) for seed in range(3)]
    x = make_input(case[0]).double()
    skeleton = copy.deepcopy(layers[0])

    def loss(parameters, buffers):
        return functional_call(skeleton, (parameters, buffers), (x,)).square().mean()

    trained = {n for n, p in layers[0].named_parameters() if p.requires_grad}
    state = stack_module_state(layers)
    losses = vmap(loss, randomness="same")(*state)
    gradients = vmap(grad(loss), randomness="same")(*state)
    assert losses.shape == (3,)
    if draws(case, True):
        return
    for run, layer in enumerate(layers):
        alone = layer(x).square().mean()
        torch.testing.assert_close(losses[run], alone)
        parameters = {n: p for n, p in layer.named_parameters() if n in trained}
        expected = torch.autograd.grad(alone, list(parameters.values()), allow_unused=True)
        for name, value in zip(parameters, expected, strict=True):
            value = torch.zeros_like(parameters[name]) if value is None else value
            torch.testing.assert_close(gradients[name][run], value)


@pytest.mark.parametrize("key", KEYS)
def test_rows_mapped_by_vmap_equal_a_batch(key):
    layer, x = build(key).eval(), make_input(key)
    with layer.no_random():
        y = vmap(layer, randomness="same")(x)
        if not draws((key, {}), False):
            torch.testing.assert_close(y, layer(x))


@pytest.mark.parametrize("case", split([*CASES, ("ReRegualizedLinearNAC", {"nau_noise": True})]))
def test_torch_compiles_the_whole_layer(case):
    torch.compiler.reset()
    layer = build_case(case)
    compiled = torch.compile(copy.deepcopy(layer), fullgraph=True, backend="aot_eager")
    for x in (make_input(case[0]), make_input(case[0], (2, 3)))[: 1 + (case in DEEP)]:
        y, expected = compiled(x), layer(x)
        assert y.shape == expected.shape
        if not draws(case, True):
            torch.testing.assert_close(y, expected)
        if y.requires_grad:
            y.sum().backward()


@pytest.mark.parametrize("case", split(CASES))
def test_torch_exports_the_layer_for_any_batch_and_onnx_computes_it(case):
    layer, x = build_case(case).eval(), make_input(case[0])
    shapes = ({0: torch.export.Dim("rows")},)
    exported = torch.export.export(layer, (x,), dynamic_shapes=shapes)
    longer = x.repeat(2, 1)
    y = exported.module()(longer)
    assert y.shape[0] == 2 * BATCH
    if draws(case, False):
        return
    torch.testing.assert_close(y, layer(longer))
    if not (find_spec("onnx") and find_spec("onnxscript")):
        return
    program = torch.onnx.export(exported, dynamo=True, verbose=False)
    evaluator = import_module("onnx.reference").ReferenceEvaluator(program.model_proto)
    (name,) = evaluator.input_names
    (y,) = evaluator.run(None, {name: longer.numpy()})
    torch.testing.assert_close(torch.from_numpy(y), layer(longer), rtol=1e-5, atol=1e-5)
