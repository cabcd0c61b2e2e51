"""Encryption of stored secrets, with a key that is not in the folder of what it encrypts.

The key is 32 bytes in a file of mode 0600, or in the operating system's keyring. A copy of the data
folder, such as a backup, has none of it.
"""

import logging
import os
import stat
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from opencrab.adapters.local_files.disk import REAL_DISK, Disk, Writer
from opencrab.domain.errors import Unavailable

MARK = "sealed:v1:"
"""How an encrypted value begins; no key of a provider does."""

_KEY_BYTES, _NONCE_BYTES = 32, 12
_SERVICE, _ACCOUNT = "opencrab", "secrets"
_PLACE_CURE = "make its folder writable, or name another file with OPENCRAB_SECRETS_KEY_FILE"
_NO_KEY_CURE = (
    "put a copy of the key there, or name another file with OPENCRAB_SECRETS_KEY_FILE and store "
    "the secrets again"
)

log = logging.getLogger(__name__)


class Keyring(Protocol):
    """A keyring of the operating system, as the library `keyring` offers it."""

    def get_password(self, service_name: str, username: str) -> str | None:
        """Return what is kept for a name; None if nothing is."""
        ...

    def set_password(self, service_name: str, username: str, password: str) -> None:
        """Keep a text for a name."""
        ...


class SecretCipher:
    """AES-256-GCM with one key of this user, which is made at the first encryption.

    `keyring` returns the operating system's keyring, None without one; it is asked only if there is
    no key file. `random_bytes` are of cryptographic quality.
    """

    def __init__(
        self,
        key_file: Path,
        keyring: Callable[[], Keyring | None] = lambda: None,
        random_bytes: Callable[[int], bytes] = os.urandom,
        disk: Disk = REAL_DISK,
    ) -> None:
        self._file = key_file
        self._keyring = keyring
        self._random = random_bytes
        self._disk = disk
        self._key: bytes | None = None

    def seal_secret(self, name: str, value: str) -> str:
        """Return a value encrypted for a name; raises Unavailable if no key can be kept."""
        nonce = self._random(_NONCE_BYTES)
        sealed = self._cipher(self._found() or self._make()).encrypt(
            nonce, value.encode(), name.encode()
        )
        return MARK + urlsafe_b64encode(nonce + sealed).decode()

    def unseal_secret(self, name: str, text: str) -> str | None:
        """Return the value of a text; None, with a line in the log, if it has another key.

        A text that is not encrypted is the value itself.
        """
        if not text.startswith(MARK):
            return text
        key = self._found()
        if key is not None:
            from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - only if one is stored

            with suppress(ValueError, InvalidTag):
                raw = urlsafe_b64decode(text.removeprefix(MARK))
                nonce, sealed = raw[:_NONCE_BYTES], raw[_NONCE_BYTES:]
                value: bytes = self._cipher(key).decrypt(nonce, sealed, name.encode())
                return value.decode()
        log.warning(
            "stored secret cannot be decrypted, store it again: name=%s, key=%s", name, self._file
        )
        return None

    def _cipher(self, key: bytes) -> Any:
        from cryptography.hazmat.primitives.ciphers.aead import (  # noqa: PLC0415 - only if needed
            AESGCM,
        )

        return AESGCM(key)

    def _found(self) -> bytes | None:
        if self._key is None:
            self._key = self._of_file() or self._of_keyring()
        return self._key

    def _of_file(self) -> bytes | None:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            descriptor = os.open(self._file, flags)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise self._unusable(error.strerror or str(error)) from error
        try:
            key = self._content(descriptor)
        except OSError as error:
            raise self._unusable(error.strerror or str(error)) from error
        finally:
            os.close(descriptor)
        if len(key) != _KEY_BYTES:
            raise self._unusable(f"it does not have {_KEY_BYTES} bytes", _NO_KEY_CURE)
        return key

    def _content(self, descriptor: int) -> bytes:
        """Read the key, and set mode 0600 if others may read it; raises Unavailable, OSError."""
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            raise self._unusable("it is not a regular file", _NO_KEY_CURE)
        if stat.S_IMODE(mode) & 0o077:
            os.fchmod(descriptor, 0o600)
        return os.read(descriptor, _KEY_BYTES + 1)

    def _of_keyring(self) -> bytes | None:
        keyring = self._keyring()
        try:
            found = None if keyring is None else keyring.get_password(_SERVICE, _ACCOUNT)
        except Exception as error:  # each keyring has errors of its own
            raise self._closed_keyring(error) from error
        with suppress(ValueError):
            key = bytes.fromhex(found or "")
            return key if len(key) == _KEY_BYTES else None
        return None

    def _make(self) -> bytes:
        key, keyring = self._random(_KEY_BYTES), self._keyring()
        if keyring is not None:
            try:
                keyring.set_password(_SERVICE, _ACCOUNT, key.hex())
            except Exception as error:  # each keyring has errors of its own
                raise self._closed_keyring(error) from error
            self._key = key
            return key
        try:
            folder = self._file.parent
            writer = Writer(self._disk, folder)
            writer.make_folder(folder)
            draft = self._file.with_name(f".{self._file.name}.{self._random(8).hex()}")
            self._write(draft, key)
            # A link fails if another process made the key meanwhile: then that one counts.
            with suppress(FileExistsError):
                self._disk.link(draft, self._file)
            draft.unlink()
            # Before anything is encrypted with it: after a power cut that could not be read.
            writer.sync(folder)
        except OSError as error:
            raise self._unusable(error.strerror or str(error)) from error
        self._key = self._of_file()
        if self._key is None:
            raise self._unusable("it was removed while it was made")
        return self._key

    def _write(self, path: Path, key: bytes) -> None:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(key)
            file.flush()
            os.fsync(file.fileno())

    def _closed_keyring(self, error: Exception) -> Unavailable:
        return Unavailable(
            f"the keyring with the key of stored secrets cannot be used: {type(error).__name__}",
            cure="unlock it and try again",
        )

    def _unusable(self, why: str, cure: str = _PLACE_CURE) -> Unavailable:
        return Unavailable(
            f"the key of stored secrets, {str(self._file)!r}, cannot be used: {why}", cure=cure
        )
