"""`ports.mcp.McpSignIns`: OAuth 2.1 with PKCE, for the owner of an installation."""

import hmac
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from threading import Lock
from time import monotonic
from typing import NamedTuple
from urllib.parse import parse_qs

from opencrab.adapters.mcp.oauth_discovery import (
    discover_mcp_authorization_server,
    requested_mcp_scope,
)
from opencrab.adapters.mcp.oauth_grants import (
    McpGrantRefused,
    exchange_mcp_code,
    mcp_authorization_url,
    register_mcp_client,
    revoke_mcp_grant,
)
from opencrab.adapters.mcp.oauth_records import StoredSignIns
from opencrab.adapters.mcp.oauth_renewal import REFRESH_SECONDS, TokenRenewal
from opencrab.adapters.mcp.oauth_requests import OAuthRequests
from opencrab.domain.errors import Invalid, Refused
from opencrab.domain.mcp.server import McpServer
from opencrab.domain.mcp.sign_in import (
    McpChallenge,
    McpGrant,
    McpPendingGrant,
    McpSignInAttempt,
    McpSignInRecord,
    McpSignInState,
)
from opencrab.domain.value import value_with_surrogates_joined
from opencrab.ports.clock import Clock
from opencrab.ports.mcp import McpSignInNeeded, McpSignInStart, McpSignOut, McpUnavailable

ATTEMPT = timedelta(minutes=10)
"""Time in which the owner agrees."""

START_SECONDS = 25.0
"""The longest search for an authorization server, registration included."""

_KEPT = timedelta(seconds=60)
"""Time after which another process' sign-in or sign-out is looked for."""

_EARLY = timedelta(seconds=30)
_ANSWER = 8_192
_ONLY_ERROR = re.compile(r"[a-z_]{1,40}")
_REDIRECT = re.compile(r"http://(127\.0\.0\.1|\[::1\]):[0-9]{1,5}/callback")
_SUFFIX = "the owner signs in with `opencrab mcp login {}`; continue without it"

Requests = Callable[[McpServer], OAuthRequests]
Probe = Callable[[McpServer, float], McpChallenge]
"""Asks a server without a token, until a deadline, and returns what it challenges with."""


class _KeptToken(NamedTuple):
    token: str
    server: McpServer
    until: datetime


class OAuthSignIns:
    """`ports.mcp.McpSignIns`.

    Args:
        stored: The sign-ins.
        clock: Time and chance.
        requests: Opens the requests on behalf of a server.
        probe: Asks a server for its challenge.
        pause: Waits for some seconds.
    """

    def __init__(
        self,
        stored: StoredSignIns,
        clock: Clock,
        requests: Requests,
        probe: Probe,
        pause: Callable[[float], object] | None = None,
    ) -> None:
        self._stored = stored
        self._clock = clock
        self._requests = requests
        self._probe = probe
        self._renewal = TokenRenewal(stored, clock, requests, pause)
        self._kept: dict[str, _KeptToken] = {}
        self._locks: dict[str, Lock] = {}

    def token(self, server: McpServer, deadline: float) -> str:
        kept = self._kept.get(server.name)
        if kept is not None and kept.server == server and kept.until > self._clock.now():
            return kept.token
        return self._found(server, "", deadline)

    def token_after_refusal(
        self, server: McpServer, refused: str, challenge: McpChallenge, deadline: float
    ) -> str:
        found = self._found(server, refused, deadline)
        if not found:
            raise self.sign_in_needed(server, refused, challenge)
        return found

    def sign_in_needed(
        self, server: McpServer, refused: str, challenge: McpChallenge
    ) -> McpSignInNeeded:
        wants_more = challenge.error == "insufficient_scope"

        def waits(record: McpSignInRecord, grant: McpGrant | None) -> McpSignInRecord | None:
            # Meanwhile the owner may have signed in, and that token was not refused.
            if self._renewal.is_another_good(record, grant, refused):
                return None
            is_in = wants_more and grant is not None and record.state is not McpSignInState.NEEDED
            state = McpSignInState.MORE_SCOPE if is_in else McpSignInState.NEEDED
            return record.replaced(state=state, wanted_scope=challenge.scope)

        self._stored.change(server, waits)
        what = (
            "allows this only with more rights than its owner gave"
            if wants_more
            else "waits until its owner signs in"
        )
        return McpSignInNeeded(
            f"the MCP server {server.name} {what}", cure=_SUFFIX.format(server.name)
        )

    def start(self, server: McpServer, redirect_uri: str) -> McpSignInStart:
        _require_sign_in_possible(server)
        if not _REDIRECT.fullmatch(redirect_uri):
            raise Invalid(
                "the redirect address is not one of this computer",
                field="redirect_uri",
                cure="use http://127.0.0.1:PORT/callback",
            )
        deadline = monotonic() + START_SECONDS
        requests, challenge = self._requests(server), self._probe(server, deadline)
        found = discover_mcp_authorization_server(requests, server, challenge, deadline)
        record, _ = self._stored.record(server)
        known = (record.scope, record.wanted_scope, challenge.scope)
        scope = requested_mcp_scope(server, found, *known)
        pending = McpPendingGrant(
            grant=register_mcp_client(
                requests,
                server,
                found,
                redirect_uri=redirect_uri,
                scope=scope,
                deadline=deadline,
            ),
            state=self._clock.secret(),
            # RFC 7636 asks for 43 characters at least.
            verifier=(self._clock.secret() + self._clock.secret())[:128],
            redirect_uri=redirect_uri,
            needs_issuer=found.sends_issuer,
        )
        expires_at = self._clock.now() + ATTEMPT
        self._stored.begin(server, pending, McpSignInAttempt(expires_at=expires_at, sealed=""))
        return McpSignInStart(
            url=mcp_authorization_url(found.authorization_endpoint, pending),
            issuer=found.issuer,
            scope=scope,
            previous_issuer="" if record.issuer == found.issuer else record.issuer,
            expires_at=expires_at,
        )

    def finish(self, server: McpServer, answer: str) -> McpSignInRecord:
        _require_sign_in_possible(server)
        found = self._stored.pending(server)
        if found is None or found[0].expires_at <= self._clock.now():
            raise _not_begun(server)
        _, pending, document = found
        said = _parameters(answer)
        # Whoever guesses does not end the owner's sign-in.
        if not hmac.compare_digest(said.get("state", "").encode(), pending.state.encode()):
            raise Refused(
                f"this is the answer to another sign-in than the one at {server.name}",
                cure="paste the whole address to which the browser was sent last",
            )
        if not self._stored.take(document):
            raise _not_begun(server)
        code = _code(server, pending, said)
        until = monotonic() + REFRESH_SECONDS
        try:
            grant = exchange_mcp_code(
                self._requests(server), pending, code, self._clock.now(), until
            )
        except McpGrantRefused as error:
            raise Refused(error.message, cure=f"opencrab mcp login {server.name}") from None
        new = McpSignInRecord(identity=server.identity, since=self._clock.now())
        signed_in = self._renewal.signed_in(server, new, grant)
        self._stored.change(server, lambda *_: signed_in)
        self._kept.pop(server.name, None)
        return signed_in

    def end(self, server: McpServer) -> McpSignOut:
        record, grant = self._stored.record(server)
        self.forget(server.name)
        revoked = grant is not None and revoke_mcp_grant(
            self._requests(server), grant, monotonic() + REFRESH_SECONDS
        )
        return McpSignOut(had_tokens=bool(record.sealed), revoked=revoked)

    def forget(self, name: str) -> None:
        self._stored.forget(name)
        self._kept.pop(name, None)

    def records(self, servers: Iterable[McpServer]) -> Mapping[str, McpSignInRecord]:
        now = self._clock.now()
        return {
            name: record.replaced(state=McpSignInState.NEEDED)
            if record.ends_at is not None and record.ends_at <= now
            else record
            for name, record in self._stored.records(servers).items()
        }

    def note_success(self, server: McpServer) -> None:
        self._stored.forget_unsigned(server)

    def _found(self, server: McpServer, refused: str, deadline: float) -> str:
        """Return a token that is stored or renewed, "" if there is none; one thread at a time."""
        with self._alone(server, deadline):
            self._kept.pop(server.name, None)
            grant = self._renewal.usable_grant(server, refused, deadline)
            if grant is None:
                return ""
            now = self._clock.now()
            until = min(now + _KEPT, (grant.expires_at or now) - _EARLY)
            self._kept[server.name] = _KeptToken(grant.access_token, server, until)
            return grant.access_token

    @contextmanager
    def _alone(self, server: McpServer, deadline: float) -> Iterator[None]:
        lock = self._locks.setdefault(server.name, Lock())
        if not lock.acquire(timeout=max(deadline - monotonic(), 0.0)):
            raise McpUnavailable(
                f"the token of the MCP server {server.name} is still being renewed",
                cure="try again in a minute",
            )
        try:
            yield
        finally:
            lock.release()


def _require_sign_in_possible(server: McpServer) -> None:
    if server.problem:
        raise Refused(
            f"the MCP server {server.name} cannot be used: {server.problem}", cure=server.cure
        )
    if not server.may_sign_in:
        raise Refused(
            f"nobody signs in at {server.name}: it is no MCP server at an address, or the settings "
            "give it an Authorization header",
            cure=f"look at mcp.servers.{server.name} in the settings",
        )


def _parameters(answer: str) -> dict[str, str]:
    """Return what came back to the redirect address; one that is there twice is left out."""
    if len(answer) > _ANSWER:
        raise Invalid("the address is too long", field="answer", cure="paste only the address")
    plain = str(value_with_surrogates_joined(answer)).strip().partition("#")[0]
    address, mark, query = plain.partition("?")
    found = dict[str, list[str]]()
    # More fields than any answer has are none.
    with suppress(ValueError):
        found = parse_qs(query if mark else address, errors="replace", max_num_fields=20)
    return {name: values[0] for name, values in found.items() if len(values) == 1}


def _code(server: McpServer, pending: McpPendingGrant, said: Mapping[str, str]) -> str:
    """Return the code; raises Refused for one of another issuer (RFC 9207), or for a refusal."""
    issuer, again = said.get("iss"), f"opencrab mcp login {server.name}"
    if issuer != pending.grant.issuer and (issuer is not None or pending.needs_issuer):
        raise Refused(
            "the answer is that of another authorization server; nothing was sent there", cure=again
        )
    error = said.get("error")
    if error is not None:
        shown = error if _ONLY_ERROR.fullmatch(error) else "an error"
        raise Refused(f"the sign-in at {server.name} was refused there: {shown}", cure=again)
    code = said.get("code", "")
    if not code:
        raise Refused("the address has no code in it", cure=again)
    return code


def _not_begun(server: McpServer) -> Refused:
    return Refused(
        f"no sign-in at {server.name} is under way: it took too long, or was used already",
        cure=f"opencrab mcp login {server.name}",
    )
