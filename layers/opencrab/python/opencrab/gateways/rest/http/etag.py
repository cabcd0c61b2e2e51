"""Versions: the If-Match header of a change, and the ETag of what is shown."""

import re
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Header, Response

IfMatch = Annotated[
    str | None,
    Header(
        alias="If-Match", max_length=200, description="only if this is still the stored version"
    ),
]

_NEVER = -1
_VERSION = re.compile(r'"(0|[1-9][0-9]{0,17})"')


def etag_version(if_match: str | None) -> int | None:
    """The version that a change is meant for; None for any, and one that never is for nonsense."""
    wanted = "*" if if_match is None else if_match.strip()
    if wanted == "*":
        return None
    found = _VERSION.fullmatch(wanted)
    return int(found[1]) if found else _NEVER


def set_etag(response: Response, version: int) -> None:
    """Say which version is shown."""
    response.headers["ETag"] = f'"{version}"'


@dataclass(frozen=True)
class VersionedChange:
    """A change of what is stored: the version that it is meant for, and the answer to tag."""

    response: Response
    version: int | None


async def _change(response: Response, if_match: IfMatch = None) -> VersionedChange:
    return VersionedChange(response, etag_version(if_match))


Edit = Annotated[VersionedChange, Depends(_change)]
