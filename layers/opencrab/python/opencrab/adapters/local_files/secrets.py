"""Secrets in a file of this machine that nobody but its owner may read."""

import errno
import fcntl
import json
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from opencrab.adapters.local_files.disk import REAL_DISK, Disk, Writer, translate_disk_errors
from opencrab.adapters.local_files.secret_cipher import MARK, SecretCipher
from opencrab.domain.access.secret import require_storable_secret
from opencrab.domain.errors import Unavailable

FILE = "secrets.json"
MOST_BYTES = 65_536

_MODE = 0o600
_CURE = 'make it a regular file that you own and that contains {"NAME": "value"}, or move it'


class FileSecrets:
    """`ports.access.secrets.Secrets` in one JSON file, `secrets.json`, of mode 0600.

    It is read for every request, so that a manual edit counts at once. Writers hold a lock file, so
    that two processes do not overwrite each other's secrets. With a `cipher` every write encrypts
    all values, those that were written by hand or by an earlier release too.
    """

    def __init__(
        self, folder: Path, *, cipher: SecretCipher | None = None, disk: Disk = REAL_DISK
    ) -> None:
        self._cipher = cipher
        self._folder = folder.absolute()
        self._file = self._folder / FILE
        self._writer = Writer(disk, self._folder / ".secrets")

    def __repr__(self) -> str:
        return f"FileSecrets({str(self._folder)!r})"

    def get(self, name: str) -> str | None:
        text = self._read().get(name)
        if text is None or self._cipher is None:
            return text
        return self._cipher.unseal_secret(name, text)

    def put(self, name: str, value: str) -> None:
        require_storable_secret(name, value)
        with self._translated(), self._locked():
            self._write(self._read() | {name: value})

    def encrypt_stored(self) -> None:
        """Encrypt what is stored as plain text, as an earlier release did."""
        if self._cipher is None or not self._has_plain(self._read()):
            return
        with self._translated(), self._locked():
            self._write(self._read())

    def _write(self, values: dict[str, str]) -> None:
        if self._cipher is not None:
            values = {name: self._sealed(name, text) for name, text in values.items()}
        content = _document(values, self._file)
        self._writer.clean()
        self._writer.replace(self._file, content)
        self._writer.sync(self._folder)

    def _sealed(self, name: str, text: str) -> str:
        if self._cipher is None or text.startswith(MARK):
            return text
        return self._cipher.seal_secret(name, text)

    def _has_plain(self, values: dict[str, str]) -> bool:
        return any(not text.startswith(MARK) for text in values.values())

    def forget(self) -> None:
        """Do nothing: no secret is cached."""

    def _read(self) -> dict[str, str]:
        with self._translated():
            content = self._content()
        return {} if content is None else _texts(content, self._file)

    def _content(self) -> bytes | None:
        """Read the file, and set mode 0600 if it has another; None if there is no file."""
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            descriptor = os.open(self._file, flags)
        except FileNotFoundError:
            return None
        try:
            mode = os.fstat(descriptor).st_mode
            if not stat.S_ISREG(mode):
                raise _unusable(self._file, "not a regular file")
            if stat.S_IMODE(mode) != _MODE:
                os.fchmod(descriptor, _MODE)
            content = os.read(descriptor, MOST_BYTES + 1)
        finally:
            os.close(descriptor)
        if len(content) > MOST_BYTES:
            raise _unusable(self._file, f"larger than {MOST_BYTES} bytes")
        return content

    @contextmanager
    def _locked(self) -> Generator[None]:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(self._folder / f"{FILE}.lock", flags, _MODE)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    @contextmanager
    def _translated(self) -> Generator[None]:
        with translate_disk_errors(self._folder):
            try:
                yield
            except OSError as error:
                if error.errno != errno.ELOOP:
                    raise
                raise _unusable(
                    self._file, "the file or its lock file is a symbolic link"
                ) from error


def _texts(content: bytes, file: Path) -> dict[str, str]:
    """Parse the file; raise Unavailable, without quoting it, if it is no object of strings."""
    values = None
    with suppress(ValueError, RecursionError):
        values = json.loads(content)
    if not isinstance(values, dict) or not all(isinstance(each, str) for each in values.values()):
        raise _unusable(file, "not a JSON object with string values")
    return values


def _document(values: dict[str, str], file: Path) -> bytes:
    content = json.dumps(values, indent=2, sort_keys=True).encode()
    if len(content) > MOST_BYTES:
        raise Unavailable(
            f"{str(file)!r} would be larger than {MOST_BYTES} bytes",
            cure="remove unused secrets from it",
        )
    return content


def _unusable(file: Path, why: str) -> Unavailable:
    return Unavailable(f"secrets file {str(file)!r} cannot be used: {why}", cure=_CURE)
