"""Commands that sign in at an MCP server with OAuth, and sign out."""

from contextlib import closing, nullcontext
from typing import Annotated, Any
from urllib.parse import parse_qs, urlsplit

from opencrab.domain.errors import Refused, Unavailable
from opencrab.gateways.cli.mcp.tools import ServerName
from opencrab.gateways.cli.terminal.arguments import Yes, cli_option
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.input import ask_needed_on_terminal, confirm_on_terminal
from opencrab.gateways.cli.terminal.terminal import Terminal

_PLACE = ("mcp", "servers")
_PASTE_PORT = 33418
"""Nothing listens there: the browser shows an error, and the address to paste."""

_WAIT_SECONDS = 600.0
_ASK_SECONDS = 30.0


@cli_command
def sign_in_at_mcp_server(
    terminal: Terminal,
    server: ServerName,
    *,
    paste: Annotated[
        bool, cli_option("Paste the address that the browser ends at, as over SSH.")
    ] = False,
    port: Annotated[
        int | None,
        cli_option("Port of this computer, if your app is registered with one.", "PORT"),
    ] = None,
    yes: Yes = False,
) -> None:
    """Sign in at an MCP server in the browser, so that agents can use it."""
    terminal.client.patience_seconds = _ASK_SECONDS
    with nullcontext() if paste else closing(_listener(terminal, server, port or 0)) as listener:
        uri = (
            f"http://127.0.0.1:{port or _PASTE_PORT}/callback" if listener is None else listener.uri
        )
        begun = terminal.client.post(*_PLACE, server, "sign-in", body={"redirect_uri": uri})
        _show_sign_in(terminal, server, begun, yes=yes)
        if listener is None:
            answer = _pasted_address(terminal)
        else:
            # Where the owner agreed before, the answer is here before the browser has opened.
            listener.expect_answer(parse_qs(urlsplit(begun["url"]).query)["state"][-1])
            _open_sign_in(terminal, begun["url"])
            answer = listener.wait_for_answer(_WAIT_SECONDS)
            if answer is None:
                raise Unavailable(
                    terminal.words("mcp_nobody_agreed"),
                    cure=f"opencrab mcp login {server} --paste",
                )
    found = terminal.client.put(*_PLACE, server, "sign-in", body={"answer": answer})
    terminal.print_result(found, "mcp_signed_in", name=server, issuer=found["issuer"])


@cli_command
def sign_out_of_mcp_server(terminal: Terminal, server: ServerName) -> None:
    """Sign out of an MCP server: its tokens are forgotten, and revoked where that is offered."""
    terminal.client.patience_seconds = _ASK_SECONDS
    found = terminal.client.delete(*_PLACE, server, "sign-in")
    key = "mcp_signed_out" if found["revoked"] else "mcp_signed_out_here"
    if not found.get("had_tokens", True):  # a server of a release before does not say
        key = "mcp_signed_out_already"
    terminal.print_result(found, key, name=server)


def _listener(terminal: Terminal, server: str, port: int) -> Any:
    from opencrab.gateways.cli.mcp.redirect_listener import McpRedirectListener

    words = terminal.words
    done, odd = words("mcp_page_done", name=server), words("mcp_page_odd")
    return McpRedirectListener(port, done=done, odd=odd)


def _show_sign_in(terminal: Terminal, server: str, begun: dict[str, Any], *, yes: bool) -> None:
    """Show where the owner signs in and what for; another place than before is asked about."""
    terminal.print_complaint(terminal.words("mcp_sign_in_at", name=server, issuer=begun["issuer"]))
    page, issuer = (urlsplit(begun[name]).netloc for name in ("url", "issuer"))
    if page != issuer:
        # A server could name the page of another, and take what the owner allows that one.
        told = terminal.words("mcp_sign_in_page", page=page, issuer=begun["issuer"])
        terminal.print_complaint(told)
    if begun["scope"]:
        terminal.print_complaint(terminal.words("mcp_sign_in_scope", scope=begun["scope"]))
    if begun["previous_issuer"]:
        facts = {"before": begun["previous_issuer"], "issuer": begun["issuer"]}
        terminal.print_complaint(terminal.words("mcp_issuer_changed", name=server, **facts))
        question = terminal.words("mcp_issuer_really")
        if not confirm_on_terminal(terminal, question, yes=yes, needed="mcp_issuer_needed"):
            raise Refused(terminal.words("mcp_sign_in_left", name=server))
    terminal.print_complaint(begun["url"])


def _open_sign_in(terminal: Terminal, url: str) -> None:
    from opencrab.gateways.cli.connection.browser import open_access_link

    opened = terminal.interactive and open_access_link(url)
    terminal.print_note("mcp_browser_opened" if opened else "mcp_open_it")


def _pasted_address(terminal: Terminal) -> str:
    if terminal.interactive:
        terminal.print_note("mcp_paste_how")
        return ask_needed_on_terminal(terminal, terminal.words("mcp_paste"))
    return terminal.input.readline(16_384).strip()
