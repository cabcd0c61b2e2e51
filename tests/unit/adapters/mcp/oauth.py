"""An MCP server that asks for a sign-in, and its authorization server, over a made-up net.

It keeps the rules of OAuth 2.1: codes and refresh tokens are taken once, PKCE and the redirect
address must fit, and a refresh token that comes again ends everything. `tests/interop` plays the
same sign-in against the official SDK's server.
"""

import json
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qs, parse_qsl, unquote_plus, urlencode, urlsplit

from opencrab.adapters.mcp.connections import McpConnections
from opencrab.adapters.mcp.http import HttpConnection
from opencrab.adapters.mcp.oauth_records import StoredSignIns
from opencrab.adapters.mcp.oauth_requests import OAuthRequests, probe_mcp_server
from opencrab.adapters.mcp.oauth_sign_ins import OAuthSignIns
from opencrab.adapters.system_clock import FakeClock
from opencrab.adapters.web.connection import PinnedBackend
from opencrab.domain.mcp.server import McpServer
from opencrab.ports.home import Home
from tests.unit.adapters.web.net import Net, no_tls, reply

URL = "https://tracker.example.net/mcp"
ISSUER = "https://login.example.org"
BACK = "http://127.0.0.1:50123/callback"
TOOLS = [{"name": "add", "description": "Adds.", "inputSchema": {"type": "object"}}]
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)

Form = dict[str, str]


class Vault:
    """A secret store in memory."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}

    def get(self, name: str) -> str | None:
        return self.values.get(name)

    def put(self, name: str, value: str) -> None:
        self.values[name] = value

    def forget(self) -> None:
        pass


@dataclass
class SignInServers:
    """Both servers; `resource` and `metadata` are changed by what misbehaves."""

    resource: dict[str, Any] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    challenge: str = f'Bearer resource_metadata="{URL.replace("/mcp", "")}/.well-known/x"'
    seconds: int = 3_600
    rotates: bool = True
    scope: str = "tracker.read"
    needed_scope: str = ""
    down: bool = False
    refuses: bool = False
    refuses_answers: bool = False
    """Refuses the answers of a client to what the server asks."""

    called: list[bytes] | None = None
    """What a call is answered, instead of what is usual."""

    lets_in: bool = False
    """Begins sessions without a token, which are then nobody's."""

    sessions: dict[str, str] = field(default_factory=dict)
    before_answer: list[dict[str, Any]] = field(default_factory=list)
    """Messages that come before the answer to a call."""

    gives_refresh: bool = True
    asked: list[tuple[str, str, str]] = field(default_factory=list)
    """Method, URL and the Authorization header of each request."""

    forms: list[Form] = field(default_factory=list)
    access: dict[str, str] = field(default_factory=dict)
    """Scope by each access token that is good."""

    refresh: dict[str, bool] = field(default_factory=dict)
    """Refresh tokens, with whether they may still be used."""

    clients: dict[str, dict[str, Any]] = field(default_factory=dict)
    revoked: list[str] = field(default_factory=list)
    calls: int = 0
    pages: dict[str, list[bytes]] = field(default_factory=dict)
    """What is answered at some URLs instead of what is usual."""

    _codes: dict[str, Form] = field(default_factory=dict)
    _made: int = 0
    _session: str = ""

    def __post_init__(self) -> None:
        root = URL.removesuffix("/mcp")
        self.net = Net(self.answer, now=0.0)
        self.resource = {"resource": URL, "authorization_servers": [ISSUER], **self.resource}
        self.prm = f"{root}/.well-known/x"
        self.metadata = {
            "issuer": ISSUER,
            "authorization_endpoint": f"{ISSUER}/authorize",
            "token_endpoint": f"{ISSUER}/token",
            "registration_endpoint": f"{ISSUER}/register",
            "revocation_endpoint": f"{ISSUER}/revoke",
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none", "client_secret_post"],
            **self.metadata,
        }

    def answer(self, url: str) -> list[bytes]:
        """Answer a request."""
        request = self.net.requests[-1]
        head, _, body = request.partition("\r\n\r\n")
        lines = dict(line.lower().partition(": ")[::2] for line in head.split("\r\n")[1:])
        shown = next(
            (x[15:] for x in head.split("\r\n") if x.lower().startswith("authorization: ")), ""
        )
        method = head.partition(" ")[0]
        self.asked.append((method, url, shown))
        self._session = lines.get("mcp-session-id", "")
        assert "content-length" in lines
        if url in self.pages:
            return self.pages[url]
        if url == URL:
            return self._mcp(method, shown, body)
        if url == self.prm:
            return self.json(self.resource)
        if url == f"{ISSUER}/.well-known/oauth-authorization-server":
            return self.json(self.metadata)
        if url.startswith(ISSUER) and method == "POST":
            return self._posted(urlsplit(url).path, shown, body)
        return reply(status=404)

    @staticmethod
    def json(said: Any, status: int = 200) -> list[bytes]:
        """A reply with an object."""
        return reply(json.dumps(said).encode(), "application/json", status)

    def agree(self, url: str, **changes: str) -> str:
        """The owner agrees in the browser; the address to which it is sent back."""
        asked = dict(parse_qsl(urlsplit(url).query))
        assert url.startswith(f"{ISSUER}/authorize?")
        assert asked["redirect_uri"] in self.clients[asked["client_id"]]["redirect_uris"]
        assert (asked["response_type"], asked["code_challenge_method"]) == ("code", "S256")
        self._codes[code := self._new("code")] = asked
        said = {"code": code, "state": asked["state"], **changes}
        return f"{asked['redirect_uri']}?{urlencode(said)}"

    def _mcp(self, method: str, shown: str, body: str) -> list[bytes]:
        token = shown.removeprefix("Bearer ")
        begun = self._let_in(shown, body) if self.lets_in else None
        if begun is not None:
            return begun
        if token not in self.access or self.refuses:
            return reply(status=401, www_authenticate=self.challenge)
        if method != "POST":
            return reply()
        said = json.loads(body)
        if "id" not in said or "method" not in said:
            asks = self.refuses_answers and "id" in said
            return reply(status=401 if asks else 202, www_authenticate=self.challenge)
        results = {
            "initialize": {"protocolVersion": "2025-11-25"},
            "tools/list": {"tools": TOOLS},
            "tools/call": {"content": [{"type": "text", "text": "42"}]},
        }
        odd = self._odd_call(token, said, results) if said["method"] == "tools/call" else None
        if odd is not None:
            return odd
        return self.json({"id": said["id"], "result": results[said["method"]]})

    def _odd_call(
        self, token: str, said: dict[str, Any], results: dict[str, Any]
    ) -> list[bytes] | None:
        """Count a call; its answer if that is not the usual one."""
        if self.needed_scope not in self.access[token]:
            wanted = f'Bearer error="insufficient_scope", scope="{self.needed_scope}"'
            return reply(status=403, www_authenticate=wanted)
        if self.called is not None:
            return self.called
        self.calls += 1
        if not self.before_answer:
            return None
        found = [*self.before_answer, {"id": said["id"], "result": results["tools/call"]}]
        events = "".join(f"data: {json.dumps(each)}\n\n" for each in found)
        return reply(events.encode(), "text/event-stream")

    def _let_in(self, shown: str, body: str) -> list[bytes] | None:
        """Begin a session of whoever it is, or end one of somebody else."""
        if '"initialize"' in body:
            self.sessions[name := f"s{len(self.sessions) + 1}"] = shown
            begun = {"id": 1, "result": {"protocolVersion": "2025-11-25"}}
            return reply(json.dumps(begun).encode(), "application/json", 200, mcp_session_id=name)
        is_anothers = shown and self.sessions.get(self._session) != shown
        return reply(status=404) if is_anothers else None

    def _posted(self, path: str, shown: str, body: str) -> list[bytes]:
        if self.down:
            return reply(status=503)
        if path == "/register":
            said = json.loads(body)
            made = {**said, "client_id": self._new("client")}
            if said["token_endpoint_auth_method"] != "none":
                made["client_secret"] = self._new("CANARY-client")
            self.clients[made["client_id"]] = made
            return self.json(made, 201)
        form = {name: values[0] for name, values in parse_qs(body).items()}
        if shown.startswith("Basic "):
            pair = b64decode(shown[6:]).decode().split(":")
            form["client_id"], form["client_secret"] = map(unquote_plus, pair)
        self.forms.append(form)
        client = self.clients.get(form.get("client_id", ""))
        if client is None or client.get("client_secret") != form.get("client_secret"):
            return self.json({"error": "invalid_client"}, 401)
        if path == "/revoke":
            self.revoked.append(form["token"])
            self.access.pop(form["token"], None)
            return reply()
        grants = {"authorization_code": self._code, "refresh_token": self._renew}
        return grants[form["grant_type"]](form)

    def _code(self, form: Form) -> list[bytes]:
        asked = self._codes.pop(form["code"], None)
        digest = sha256(form["code_verifier"].encode()).digest()
        proof = urlsafe_b64encode(digest).decode().rstrip("=")
        fits = asked is not None and all(
            asked[name] == form[name] for name in ("redirect_uri", "resource", "client_id")
        )
        if asked is None or not fits or asked["code_challenge"] != proof:
            return self.json({"error": "invalid_grant"}, 400)
        return self._tokens(asked.get("scope", self.scope))

    def _renew(self, form: Form) -> list[bytes]:
        used = form["refresh_token"]
        if not self.refresh.get(used):
            # A token that was used already: somebody has stolen one.
            self.refresh.clear()
            self.access.clear()
            return self.json({"error": "invalid_grant"}, 400)
        self.refresh[used] = not self.rotates
        return self._tokens(self.scope, "" if self.rotates else used)

    def _tokens(self, scope: str, refresh: str = "") -> list[bytes]:
        access, refresh = self._new("CANARY-access"), refresh or self._new("CANARY-refresh")
        self.access = {access: scope}
        self.refresh[refresh] = True
        return self.json(
            {
                "access_token": access,
                **({"refresh_token": refresh} if self.gives_refresh else {}),
                "token_type": "Bearer",
                "expires_in": self.seconds,
                "scope": scope,
            }
        )

    def _new(self, kind: str) -> str:
        self._made += 1
        return f"{kind}-{self._made}"


class Lab:
    """A client of both servers with its stores, as one process; `another` is a second one."""

    def __init__(
        self, home: Home, clock: FakeClock, servers: SignInServers | None = None, **changes: Any
    ) -> None:
        self.servers = servers or SignInServers()
        self.server = McpServer(name="tracker", **{"url": URL, "timeout_seconds": 5, **changes})
        self.clock = clock
        self.vault = Vault()
        self.facts = home.facts
        self.stored = StoredSignIns(self.facts, self.vault)
        self.sign_ins = self.another()
        self.client = self.connections(self.sign_ins)

    def another(
        self, stored: StoredSignIns | None = None, pause: Callable[[float], object] | None = None
    ) -> OAuthSignIns:
        """Sign-ins as another process opens them on the same home."""
        net = self.servers.net
        backend = PinnedBackend(net, net.resolve)
        return OAuthSignIns(
            stored or StoredSignIns(self.facts, self.vault),
            self.clock,
            lambda server: OAuthRequests(server, net, backend, no_tls),
            lambda server, deadline: probe_mcp_server(server, net, deadline, no_tls),
            pause=pause or (lambda _: self.clock.advance(1)),
        )

    def connections(self, sign_ins: OAuthSignIns) -> McpConnections:
        """The client of MCP servers of a process."""
        challenged = set[str]()
        return McpConnections(
            lambda server: HttpConnection(
                server, self.servers.net, no_tls, tokens=lambda: sign_ins, challenged=challenged
            )
        )

    def sign_in(self) -> None:
        """The owner signs in."""
        begun = self.sign_ins.start(self.server, BACK)
        self.sign_ins.finish(self.server, self.servers.agree(begun.url))

    def call(self, client: McpConnections | None = None) -> str:
        """What a call of the tool answers."""
        used = client or self.client
        (tool,) = used.tools(self.server)
        return used.call(self.server, "add", tool.fingerprint, {}).text
