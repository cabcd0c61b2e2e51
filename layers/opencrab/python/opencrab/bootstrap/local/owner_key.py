"""The operator's owner key: given in the environment, or made at the first start."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opencrab.engine.runtime import Runtime


def register_local_owner_key(
    runtime: "Runtime", data: Path, name: str, given: str | None
) -> Path | None:
    """Register the operator's owner key, or create one in `owner.key`; returns that file's path.

    `given` is the key of the environment, if there is one.
    """
    from opencrab.domain.access.authority import Scope
    from opencrab.engine.access.api_keys import create_api_key, register_api_key

    if given is not None:
        register_api_key(runtime, name=name, scope=Scope.OWNER, secret=given)
        return None
    path = data / "owner.key"
    if path.exists():
        path.chmod(0o600)
        secret = path.read_text(encoding="utf-8").strip()
        if secret:
            register_api_key(runtime, name=name, scope=Scope.OWNER, secret=secret)
            return path
    secret, _ = create_api_key(runtime, name=name, scope=Scope.OWNER)
    write_secret_for_local_server(path, secret)
    return path


def write_secret_for_local_server(path: Path, secret: str) -> None:
    """Write a secret into a file that only its user may read."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(f"{secret}\n")
