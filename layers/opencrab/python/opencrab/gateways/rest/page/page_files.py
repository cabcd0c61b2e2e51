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
from opencrab.gateways.rest.http.accept_language import language_of_http_request
from opencrab.gateways.rest.http.problem import problem_of_error

FOLDER = Path(__file__).parent / "static"
"""Where the files are."""

_INDEX = "index.html"
_MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
}
_FOREVER = "public, max-age=31536000, immutable"
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "X-Robots-Tag": "noindex",
}
_GZIP_ETAG = "-gzip"
"""Ends the ETag of a compressed file: its bytes are others, so its ETag is another."""

_FILE_PATH = re.compile(r"/page/([0-9a-f]{16})/([a-z_/]+\.[a-z]+)")


def page_response(scope: Scope) -> Response:
    """Return the page, or the file that a request names; 304 for one that the browser has.

    The address of a file contains the version of all files, so a browser never mixes two versions
    and asks for each file once.
    """
    headers = Headers(scope=scope)
    if not scope["path"].startswith("/page/"):
        language = language_of_http_request(headers.get("accept-language", "")).value
        vary = "Accept, Accept-Encoding, Accept-Language"
        caching = {"Cache-Control": "no-cache", "Vary": vary}
        return _response(_index(language), _INDEX, caching, headers)
    found = _FILE_PATH.fullmatch(scope["path"])
    content = _files().get(found[2]) if found and found[1] == _version() else None
    if found is None or content is None:
        gone = NotFound(f"no file {scope['path']!r}", cure="reload the page")
        return problem_of_error(gone)
    caching = {"Cache-Control": _FOREVER, "Vary": "Accept-Encoding"}
    return _response(content, found[2], caching, headers)


def _response(content: bytes, name: str, caching: dict[str, str], asked: Headers) -> Response:
    is_gzip = _accepts_gzip(asked.get("accept-encoding", ""))
    tag = sha256(content).hexdigest()[:32] + (_GZIP_ETAG if is_gzip else "")
    headers = {**_HEADERS, **caching, "ETag": f'"{tag}"'}
    known = {each.strip().removeprefix("W/") for each in asked.get("if-none-match", "").split(",")}
    if headers["ETag"] in known:
        return Response(status_code=304, headers=headers)
    if is_gzip:
        headers["Content-Encoding"] = "gzip"
        content = _gzip_content(content)
    return Response(content, headers=headers, media_type=_MEDIA_TYPES[Path(name).suffix])


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


@cache
def _files() -> dict[str, bytes]:
    return {
        path.relative_to(FOLDER).as_posix(): path.read_bytes()
        for path in sorted(FOLDER.rglob("*"))
        if path.is_file()
    }


@cache
def _version() -> str:
    """Return a hash of all files."""
    whole = sha256()
    for name, content in _files().items():
        whole.update(f"{name} {len(content)}\n".encode())
        whole.update(content)
    return whole.hexdigest()[:16]


@cache
def _index(language: str) -> bytes:
    """Return the page in a language, with the addresses of its files."""
    page = _files()[_INDEX].decode()
    return page.replace("VERSION", _version()).replace("LANGUAGE", language).encode()
