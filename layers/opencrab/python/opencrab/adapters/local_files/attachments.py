"""Which folder of the owner serves which agent: a file in the data folder, and what may be one."""

import json
import os
import unicodedata
from collections.abc import Iterable
from contextlib import suppress
from itertools import islice
from pathlib import Path

from opencrab.adapters.local_files.disk import REAL_DISK, Disk, Writer, translate_disk_errors
from opencrab.adapters.local_files.folder_files import WRITING, is_hidden_local_file_name
from opencrab.domain.errors import Conflict, Invalid, Unavailable
from opencrab.ports.workspace.attached_folders import AttachedFolder, AttachedPlace

FILE = "attached.json"
MOST_FILES = 20_000
"""A folder with more files is probably not meant: each list looks at all of them."""


def read_local_attached_folders(data: Path) -> tuple[AttachedFolder, ...]:
    """Return the attached folders of a data folder or a backup; raises Unavailable."""
    place = data / FILE
    try:
        said = json.loads(place.read_bytes())
        return tuple(
            AttachedFolder(agent_id, AttachedPlace(name), str(folder))
            for agent_id, folders in sorted(said["agents"].items())
            for name, folder in sorted(folders.items())
        )
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
        raise Unavailable(
            f"file {str(place)!r} cannot be read: {error}",
            cure="correct it, or remove it to detach all folders",
        ) from error


def write_local_attached_folders(data: Path, folders: Iterable[AttachedFolder], disk: Disk) -> None:
    """Store the attached folders, all or nothing."""
    agents: dict[str, dict[str, str]] = {}
    for each in folders:
        agents.setdefault(each.agent_id, {})[each.place.value] = each.folder
    content = json.dumps({"format": 1, "agents": agents}, ensure_ascii=False, indent=1)
    with translate_disk_errors(data):
        writer = Writer(disk, data / ".writing")
        writer.replace(data / FILE, content.encode())
        writer.sync(data)


def require_attachable_local_folder(
    wanted: AttachedFolder, data: Path, attached: Iterable[AttachedFolder], disk: Disk = REAL_DISK
) -> AttachedFolder:
    """Return a folder that may serve an agent, with its real path; raises Invalid, Conflict."""
    folder = _existing_folder(wanted)
    _refuse_too_much(folder, data)
    for other in attached:
        if (other.agent_id, other.place) != (wanted.agent_id, wanted.place):
            _refuse_shared(folder, other)
    _require_writable(folder, disk)
    if next(islice(_files(folder), MOST_FILES, None), None) is not None:
        raise _unfit(str(folder), f"has over {MOST_FILES:,} files", "choose a folder in it")
    return AttachedFolder(wanted.agent_id, wanted.place, str(folder))


def _existing_folder(wanted: AttachedFolder) -> Path:
    said = Path(wanted.folder)
    if not said.is_absolute():
        raise _unfit(wanted.folder, "is not absolute", "give its whole path")
    try:
        folder = said.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise _unfit(wanted.folder, "does not exist", "make it first, or correct it") from error
    if not folder.is_dir():
        raise _unfit(wanted.folder, "is a file", "give a folder")
    return folder


def _refuse_too_much(folder: Path, data: Path) -> None:
    if folder == Path(folder.anchor) or folder == Path.home().resolve():
        raise _unfit(str(folder), "holds all of a computer or a person", "choose a folder in it")
    if any(is_hidden_local_file_name(part) for part in folder.parts):
        raise _unfit(str(folder), "is hidden: a name begins with a dot", "choose another")
    if _share(folder, data.resolve()):
        raise _unfit(str(folder), "holds OpenCrab's own data", "choose a folder elsewhere")


def _refuse_shared(folder: Path, other: AttachedFolder) -> None:
    if _share(folder, Path(other.folder)):
        raise Conflict(
            f"folder {str(folder)!r} is in use: agent {other.agent_id!r} has {other.folder!r} as "
            f"its {other.place.value}",
            field="folder",
            cure="choose another folder, or detach that one first",
        )


def _share(one: Path, other: Path) -> bool:
    return one.is_relative_to(other) or other.is_relative_to(one)


def _require_writable(folder: Path, disk: Disk) -> None:
    probe = folder / WRITING
    try:
        with suppress(FileExistsError):
            disk.mkdir(probe, 0o700)
        disk.rmdir(probe)
        os.listdir(folder)  # noqa: PTH208 - whether it may be read
    except OSError as error:
        raise _unfit(
            str(folder),
            f"cannot be written: {error.strerror}",
            "let the user that runs OpenCrab read and write it",
        ) from error


def _files(folder: Path) -> Iterable[str]:
    for _, folders, names in os.walk(folder):
        folders[:] = [each for each in folders if not is_hidden_local_file_name(each)]
        yield from names


def _unfit(folder: str, problem: str, cure: str) -> Invalid:
    shown = unicodedata.normalize("NFC", folder)
    return Invalid(f"folder {shown!r} {problem}", field="folder", cure=cure)
