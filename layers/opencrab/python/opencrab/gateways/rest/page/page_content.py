"""What the page's files contain, how they are named, and the headers that let nothing foreign run.

It imports nothing but the standard library: `make deploy` reads it too, to put the same files with
the same headers behind CloudFront.
"""

from functools import cache
from hashlib import sha256
from pathlib import Path

FOLDER = Path(__file__).parent / "static"
"""Where the files are."""

INDEX = "index.html"
LANGUAGES = ("en", "ja")
MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
}
FOREVER = "public, max-age=31536000, immutable"
"""How long a browser keeps a file, whose address contains its version."""

EACH_TIME = "no-cache"
"""The page itself is asked for each time; its ETag says that it did not change."""

SECURITY_HEADERS = {
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
"""Sent with everything; a test compares them with those of `infra/page.yaml`."""


@cache
def page_files() -> dict[str, bytes]:
    """Return each file by its name."""
    return {
        path.relative_to(FOLDER).as_posix(): path.read_bytes()
        for path in sorted(FOLDER.rglob("*"))
        if path.is_file()
    }


@cache
def page_version() -> str:
    """Return a hash of all files."""
    whole = sha256()
    for name, content in page_files().items():
        whole.update(f"{name} {len(content)}\n".encode())
        whole.update(content)
    return whole.hexdigest()[:16]


@cache
def index_page(language: str) -> bytes:
    """Return the page in a language, with the addresses of its files."""
    page = page_files()[INDEX].decode()
    return page.replace("VERSION", page_version()).replace("LANGUAGE", language).encode()
