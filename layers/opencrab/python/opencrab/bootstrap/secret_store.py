"""The secrets of a data folder, encrypted with a key that lies elsewhere."""

import logging
import os
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

from opencrab.adapters.local_files.secret_cipher import Keyring, SecretCipher
from opencrab.adapters.local_files.secrets import FileSecrets
from opencrab.domain.errors import OpenCrabError

log = logging.getLogger(__name__)

_UNUSABLE = ("keyring.backends.fail", "keyring.backends.null", "keyring.backends.chainer")


def local_secret_store(data: Path) -> FileSecrets:
    """Return the secrets of a data folder; nothing is read before they are asked for."""
    return FileSecrets(data, cipher=SecretCipher(local_secrets_key_file(), local_keyring))


def encrypted_local_secrets(data: Path) -> FileSecrets:
    """Return the secrets of a data folder, after encrypting what is stored there in plain.

    An earlier release or a person stored that. Without a usable key it stays as it is.
    """
    secrets = local_secret_store(data)
    try:
        secrets.encrypt_stored()
    except OpenCrabError as error:
        log.warning("stored keys are not encrypted: %s", error.message)
    return secrets


def local_secrets_key_file() -> Path:
    """Return the file of this user's key: outside of every data folder, and not in the settings."""
    environ = os.environ  # noqa: TID251 - where the user's folders are
    given = environ.get("OPENCRAB_SECRETS_KEY_FILE")
    if given:
        return Path(given).expanduser()
    state = environ.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local" / "state") / "opencrab" / "secrets.key"


def local_keyring() -> Keyring | None:
    """Return the operating system's keyring; None without one, or without `opencrab[keyring]`."""
    if find_spec("keyring") is None:
        return None
    found: Any = import_module("keyring").get_keyring()
    return None if type(found).__module__ in _UNUSABLE else cast("Keyring", found)
