"""One iteration of one run, recorded from the code of its modules and lowered to nodes."""

import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.fx.node import map_aggregate
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from .rules import OperationRules
from .values import NotLoweredError, Tensors, Value

FEW_FACTORS = 16


class RecordableProduct(torch.autograd.Function):
    """The function, whose gradient does not branch on the data.

    Of a few factors it is the product of the others; of many, the product divided by each factor
    or, where one is zero, the product of the others.
    """

    @staticmethod
    def forward(ctx: Any, factors: torch.Tensor, dim: int) -> torch.Tensor:
        value = factors.prod(dim)
        ctx.save_for_backward(factors, value)
        ctx.dim = dim
        return value

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor, None]:
        (factors, value), dim = ctx.saved_tensors, ctx.dim
        if factors.shape[dim] <= FEW_FACTORS:
            return _others(factors, dim) * grads[0].unsqueeze(dim), None
        zero = factors == 0
        zeros = zero.to(factors.dtype).sum(dim, keepdim=True)
        others = torch.where(zero, 1.0, factors).prod(dim, keepdim=True)
        only = torch.where((zeros == 1) & zero, others, 0.0)
        quotient = torch.where(zeros == 0, value.unsqueeze(dim) / factors, only)
        return quotient * grads[0].unsqueeze(dim), None


def _others(factors: torch.Tensor, dim: int) -> torch.Tensor:
    """Return the product of all other factors, for each factor."""
    parts = factors.unbind(dim)
    if len(parts) == 1:
        return torch.ones_like(factors)
    before, after = [parts[0]], [parts[-1]]
    for part, opposite in zip(parts[1:-1], parts[-2:0:-1], strict=True):
        before.append(before[-1] * part)
        after.append(opposite * after[-1])
    after = after[::-1]
    inner = [a * b for a, b in zip(before[:-1], after[1:], strict=True)]
    return torch.stack([after[0], *inner, before[-1]], dim)


class Scheduled(float):
    """An example of a number that differs between runs and iterations: nothing is decided by it.

    It does not equal 0: code that skips a product with 0 computes the same by that product.
    """

    def __eq__(self, other: object) -> bool:
        return self._decides() if other != 0 else False

    def __ne__(self, other: object) -> bool:
        return not self == other

    def _decides(self, *_: object) -> bool:
        raise NotLoweredError("a step that depends on a scheduled number")

    __lt__ = __le__ = __gt__ = __ge__ = __bool__ = _decides
    __hash__ = float.__hash__


class Lowering(TorchDispatchMode):
    """While this lasts, what torch computes from tensors becomes nodes as well.

    What it computes from numbers alone are numbers. dtype: of the run. scheduled: values by the
    examples that stand for them.
    """

    def __init__(
        self, tensors: Tensors, dtype: torch.dtype, scheduled: Mapping[float, Value] | None = None
    ):
        super().__init__()
        self._scheduled = scheduled or {}
        self._rules = OperationRules(tensors)
        self._tensors = tensors
        self._dtype = dtype
        self._known: dict[int, Value] = {}
        self._counts: set[int] = set()
        self._held: list[torch.Tensor] = []

    def learn(self, tensor: torch.Tensor, value: Value) -> None:
        """Let a tensor stand for a value; it is held, so that no other gets its identity."""
        self._known[id(tensor)] = value
        self._held.append(tensor)
        is_long = tensor.dtype in (torch.int32, torch.int64)
        if is_long and int(tensor.abs().sum()) < LARGEST_WHOLE // 2:
            self._counts.add(id(tensor))

    def value(self, tensor: torch.Tensor) -> Value:
        """Return what a tensor stands for: by itself, its numbers."""
        known = self._known.get(id(tensor))
        if known is not None:
            return known
        numbers = tensor.detach().double().numpy()
        if not tensor.is_floating_point() and (np.abs(numbers) > LARGEST_WHOLE).any():
            raise NotLoweredError(f"whole numbers beyond {LARGEST_WHOLE:,}")
        return self._tensors.numbers(numbers)

    def lower(self, func, types, args=(), kwargs=None):
        """Compute an operation of torch, and lower it."""
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if torch.Tag.nondeterministic_seeded in func.tags:
            raise NotLoweredError(f"operation {_name(func)}")
        read, made = _tensors_of((args, kwargs)), _tensors_of(result)
        if not any(id(tensor) in self._known for tensor in read):
            self._held += read + made
            return result
        if not made:
            place = _place_of_user()
            raise NotLoweredError(f"a step that depends on single numbers of a tensor{place}")
        if made[0] is args[0] and self._is_shared(made[0]):
            raise NotLoweredError("numbers that change in place and are part of others")
        self._check_types(_name(func), args[1:], read, made)
        valued = map_aggregate((args, kwargs), self._valued)
        values = self._rules(_name(func), *valued)
        values = values if isinstance(values, list) else [values]
        for tensor, value in zip(made, values, strict=True):
            if value.shape != tuple(tensor.shape):
                raise NotLoweredError(f"operation {_name(func)} of these shapes")
            self.learn(tensor, self._tensors.typed(value, truth=tensor.dtype is torch.bool))
        return result

    def _check_types(
        self,
        name: str,
        others: Sequence[Any],
        read: Sequence[torch.Tensor],
        made: Sequence[torch.Tensor],
    ) -> None:
        """Refuse what is not computed in numbers of the run, but to say yes or no, or to count."""
        short, truths = name.split(".")[0].strip("_"), all(r.dtype is torch.bool for r in read)
        exact = not any(r.is_floating_point() for r in read)
        for tensor in read:
            if tensor.ndim or id(tensor) in self._known:
                self._check_floats(tensor)
            if _is_whole(tensor) and id(tensor) in self._known and id(tensor) not in self._counts:
                raise NotLoweredError("whole numbers that a run keeps")
        for tensor in made:
            self._check_floats(tensor)
            if tensor.dtype is torch.bool and not (
                short in MOVES | OF_TRUTHS or truths and short in OF_BITS
            ):
                raise NotLoweredError(f"operation {name} of truth values")
            if _is_whole(tensor):
                is_count = short == "add" and others == (1,)
                is_count |= exact and short in MOVES or truths and short in ("sum", "to_copy")
                if not is_count and short not in PLACES:
                    raise NotLoweredError(f"numbers that are rounded to {_name(tensor.dtype)}")
                self._counts.add(id(tensor))

    def _check_floats(self, tensor: torch.Tensor) -> None:
        if not _is_whole(tensor) and tensor.dtype not in (self._dtype, torch.bool):
            raise NotLoweredError(f"numbers that are rounded to {_name(tensor.dtype)}")

    def _is_shared(self, tensor: torch.Tensor) -> bool:
        place = tensor.untyped_storage().data_ptr()
        return any(
            other is not tensor and other.untyped_storage().data_ptr() == place
            for other in self._held
        )

    def _valued(self, argument: Any) -> Any:
        if not isinstance(argument, torch.Tensor):
            is_number = isinstance(argument, float)
            return self._scheduled.get(argument, argument) if is_number else argument
        return self._tensors.typed(self.value(argument), truth=argument.dtype is torch.bool)


def _tensors_of(arguments: Any) -> list[torch.Tensor]:
    found: list[torch.Tensor] = []
    map_aggregate(arguments, lambda a: found.append(a) if isinstance(a, torch.Tensor) else None)
    return found


def _is_whole(tensor: torch.Tensor) -> bool:
    kind = tensor.dtype
    return not (kind.is_floating_point or kind.is_complex or kind is torch.bool)


# Not in the body of the class, where torch wraps a method of this name by one that imports its
# compiler, which takes two seconds.
Lowering.__torch_dispatch__ = Lowering.lower


def _place_of_user() -> str:
    """Return the line that is at work of the code that is recorded, in words."""
    passed = Path(torch.__file__).parent, Path(__file__).parent
    for frame in reversed(traceback.extract_stack()):
        path = Path(frame.filename)
        if not any(map(path.is_relative_to, passed)):
            return f" ({path.name}, line {frame.lineno}: {frame.line})"
    return ""


def _name(operation: Any) -> str:
    return str(operation).removeprefix("aten.").removeprefix("torch.")


LARGEST_WHOLE = 2**24
"""The whole numbers up to it are numbers of float32."""
MOVES = {"alias", "cat", "clone", "contiguous", "copy", "detach", "expand", "permute", "reshape"}
MOVES |= {"select", "slice", "split", "squeeze", "stack", "t", "transpose", "unbind"}
MOVES |= {"unsafe_view", "unsqueeze", "view"}
"""Operations that leave numbers as they are."""
PLACES = {"argmax"}
OF_TRUTHS = {"eq", "ne", "lt", "le", "gt", "ge", "to_copy", "where", "zeros_like", "ones_like"}
OF_TRUTHS |= {f"logical_{op}" for op in ("and", "or", "not", "xor")}
OF_BITS = {f"bitwise_{op}" for op in ("and", "or", "not", "xor")}
"""Operations whose results, of truth values, are truth values."""


class _Recordable(TorchFunctionMode):
    """While this lasts, products have gradients that can be recorded.

    functions: what computes further functions, instead of themselves.
    """

    def __init__(self, functions: Mapping[Callable, Callable]):
        super().__init__()
        self._functions = functions

    def __torch_function__(self, func: Callable, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func in self._functions:
            return self._functions[func](*args, **kwargs)
        if func in (torch.prod, torch.Tensor.prod):
            dim = kwargs.get("dim", args[1] if len(args) > 1 else None)
            if isinstance(dim, int) and not (kwargs.get("keepdim") or args[2:]):
                return RecordableProduct.apply(args[0], dim)
        return func(*args, **kwargs)


Given = Mapping[str, tuple[torch.Tensor, Value]]
"""Examples of tensors by their names, and what they stand for."""


class Recording(torch.nn.Module):
    """A model as the child of a module whose forward pass is whatever is to be recorded.

    So `functional_call` puts recorded tensors in the place of its parameters and buffers.

    functions: what is recorded instead of functions that can be overridden like torch's own.
    """

    def __init__(
        self,
        model: torch.nn.Module,
        dtype: torch.dtype,
        functions: Mapping[Callable, Callable] | None = None,
    ):
        super().__init__()
        self._functions = functions or {}
        self.model = model
        self.dtype = dtype

    def forward(self, body: Callable[..., Any], *arguments: Any) -> Any:
        return body(*arguments)

    def lowered(
        self,
        body: Callable[..., Mapping[str, torch.Tensor]],
        tensors: Tensors,
        state: Given,
        given: Given,
        scheduled: Mapping[float, Value] | None = None,
    ) -> tuple[dict[str, Value], dict[str, Value]]:
        """Lower `body(state, given)`, tensors by names, while the model has this state.

        scheduled: of examples of numbers. Return the values of the tensors, and new ones of the
        given ones that were changed in place.
        """
        lowering = Lowering(tensors, self.dtype, scheduled)
        every = {**state, **given}
        for example, value in every.values():
            lowering.learn(example, value)
        own, more = ({name: one for name, (one, _) in of.items()} for of in (state, given))
        held = {f"model.{name}": value for name, value in own.items()}
        try:
            with lowering, _Recordable(self._functions):
                outputs = torch.func.functional_call(self, held, (body, own, more))
        except NotLoweredError:
            raise
        except Exception as error:  # whatever a layer does that depends on numbers
            raise NotLoweredError(f"a step that cannot be recorded: {_in_words(error)}") from error
        after = {name: (lowering.value(example), value) for name, (example, value) in every.items()}
        changed = {name: new for name, (new, old) in after.items() if new is not old}
        return {name: lowering.value(output) for name, output in outputs.items()}, changed


def _in_words(error: Exception) -> str:
    """Return the first line of what an error says, and its kind."""
    lines = traceback.format_exception_only(error)[-1].splitlines()
    return lines[0].rstrip(" .")[:120]
