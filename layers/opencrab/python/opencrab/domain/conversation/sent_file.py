"""Sent files: what a service tells of a file that somebody attached to a message."""

from typing import Annotated

from pydantic import Field, StringConstraints, ValidationError

from opencrab.domain.value import Name, Text, Value

FILES = 10
"""The most files of one message, as on Discord."""

URL_CHARACTERS = 2_048

_NAME_CHARACTERS = 100


class SentFile(Value):
    """A file attached to a message; `url` is its address, or the id by which its service has it.

    Without `url` only its name is known.
    """

    name: Name
    size: Annotated[int, Field(ge=0)] = 0
    url: Annotated[Text, StringConstraints(max_length=URL_CHARACTERS)] = ""


def sent_file_name(filename: str, title: str = "") -> str:
    """Return the name that its sender gave a file, cut to the length of a name.

    Discord takes other characters than ASCII's out of `filename`, and keeps them in `title`, which
    has no ending.
    """
    stem, dot, ending = filename.rpartition(".")
    if not dot or not stem or len(ending) >= _NAME_CHARACTERS // 2:
        return (title or filename)[:_NAME_CHARACTERS]
    if title:
        stem = title.removesuffix(f".{ending}")
    return f"{stem[: _NAME_CHARACTERS - len(ending) - 1]}.{ending}"


def told_file(name: object, size: object, url: object, *, nameless: str) -> SentFile:
    """Return a file as a service tells of it; what is no name or no size is left out.

    `nameless` is the name of a file without one.
    """
    told = size if isinstance(size, int) and size >= 0 else 0
    address = url if isinstance(url, str) and len(url) <= URL_CHARACTERS else ""
    shown = " ".join(name.split()) if isinstance(name, str) else ""
    for each in (sent_file_name(shown), nameless):
        try:
            return SentFile(name=each, size=told, url=address)
        except ValidationError:
            continue
    return SentFile(name=nameless, size=told)
