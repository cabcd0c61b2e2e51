"""The signature of LINE's requests: HMAC-SHA256 of the raw body by the channel secret, in base64.

It loads next to nothing, since the door waits for it.
"""

import base64
import binascii
import hashlib
import hmac

HEADER = "x-line-signature"

_DIGEST_BYTES = 32
_LONGEST = 64


def is_line_signature(secret: str, body: bytes, signature: str) -> bool:
    """Check whether the channel with this secret signed a body; False for an empty secret."""
    if not secret or len(signature) > _LONGEST or not signature.isascii():
        return False
    try:
        given = base64.b64decode(signature, validate=True)
    except (binascii.Error, ValueError):
        return False
    made = hmac.new(secret.encode(), body, hashlib.sha256).digest()
    return len(given) == _DIGEST_BYTES and hmac.compare_digest(made, given)
