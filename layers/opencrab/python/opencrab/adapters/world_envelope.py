"""World envelope: MessagePack signed with Ed25519, in a layout of our own with a version.

An envelope is two values, the signed bytes and their signature. The signed bytes are again
MessagePack: "OPENCRAB", version, world, code, sender, recipient, nonce, reply to, milliseconds
since 1970, and the payload as bytes. What is checked is what was sent, so that no two encodings of
one payload can be confused.
"""

import hashlib
from datetime import UTC, datetime
from typing import Any

import msgpack
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from pydantic import ValidationError

from opencrab.domain.errors import Invalid, TooLarge
from opencrab.domain.world.binding import ENVELOPE_BYTES, ENVELOPE_VERSION, WorldEnvelope
from opencrab.ports.world import KeyPair, OpenEnvelope

_MAGIC = "OPENCRAB"
_FIELDS = 10
_SIGNATURE_BYTES = 64
_BODY = dict[Any, Any]


class Ed25519Envelopes:
    """`ports.world.Envelopes` with Ed25519 signatures over MessagePack."""

    def new_key(self) -> KeyPair:
        private = Ed25519PrivateKey.generate()
        public = private.public_key().public_bytes_raw()
        return KeyPair(private.private_bytes_raw().hex(), public.hex(), _digest(public))

    def key_id(self, public_key: str) -> str:
        return _digest(_public(public_key).public_bytes_raw())

    def seal(self, envelope: WorldEnvelope, private_key: str) -> bytes:
        try:
            signed = _encode_msgpack(_row(envelope))
        except (TypeError, ValueError, OverflowError) as error:
            raise Invalid(
                f"the payload cannot be encoded: {error}"[:300],
                cure="send text, whole numbers of at most 64 bits, lists and objects",
            ) from error
        raw = _encode_msgpack([signed, _private(private_key).sign(signed)])
        _require_size(raw)
        return raw

    def open(self, raw: bytes) -> OpenEnvelope:
        _require_size(raw)
        outer = _decode_msgpack(raw)
        if not _are(outer, bytes, bytes) or len(outer[1]) != _SIGNATURE_BYTES:
            raise Invalid(
                "the envelope is not a list of signed bytes and a 64-byte signature",
                cure="send signed bytes and their signature",
            )
        signed, signature = outer
        envelope = _envelope(_decode_msgpack(signed))
        return OpenEnvelope(envelope, signed, signature, _digest(raw))

    def is_signed_by(self, opened: OpenEnvelope, public_key: str) -> bool:
        try:
            _public(public_key).verify(opened.signature, opened.signed)
        except InvalidSignature:
            return False
        return True


def _row(envelope: WorldEnvelope) -> list[Any]:
    reply = envelope.reply_to
    return [
        _MAGIC,
        envelope.version,
        envelope.world_id,
        envelope.code,
        bytes.fromhex(envelope.sender),
        envelope.recipient,
        bytes.fromhex(envelope.nonce),
        None if reply is None else bytes.fromhex(reply),
        int(envelope.at.timestamp() * 1_000),
        _encode_msgpack(envelope.body),
    ]


def _envelope(row: Any) -> WorldEnvelope:
    if not isinstance(row, list) or row[:1] != [_MAGIC]:
        raise Invalid(
            "the signed bytes have no OPENCRAB header", cure="start the signed bytes with OPENCRAB"
        )
    if row[1:2] != [ENVELOPE_VERSION]:
        raise Invalid(
            "unsupported envelope version",
            field="version",
            cure=f"send version {ENVELOPE_VERSION}",
        )
    reply = b"" if len(row) == _FIELDS and row[7] is None else row[7:8]
    shaped = row if reply != b"" else [*row[:7], b"", *row[8:]]
    if not _are(shaped, str, int, str, int, bytes, str, bytes, bytes, int, bytes):
        raise Invalid(
            "an envelope field is missing or has the wrong type",
            cure="docs/explanation/worlds.md has the format",
        )
    try:
        return WorldEnvelope(
            world_id=row[2],
            code=row[3],
            sender=row[4].hex(),
            recipient=row[5],
            nonce=row[6].hex(),
            reply_to=None if row[7] is None else row[7].hex(),
            at=datetime.fromtimestamp(row[8] / 1_000, tz=UTC),
            body=_body(row[9]),
        )
    except (ValidationError, ValueError, OverflowError, OSError) as error:
        raise Invalid(
            "an envelope field has an invalid value",
            cure="docs/explanation/worlds.md has the format",
        ) from error


def _body(packed: bytes) -> _BODY:
    body = _decode_msgpack(packed)
    if not isinstance(body, dict):
        raise Invalid("the payload is not a map", cure="docs/explanation/worlds.md has the format")
    return body


def _encode_msgpack(value: Any) -> bytes:
    packed: bytes = msgpack.packb(value, use_bin_type=True)
    return packed


def _decode_msgpack(raw: bytes) -> Any:
    """Decode one MessagePack value; raise Invalid for malformed or extra bytes.

    The lengths that it claims are limited by the number of bytes.
    """
    try:
        return msgpack.unpackb(raw, raw=False, strict_map_key=False, use_list=True)
    except (ValueError, TypeError, RecursionError) as error:
        # TypeError: a map in the place of a key.
        raise Invalid(
            "invalid MessagePack", cure="docs/explanation/worlds.md has the format"
        ) from error


def _are(row: Any, *kinds: type) -> bool:
    """Check for a list of exactly these types; booleans do not count as integers."""
    return (
        isinstance(row, list)
        and len(row) == len(kinds)
        and all(type(value) is kind for value, kind in zip(row, kinds, strict=True))
    )


def _require_size(raw: bytes) -> None:
    if len(raw) > ENVELOPE_BYTES:
        raise TooLarge(
            f"an envelope of {len(raw)} bytes exceeds {ENVELOPE_BYTES} bytes",
            field="payload",
            cure="send less",
        )


def _private(key: str) -> Ed25519PrivateKey:
    try:
        return Ed25519PrivateKey.from_private_bytes(bytes.fromhex(key))
    except ValueError:
        raise Invalid(
            "the agent's private key for its world is not a valid Ed25519 key",
            cure="restore the secret WORLD_KEY_<KEY_ID>",
        ) from None


def _public(key: str) -> Ed25519PublicKey:
    try:
        return Ed25519PublicKey.from_public_bytes(bytes.fromhex(key))
    except ValueError:
        raise Invalid(
            f"{key[:80]!r} is not a valid Ed25519 public key",
            field="keys",
            cure="give its 32 bytes as 64 hexadecimal digits",
        ) from None


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
