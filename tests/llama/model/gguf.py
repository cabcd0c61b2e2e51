"""The GGUF format, version 3: facts by name, then tensors of 32-bit floats."""

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Fact = str | bool | int | float | Sequence[str] | Sequence[int]

ALIGNMENT = 32
_UINT32, _INT32, _FLOAT32, _BOOL, _STRING, _ARRAY = 4, 5, 6, 7, 8, 9
_F32 = 0


def write_gguf(path: Path, facts: Mapping[str, Fact], tensors: Mapping[str, Any]) -> None:
    """Write a model; the tensors are arrays of numpy, whose rows GGUF calls its first dimension."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(facts))
    head += b"".join(_text(name) + _fact(fact) for name, fact in facts.items())
    data, offset = list[bytes](), 0
    for name, tensor in tensors.items():
        shape = tuple(reversed(tensor.shape))
        head += _text(name) + struct.pack(f"<I{len(shape)}Q", len(shape), *shape)
        head += struct.pack("<IQ", _F32, offset)
        data.append(_padded(tensor.astype("<f4").tobytes()))
        offset += len(data[-1])
    path.write_bytes(_padded(head) + b"".join(data))


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % ALIGNMENT)


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _fact(fact: Fact) -> bytes:
    if isinstance(fact, str):
        return struct.pack("<I", _STRING) + _text(fact)
    if isinstance(fact, bool):
        return struct.pack("<I?", _BOOL, fact)
    if isinstance(fact, int):
        return struct.pack("<II", _UINT32, fact)
    if isinstance(fact, float):
        return struct.pack("<If", _FLOAT32, fact)
    if isinstance(fact[0], str):
        kind, items = _STRING, b"".join(_text(str(item)) for item in fact)
    else:
        kind, items = _INT32, struct.pack(f"<{len(fact)}i", *fact)
    return struct.pack("<IIQ", _ARRAY, kind, len(fact)) + items
