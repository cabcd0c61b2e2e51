"""AWS's binary event stream, written as Bedrock writes it."""

import json
import struct
from collections.abc import Mapping
from typing import Any
from zlib import crc32


def event_stream(*events: tuple[str, Any]) -> bytes:
    """The bytes of events, each a name and its content."""
    return b"".join(event_message(name, said) for name, said in events)


def event_message(name: str, said: Any) -> bytes:
    """One event; a name that ends with Exception makes an exception of it."""
    kind = "exception" if name.endswith("Exception") else "event"
    headers = {
        f":{kind}-type": name,
        ":content-type": "application/json",
        ":message-type": kind,
    }
    return raw_message(headers, json.dumps(said, ensure_ascii=False).encode())


def raw_message(headers: Mapping[str, str], payload: bytes) -> bytes:
    """One message with these headers, all of them text."""
    coded = b"".join(
        struct.pack("!B", len(name.encode()))
        + name.encode()
        + struct.pack("!BH", 7, len(value.encode()))
        + value.encode()
        for name, value in headers.items()
    )
    prelude = struct.pack("!II", 16 + len(coded) + len(payload), len(coded))
    begun = prelude + struct.pack("!I", crc32(prelude)) + coded + payload
    return begun + struct.pack("!I", crc32(begun))
