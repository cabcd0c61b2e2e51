"""Instance: how a running server proves that it serves a data folder, before it is sent a key.

The server writes a random secret into the folder's file `instance` at its start. Whoever has read
it sends a challenge, and only the server that wrote it knows the answer; the secret is never sent.
"""

import hashlib
import hmac

CHALLENGE_HEADER = "X-OpenCrab-Challenge"
"""The header of `GET /api/health` with 64 random characters that the server proves itself on."""

CHALLENGE_CHARACTERS = 64


def instance_access_proof(secret: str, challenge: str) -> str:
    """Return the answer to a challenge: its HMAC-SHA256 under the instance's secret, in hex."""
    message = f"opencrab-instance\n{challenge}".encode()
    return hmac.new(secret.encode(), message, hashlib.sha256).hexdigest()


def is_instance_access_proof(proof: object, secret: str, challenge: str) -> bool:
    """Check in constant time whether `proof` answers the challenge."""
    return isinstance(proof, str) and hmac.compare_digest(
        proof.encode(errors="replace"), instance_access_proof(secret, challenge).encode()
    )
