"""MCP servers, as actions and their owner use them."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from opencrab.domain.errors import Refused, Unavailable
from opencrab.domain.mcp.server import McpServer
from opencrab.domain.mcp.sign_in import McpChallenge, McpSignInRecord
from opencrab.domain.mcp.tool import McpTool
from opencrab.ports.conversation.answers import CallProgressWatch


@dataclass(frozen=True)
class McpAnswer:
    """The result of a tool: its text, its structured data if any, and whether it is an error."""

    text: str
    data: Any = None
    is_error: bool = False


class McpUnavailable(Unavailable):
    """A server that did not do what it was asked; `sent` is true if it may have done it."""

    code = "mcp-unavailable"

    def __init__(self, message: str, *, cure: str | None = None, sent: bool = False) -> None:
        super().__init__(message, cure=cure)
        self.sent = sent


class McpSessionEnded(McpUnavailable):
    """A server that forgot its client's session: the request was not worked on."""


class McpSignInNeeded(Refused):
    """A server that waits until its owner signs in at it, or allows it more."""

    code = "mcp-sign-in-needed"


class McpClient(Protocol):
    """Connections to MCP servers, opened at their first use and kept.

    No error has a server's words or a secret in it.
    """

    def tools(self, server: McpServer) -> tuple[McpTool, ...]:
        """Return the tools that a server lists now. Raises McpUnavailable and Refused."""

    def call(
        self,
        server: McpServer,
        tool: str,
        fingerprint: str,
        arguments: Mapping[str, Any],
        *,
        key: str = "",
        hops: int = 0,
        watch: CallProgressWatch | None = None,
    ) -> McpAnswer:
        """Call a tool, if the server still describes it as when it had this fingerprint.

        An agent elsewhere is told `key`, which is the same if a call is made again, and the number
        of agents that a message has passed through. With `watch` the server is asked for its
        progress, and told to cancel the call if the turn was stopped; neither changes the deadline.

        Raises Refused, with nothing sent, for a tool that changed or is gone, and McpUnavailable.
        """

    def changed_tools(self, server: McpServer, fingerprints: Mapping[str, str]) -> frozenset[str]:
        """Return the names of those tools that, as last seen here, differ from a fingerprint.

        Connects to nothing: a server that was not asked yet has changed nothing.
        """


class McpTokens(Protocol):
    """Access tokens of servers at which their owner signed in, as requests need them."""

    def token(self, server: McpServer, deadline: float) -> str:
        """Return the token to send, renewed if it ends soon; "" without a sign-in.

        Raises McpUnavailable and McpSignInNeeded.
        """

    def token_after_refusal(
        self, server: McpServer, refused: str, challenge: McpChallenge, deadline: float
    ) -> str:
        """Return another token than the one that a server refused.

        Raises McpSignInNeeded, which the owner is told of, and McpUnavailable.
        """

    def sign_in_needed(
        self, server: McpServer, refused: str, challenge: McpChallenge
    ) -> McpSignInNeeded:
        """Return the error of a server that waits for its owner, who is told from now on.

        Nobody is told if the owner has signed in since the token that was refused.
        """


@dataclass(frozen=True)
class McpSignInStart:
    """A sign-in that began: where the owner agrees to it, and what is asked for there.

    `previous_issuer` is set if the owner signed in at another authorization server before.
    """

    url: str
    issuer: str
    scope: str
    previous_issuer: str
    expires_at: datetime


@dataclass(frozen=True)
class McpSignOut:
    """The end of a sign-in: whether there were tokens, and whether they were revoked, too."""

    had_tokens: bool
    revoked: bool


class McpSignIns(McpTokens, Protocol):
    """Sign-ins of the owner at MCP servers: begun, finished and ended.

    No error has a server's words, an address of its choice or a token in it.
    """

    def start(self, server: McpServer, redirect_uri: str) -> McpSignInStart:
        """Find out where to sign in and register there. Raises Refused and McpUnavailable."""

    def finish(self, server: McpServer, answer: str) -> McpSignInRecord:
        """Exchange what came back to the redirect URI, once. Raises Refused and McpUnavailable."""

    def end(self, server: McpServer) -> McpSignOut:
        """Forget the tokens, and ask the authorization server to revoke them."""

    def forget(self, name: str) -> None:
        """Forget what is stored of a server of this name, whatever it was."""

    def records(self, servers: Iterable[McpServer]) -> Mapping[str, McpSignInRecord]:
        """Return what is stored of these servers as they are configured now, by name."""

    def note_success(self, server: McpServer) -> None:
        """Forget that a server asked for a sign-in, as it works without one.

        A sign-in that its owner made is kept.
        """


class McpServers(Protocol):
    """The configured MCP servers, which may change while a process runs, and what serves them."""

    @property
    def servers(self) -> tuple[McpServer, ...]:
        """The servers that are enabled."""

    @property
    def client(self) -> McpClient:
        """What speaks with the servers."""

    @property
    def sign_ins(self) -> Callable[[], McpSignIns] | None:
        """What opens the owner's sign-ins at their first use; None where nobody can sign in."""


@dataclass(frozen=True)
class McpLink:
    """`McpServers` that stay as they are."""

    servers: tuple[McpServer, ...]
    client: McpClient
    sign_ins: Callable[[], McpSignIns] | None = None
