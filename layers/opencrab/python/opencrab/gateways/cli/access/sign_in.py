"""The command that opens the page of a running OpenCrab in a browser, signed in."""

from typing import Annotated

import typer

from opencrab.domain.errors import NotFound, Refused
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.terminal import Terminal

_PAGE_SETTING = "dashboard.enabled"


@cli_command
def open_access_page(
    terminal: Terminal,
    *,
    only_print: Annotated[
        bool, typer.Option("--print", help="Print the link; open no browser.")
    ] = False,
) -> None:
    """Open the page in a browser, signed in."""
    from opencrab.gateways.cli.connection.browser import open_access_link

    link, expires = _sign_in_link(terminal)
    opened = not only_print and not terminal.options.json and open_access_link(link)
    if opened:
        terminal.print_note("page_opened", url=link.partition("/#")[0].rstrip("/"))
    elif terminal.options.json:
        terminal.json({"url": link, "expires_at": expires})
    else:
        terminal.line(link)
    if expires is None:
        terminal.print_note("page_needs_key")
    elif not opened:
        terminal.print_note("page_link_once")


def _sign_in_link(terminal: Terminal) -> tuple[str, str | None]:
    """Return a link to the page, and when it expires; without codes one that needs a key."""
    from opencrab.gateways.cli.connection.browser import (
        access_sign_in_link,
        browser_sign_in_url_at_port,
    )

    address = terminal.client.address
    try:
        made = terminal.client.post("sign-in", "codes")
    except NotFound:
        # On AWS, or a release that has no links.
        return f"{address.url}/", None
    except Refused as error:
        if error.field != _PAGE_SETTING:
            raise
        raise Refused(terminal.words("page_off"), cure=terminal.words("page_off_cure")) from error
    url = (
        browser_sign_in_url_at_port(address.url, made.get("port"))
        if address.is_here
        else address.url
    )
    return access_sign_in_link(url, made["code"]), made["expires_at"]
