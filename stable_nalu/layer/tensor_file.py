"""Files of tensors in the safetensors format, read and written without its library."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from stable_nalu.base.errors import UsageError
from stable_nalu.base.files import SAFETENSORS, atomic_path

_TYPES = {
    **{torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16"},
    **{torch.int64: "I64", torch.int32: "I32", torch.bool: "BOOL"},
}
_OF_NAMES = {name: dtype for dtype, name in _TYPES.items()}


def write_tensors(path: Path, tensors: Mapping[str, torch.Tensor], **about: Any) -> None:
    """Write a JSON header behind its length, then all values in its order."""
    texts = {name: json.dumps(value) for name, value in about.items()}
    header: dict[str, Any] = {"__metadata__": {"format": "pt", **texts}}
    parts: list[bytes] = []
    end = 0
    for name, tensor in tensors.items():
        values = tensor.detach().cpu().contiguous()
        flat = values.reshape(-1)
        parts.append(flat.view(torch.uint8).numpy().tobytes() if len(flat) else b"")
        places = [end, end := end + len(parts[-1])]
        kind = _TYPES[values.dtype]
        header[name] = {"dtype": kind, "shape": list(values.shape), "data_offsets": places}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with atomic_path(path, named=True) as temporary:
        temporary.write_bytes(b"".join([len(text).to_bytes(8, "little"), text, *parts]))


def read_tensors(path: Path) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """Return the tensors of a file, and what was written about them."""
    try:
        content = path.read_bytes()
        start = 8 + int.from_bytes(content[:8], "little")
        header = json.loads(content[8:start])
        texts = header.pop("__metadata__", {})
        about = {name: json.loads(text) for name, text in texts.items() if name != "format"}
        tensors = {name: _tensor(content[start:], **entry) for name, entry in header.items()}
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, TypeError, KeyError, AttributeError, RuntimeError):
        raise UsageError(f"{path} is not a whole {SAFETENSORS} file; write it again") from None
    return tensors, about


def _tensor(content: bytes, dtype: str, shape: list[int], data_offsets: list[int]) -> torch.Tensor:
    first, last = data_offsets
    part = bytearray(content[first:last])
    kind = _OF_NAMES[dtype]
    flat = torch.frombuffer(part, dtype=kind) if part else torch.empty(0, dtype=kind)
    return flat.reshape(shape)
