"""Sends a bundle to a server part by part; what fails on the way is undone."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from opencrab.domain.bundle.transcript import transcripts_of_bundle
from opencrab.domain.errors import Conflict, NotFound, OpenCrabError, Unavailable
from opencrab.engine.bundle.limits import BUNDLE_PART_BYTES, BUNDLE_PART_ROWS
from opencrab.engine.bundle.reader import BundleReader
from opencrab.gateways.cli.terminal.files import file_error_for_terminal
from opencrab.gateways.cli.terminal.terminal import Terminal

_IMPORTS = "agent-imports"
_COPIED_BYTES = 1 << 20


@dataclass(frozen=True)
class OpenBundle:
    """A checked bundle and the hash of its file."""

    reader: BundleReader
    sha256: str


@contextmanager
def open_bundle_file(terminal: Terminal, file: Path) -> Iterator[OpenBundle]:
    """Open a bundle and check all of it; raises Invalid and TooLarge before anything is sent."""
    with ExitStack() as stack:
        try:
            opened = stack.enter_context(file.open("rb"))
            bundle = check_bundle(opened)
        except OSError as error:
            raise file_error_for_terminal(terminal, file, error) from error
        yield bundle


def check_bundle(file: IO[bytes]) -> OpenBundle:
    """Read all of a bundle once; raises Invalid and TooLarge."""
    reader = BundleReader(file)
    reader.check()
    file.seek(0)
    digest = hashlib.sha256()
    while content := file.read(_COPIED_BYTES):
        digest.update(content)
    return OpenBundle(reader, digest.hexdigest())


def send_bundle(
    terminal: Terminal, bundle: OpenBundle, *, name: str, trusted: bool
) -> dict[str, Any]:
    """Import a bundle, or go on with its interrupted import; return the agent's id and name.

    An error undoes the import. If the server cannot be reached, the same command continues it.
    """
    record = unfinished_bundle_import(terminal, bundle, name=name, trusted=trusted)
    if record is None:
        record = _begin(terminal, bundle, name=name, trusted=trusted)
    else:
        terminal.print_note("bundle_continued", parts=len(record["parts"]))
    try:
        return _send(terminal, bundle, record)
    except Unavailable as error:
        raise Unavailable(
            error.message,
            cure=terminal.words("bundle_continue", cure=terminal.error_text(error.cure or "")),
        ) from error
    except OpenCrabError:
        _undo(terminal, record["id"])
        raise


def undo_bundle_import(terminal: Terminal, bundle: OpenBundle) -> None:
    """Remove what interrupted imports of a bundle left; raises NotFound if there is none."""
    found = [each for each in _imports(terminal) if each["bundle"] == bundle.sha256]
    if not found:
        raise NotFound(
            terminal.words("bundle_nothing_left"), cure=terminal.words("bundle_nothing_left_cure")
        )
    for each in found:
        terminal.client.delete(_IMPORTS, each["id"])
    terminal.print_result({"undone": len(found)}, "bundle_undone", count=len(found))


def check_bundle_settings(
    terminal: Terminal, bundle: OpenBundle, *, name: str, trusted: bool
) -> list[str]:
    """Return notes of the server about the agent's settings; nothing is written."""
    asked = _begin(terminal, bundle, name=name, trusted=trusted, dry_run=True)
    return list(asked["notes"])


def _begin(
    terminal: Terminal, bundle: OpenBundle, *, name: str, trusted: bool, dry_run: bool = False
) -> dict[str, Any]:
    agent = bundle.reader.agent.replaced(name=name)
    body = {
        "agent": agent.model_dump(mode="json", exclude_defaults=True),
        "bundle": bundle.sha256,
        "trusted": trusted,
        "dry_run": dry_run,
    }
    return terminal.client.post(_IMPORTS, body=body)


def unfinished_bundle_import(
    terminal: Terminal, bundle: OpenBundle, *, name: str, trusted: bool
) -> dict[str, Any] | None:
    """Return the interrupted import of a bundle under this name, or None."""
    wanted = (bundle.sha256, name, trusted)
    for each in _imports(terminal):
        if (each["bundle"], each["name"], each["trusted"]) == wanted:
            return each
    return None


def _imports(terminal: Terminal) -> list[dict[str, Any]]:
    return list(terminal.client.get(_IMPORTS)["items"])


def _send(terminal: Terminal, bundle: OpenBundle, record: dict[str, Any]) -> dict[str, Any]:
    client, place = terminal.client, (_IMPORTS, record["id"])
    # One that is finishing has everything.
    is_open = record["state"] == "open"
    count, known = 0, set(record["parts"])
    for count, part in enumerate(_parts(bundle.reader), 1):
        if is_open and count not in known:
            client.upload(*place, "parts", str(count), content=part)
    files = 0
    for path, content, clean in _files(bundle.reader):
        files += 1
        if is_open:
            client.upload(
                *(*place, "files", *path.split("/")),
                content=content,
                clean="true" if clean else None,
            )
    return client.post(*place, "finish", body={"parts": count, "files": files})


def _files(reader: BundleReader) -> Iterator[tuple[str, bytes, bool]]:
    for file in reader.files:
        yield file.path, reader.content(file), file.clean
    taken = {file.path for file in reader.files}
    for path, text in transcripts_of_bundle(reader.sessions()):
        if path not in taken:
            yield path, text.encode(), False


def _parts(reader: BundleReader) -> Iterator[bytes]:
    """Yield the rows in parts, always cut at the same places."""
    rows, size = list[bytes](), 0
    for row in reader.rows():
        line = f'{{"kind":{json.dumps(row.kind)},"value":{row.text}}}\n'.encode()
        if rows and (len(rows) >= BUNDLE_PART_ROWS or size + len(line) > BUNDLE_PART_BYTES):
            yield b"".join(rows)
            rows, size = [], 0
        rows.append(line)
        size += len(line)
    if rows:
        yield b"".join(rows)


def _undo(terminal: Terminal, import_id: str) -> None:
    try:
        terminal.client.delete(_IMPORTS, import_id)
    except (Conflict, NotFound, Unavailable) as error:
        terminal.print_note("bundle_not_undone", why=terminal.error_text(error.message))
