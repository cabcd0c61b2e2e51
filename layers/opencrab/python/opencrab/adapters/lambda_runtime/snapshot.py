"""What a process does after Lambda has restored it from a snapshot, as a copy among others."""

import os
import random
import ssl

_SEED_BYTES = 32


def renew_randomness_after_restore() -> None:
    """Let each copy of this process draw other numbers, whenever Lambda restores one."""
    # A part of Lambda's own runtime, which calls what is registered.
    import snapshot_restore_py  # noqa: PLC0415

    snapshot_restore_py.register_after_restore(renew_randomness)


def renew_randomness() -> None:
    """Let this process draw other numbers than its siblings, which have the same state.

    `os.urandom` and `secrets` ask the system, which differs; `random` (pauses between retries) and
    OpenSSL keep a state of their own. Connections and clients are made by events only.
    """
    random.seed()
    ssl.RAND_add(os.urandom(_SEED_BYTES), _SEED_BYTES)
