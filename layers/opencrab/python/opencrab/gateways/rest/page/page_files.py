"""The page's files: static, public, and with headers that let nothing foreign run in them.

They hold no data and need no key: what the page shows it asks the API for, with the key that is
typed into it. It is loaded when a browser first asks, so that a cold start does not pay for it.
"""

import gzip
import re
from functools import cache
from hashlib import sha256
from pathlib import Path

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Scope

from opencrab.domain.errors import NotFound
from opencrab.gateways.language.accept_language import language_of_http_request
from opencrab.gateways.rest.http.problem import http_problem
from opencrab.gateways.rest.page.page_content import (
    EACH_TIME,
    FOREVER,
    INDEX,
    MEDIA_TYPES,
    SECURITY_HEADERS,
    index_page,
    page_files,
    page_version,
)

_GZIP_ETAG = "-gzip"
"""Ends the ETag of a compressed file: its bytes are others, so its ETag is another."""

_FILE_PATH = re.compile(r"/page/([0-9a-f]{16})/([a-z_/]+\.[a-z]+)")


def browser_page_response(scope: Scope) -> Response:
    """Return the page, or the file that a request names; 304 for one that the browser has.

    The address of a file contains the version of all files, so a browser never mixes two versions
    and asks for each file once.
    """
    headers = Headers(scope=scope)
    if not scope["path"].startswith("/page/"):
        language = language_of_http_request(headers.get("accept-language", "")).value
        vary = "Accept, Accept-Encoding, Accept-Language"
        caching = {"Cache-Control": EACH_TIME, "Vary": vary}
        return _response(index_page(language), INDEX, caching, headers)
    found = _FILE_PATH.fullmatch(scope["path"])
    content = page_files().get(found[2]) if found and found[1] == page_version() else None
    if found is None or content is None:
        gone = NotFound(f"no file {scope['path']!r}", cure="reload the page")
        return http_problem(gone)
    caching = {"Cache-Control": FOREVER, "Vary": "Accept-Encoding"}
    return _response(content, found[2], caching, headers)


def _response(content: bytes, name: str, caching: dict[str, str], asked: Headers) -> Response:
    is_gzip = _accepts_gzip(asked.get("accept-encoding", ""))
    tag = sha256(content).hexdigest()[:32] + (_GZIP_ETAG if is_gzip else "")
    headers = {**SECURITY_HEADERS, **caching, "ETag": f'"{tag}"'}
    known = {each.strip().removeprefix("W/") for each in asked.get("if-none-match", "").split(",")}
    if headers["ETag"] in known:
        return Response(status_code=304, headers=headers)
    if is_gzip:
        headers["Content-Encoding"] = "gzip"
        content = _gzip_content(content)
    return Response(content, headers=headers, media_type=MEDIA_TYPES[Path(name).suffix])


def _accepts_gzip(header: str) -> bool:
    """Check whether a client takes gzip, as all browsers do; a quality of zero is a no."""
    for each in header.lower().split(","):
        name, _, quality = each.partition(";")
        if name.strip() == "gzip":
            return not re.fullmatch(r"q=0(\.0{0,3})?", quality.replace(" ", ""))
    return False


@cache
def _gzip_content(content: bytes) -> bytes:
    """Compress a file once in a process; without a time, so that each process makes the same."""
    return gzip.compress(content, 9, mtime=0)
