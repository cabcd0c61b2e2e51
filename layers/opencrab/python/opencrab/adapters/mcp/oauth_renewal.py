"""Renewal of access tokens: once for all processes, and never with an older refresh token.

Who renews a token leases its record first, so that others wait for the result. A process that dies
meanwhile leaves the lease; when it ends, another tries again with what is stored.
"""

import threading
from collections.abc import Callable
from datetime import timedelta
from time import monotonic

from opencrab.adapters.mcp.oauth_grants import (
    McpGrantRefused,
    refresh_mcp_grant,
    revoke_mcp_grant,
)
from opencrab.adapters.mcp.oauth_records import StoredSignIns
from opencrab.adapters.mcp.oauth_requests import OAuthRequests
from opencrab.domain.errors import OpenCrabError, Unavailable
from opencrab.domain.mcp.server import McpServer
from opencrab.domain.mcp.sign_in import McpGrant, McpSignInRecord, McpSignInState
from opencrab.ports.clock import Clock
from opencrab.ports.mcp import McpUnavailable

REFRESH_SECONDS = 20.0
"""The longest request for a new token."""

LEASE = timedelta(seconds=40)
_EARLY = timedelta(seconds=30)
_LEAST_SECONDS = 10.0
"""The shortest: a request that is cut off may have used up the refresh token all the same."""

_PAUSE_SECONDS = 0.1
_STORE_TRIES = 5


class TokenRenewal:
    """Renews the tokens of stored sign-ins.

    Args:
        stored: The sign-ins.
        clock: The present time.
        requests: Opens the requests on behalf of a server.
        pause: Waits for some seconds.
    """

    def __init__(
        self,
        stored: StoredSignIns,
        clock: Clock,
        requests: Callable[[McpServer], OAuthRequests],
        pause: Callable[[float], object] | None = None,
    ) -> None:
        self._stored = stored
        self._clock = clock
        self._requests = requests
        self._pause = pause or threading.Event().wait

    def usable_grant(self, server: McpServer, refused: str, deadline: float) -> McpGrant | None:
        """Return a grant whose access token is good and another than the one that was refused.

        None if only the owner can help. A renewal that has begun may end after the deadline.

        Raises McpUnavailable, and Refused for an address that is not used any more.
        """
        is_renewed = False
        while True:
            record, grant = self._stored.record(server)
            if grant is None or record.state is McpSignInState.NEEDED:
                return None
            left = self._left(grant, refused)
            still_good = grant if left > timedelta(0) else None
            if left > _EARLY or not grant.refresh_token:
                return still_good
            if is_renewed:
                # One that ends at once is good for this request.
                return None if grant.access_token == refused else grant
            if still_good is not None and self._is_leased(record):
                return still_good
            try:
                is_renewed = self._renew_or_wait(server, record, grant, deadline)
            except OpenCrabError:
                if still_good is None:
                    raise
                return still_good

    def _renew_or_wait(
        self, server: McpServer, record: McpSignInRecord, grant: McpGrant, deadline: float
    ) -> bool:
        """Renew a grant and store what came of it; False if another process does, or did."""
        if self._is_leased(record):
            self._wait(server, deadline)
            return False
        now = self._clock.now()
        if not self._stored.lease(server, record, record.replaced(leased_until=now + LEASE)):
            return False
        began = monotonic()
        until = max(began + _LEAST_SECONDS, min(deadline, began + REFRESH_SECONDS))
        try:
            renewed = refresh_mcp_grant(self._requests(server), grant, now, until)
        except McpGrantRefused:
            self._change(server, grant, _record_without_sign_in)
        except OpenCrabError:
            self._change(server, grant, lambda record: record.replaced(leased_until=None))
            raise
        else:
            self._store(server, grant, renewed)
        return True

    def _store(self, server: McpServer, used: McpGrant, renewed: McpGrant) -> None:
        """Store new tokens; the old refresh token may be used up, so they must not be lost."""
        for left in range(_STORE_TRIES, 0, -1):
            try:
                has_left = self._change(
                    server, used, lambda record: self.signed_in(server, record, renewed)
                )
            except Unavailable:
                if left == 1:
                    raise
                self._pause(_PAUSE_SECONDS)
            else:
                if has_left:
                    # Its owner signed out meanwhile, and these are tokens that nobody revoked.
                    until = monotonic() + REFRESH_SECONDS
                    revoke_mcp_grant(self._requests(server), renewed, until)
                return

    def _left(self, grant: McpGrant, refused: str) -> timedelta:
        """Return for how long a token is good; one that was refused is not."""
        if grant.expires_at is None or grant.access_token == refused:
            return timedelta(0)
        return grant.expires_at - self._clock.now()

    def is_another_good(
        self, record: McpSignInRecord, grant: McpGrant | None, refused: str
    ) -> bool:
        """Check whether a stored grant has a good token, another than the one that was refused."""
        if grant is None or record.state is McpSignInState.NEEDED:
            return False
        return self._left(grant, refused) > timedelta(0)

    def _is_leased(self, record: McpSignInRecord) -> bool:
        return record.leased_until is not None and record.leased_until > self._clock.now()

    def signed_in(
        self, server: McpServer, record: McpSignInRecord, grant: McpGrant
    ) -> McpSignInRecord:
        """Return the record with new tokens; it still waits for more scope if it did before."""
        waits = record.state is McpSignInState.MORE_SCOPE
        return record.replaced(
            state=McpSignInState.MORE_SCOPE if waits else McpSignInState.SIGNED_IN,
            issuer=grant.issuer,
            scope=grant.scope,
            ends_at=None if grant.refresh_token else grant.expires_at,
            leased_until=None,
            sealed=self._stored.seal(server, grant),
        )

    def _change(
        self,
        server: McpServer,
        used: McpGrant,
        change: Callable[[McpSignInRecord], McpSignInRecord],
    ) -> bool:
        """Change the record, unless a newer refresh token is stored than the one that was used.

        Returns whether none is stored any more.
        """
        has_left = False

        def unless_newer(record: McpSignInRecord, grant: McpGrant | None) -> McpSignInRecord | None:
            nonlocal has_left
            has_left = grant is None
            if grant is None or grant.refresh_token != used.refresh_token:
                return None
            return change(record)

        self._stored.change(server, unless_newer)
        return has_left

    def _wait(self, server: McpServer, deadline: float) -> None:
        if monotonic() >= deadline:
            raise McpUnavailable(
                f"another process is renewing the token of the MCP server {server.name}",
                cure="try again in a minute",
            )
        self._pause(_PAUSE_SECONDS)


def _record_without_sign_in(record: McpSignInRecord) -> McpSignInRecord:
    return record.replaced(state=McpSignInState.NEEDED, leased_until=None)
