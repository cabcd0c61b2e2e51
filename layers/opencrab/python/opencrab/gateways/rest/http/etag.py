"""Versions: the If-Match header of a change, and the ETag of what is shown."""

import re
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Header, Response

IfMatch = Annotated[
    str | None,
    Header(
        alias="If-Match",
        max_length=200,
        description="ETag of the version to change; 409 if another version is stored",
    ),
]

_NEVER = -1
_VERSION = re.compile(r'"(0|[1-9][0-9]{0,17})"')


def parse_http_if_match(if_match: str | None) -> int | None:
    """Parse If-Match; None for any version, and a version that never exists if malformed."""
    wanted = "*" if if_match is None else if_match.strip()
    if wanted == "*":
        return None
    found = _VERSION.fullmatch(wanted)
    return int(found[1]) if found else _NEVER


def set_http_etag(response: Response, version: int) -> None:
    """Set the ETag header to the version."""
    response.headers["ETag"] = f'"{version}"'


@dataclass(frozen=True)
class VersionedChange:
    """The version that a change requires, None for any, and the response that gets the ETag."""

    response: Response
    version: int | None


async def _change(response: Response, if_match: IfMatch = None) -> VersionedChange:
    return VersionedChange(response, parse_http_if_match(if_match))


Edit = Annotated[VersionedChange, Depends(_change)]
