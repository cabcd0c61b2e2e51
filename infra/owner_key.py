"""The owner's key of a deployment: made once, kept on this computer alone."""

import hashlib
import os
import re
import secrets
import string
from dataclasses import dataclass
from pathlib import Path

from infra.place import Unready

_ALPHABET = string.ascii_letters + string.digits
_KEY_LENGTH = 43
_SHORTEST_KEY = 16
_SENDABLE = re.compile(r"[!-~]+")


@dataclass(frozen=True)
class OwnerKey:
    """The owner's key; without a path it came from the environment."""

    secret: str
    path: Path | None

    @property
    def digest(self) -> str:
        """What is deployed of it."""
        return hashlib.sha256(self.secret.encode()).hexdigest()


def checked_owner_key(secret: str, place: str) -> str:
    """The key, if it can be one; raises Unready, naming where it came from."""
    if len(secret) < _SHORTEST_KEY or not _SENDABLE.fullmatch(secret):
        raise Unready(
            f"the owner's key in {place} is too weak, or cannot be sent in a header",
            f"use at least {_SHORTEST_KEY} random ASCII characters without spaces",
        )
    return secret


def make_owner_key(path: Path) -> str:
    """A new key, written where only this user can read it."""
    secret = "oc_" + "".join(secrets.choice(_ALPHABET) for _ in range(_KEY_LENGTH))
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(f"{secret}\n")
    return secret
