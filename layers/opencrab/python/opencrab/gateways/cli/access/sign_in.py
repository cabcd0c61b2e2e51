"""The command that opens the page of a running OpenCrab in a browser, signed in."""

from typing import Annotated

import typer

from opencrab.domain.errors import NotFound
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.terminal import Terminal


@cli_command
def open_access_page(
    terminal: Terminal,
    *,
    only_print: Annotated[
        bool, typer.Option("--print", help="Print the link; open no browser.")
    ] = False,
) -> None:
    """Open the page in a browser, signed in."""
    from opencrab.gateways.cli.access.browser import access_sign_in_link, open_access_link

    url = terminal.client.address.url
    try:
        made = terminal.client.post("sign-in", "codes")
    except NotFound:
        # On AWS, or a release that has no links.
        link, expires = f"{url}/", None
    else:
        link, expires = access_sign_in_link(url, made["code"]), made["expires_at"]
    opened = not only_print and not terminal.options.json and open_access_link(link)
    if opened:
        terminal.print_note("page_opened", url=url)
    elif terminal.options.json:
        terminal.json({"url": link, "expires_at": expires})
    else:
        terminal.line(link)
    if expires is None:
        terminal.print_note("page_needs_key")
    elif not opened:
        terminal.print_note("page_link_once")
