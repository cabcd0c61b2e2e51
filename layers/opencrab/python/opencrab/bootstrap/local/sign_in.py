"""Sign-in links of a server on this computer: that of its start, and those of `opencrab open`."""

import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opencrab import settings

if TYPE_CHECKING:
    from opencrab.bootstrap.local.page_address import PageAddress
    from opencrab.engine.runtime import Runtime


def local_sign_in_link(
    app: Any,
    runtime: "Runtime",
    page: "PageAddress",
    key_file: Path | None,
    *,
    opens_page: bool,
) -> str | None:
    """Let the page take sign-in links, and return the first one.

    It is made only if somebody sees it: what a service prints is kept in a log, and a link is a
    credential for ten minutes. With `opens_page` the browser opens it, in a thread of its own, so
    that the start never waits for a browser.
    """
    from opencrab.engine.access.sign_in_codes import SignInCodes
    from opencrab.gateways.cli.connection.browser import access_sign_in_link, open_access_link
    from opencrab.gateways.rest.access.sign_in import offer_access_sign_in

    codes = SignInCodes(runtime.clock)
    offer_access_sign_in(app, codes, port=page.port)
    is_seen = sys.stdout.isatty()
    if not (is_seen or opens_page):
        return None
    link = access_sign_in_link(page.url, codes.make(_owner_key(key_file)).code)
    if opens_page:
        threading.Thread(target=open_access_link, args=(link,), name="browser", daemon=True).start()
        # The browser uses the printed one up, so there is another one for a person.
        link = access_sign_in_link(page.url, codes.make(_owner_key(key_file)).code)
    return link if is_seen else None


def _owner_key(key_file: Path | None) -> str:
    given = (
        settings.owner_key_setting() if key_file is None else key_file.read_text(encoding="utf-8")
    )
    return (given or "").strip()
