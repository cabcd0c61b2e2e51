"""The browser of this computer, opened with a link; that it does not open fails nothing."""

import webbrowser
from collections.abc import Callable
from contextlib import suppress
from pathlib import PurePath

SIGN_IN_FRAGMENT = "#sign-in="
"""What the page reads a code after; a browser sends no fragment to any server."""

_ANYWHERE = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}  # noqa: S104 - not to listen there
_IN_TERMINAL = {"elinks", "links", "lynx", "w3m", "www-browser"}


def access_sign_in_link(url: str, code: str) -> str:
    """Return the link that signs in; a server that listens everywhere is reached on loopback."""
    scheme, _, rest = url.rstrip("/").partition("://")
    host, colon, port = rest.rpartition(":")
    return f"{scheme}://{_ANYWHERE.get(host, host)}{colon}{port}/{SIGN_IN_FRAGMENT}{code}"


def browser_sign_in_url_at_port(url: str, port: int | None) -> str:
    """Return a server's address with the port of its page, if that is another one."""
    return url if port is None else f"{url.rpartition(':')[0]}:{port}"


def open_access_link(
    link: str, find: Callable[[], webbrowser.BaseBrowser] = webbrowser.get
) -> bool:
    """Open a link in the browser; returns whether it did.

    A browser that draws in the terminal is not opened: it would take the terminal away.
    """
    with suppress(webbrowser.Error, OSError, ValueError):
        found = find()
        if PurePath(str(getattr(found, "name", ""))).name not in _IN_TERMINAL:
            return found.open(link)
    return False
