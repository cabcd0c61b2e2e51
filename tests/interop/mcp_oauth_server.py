"""An MCP server with a sign-in, made with the official Python SDK in an environment of its own.

Its arguments are a port and the seconds for which an access token is good. The SDK checks clients,
redirect addresses, PKCE, codes and resources; what is here stores them, and rotates refresh tokens.
`/refused` makes it forget all tokens.
"""

import secrets
import sys
from datetime import UTC, datetime
from typing import Any

import uvicorn
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions, RevocationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from starlette.requests import Request
from starlette.responses import PlainTextResponse

PORT, SECONDS = int(sys.argv[1]), int(sys.argv[2])
ROOT = f"http://127.0.0.1:{PORT}"


def now() -> float:
    return datetime.now(UTC).timestamp()  # noqa: TID251 - of another program


class Provider:
    """An authorization server whose only user agrees at once."""

    def __init__(self) -> None:
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.access: dict[str, AccessToken] = {}
        self.refresh: dict[str, RefreshToken] = {}

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        assert client_info.client_id
        self.clients[client_info.client_id] = client_info

    async def authorize(
        self, client: OAuthClientInformationFull, params: AuthorizationParams
    ) -> str:
        code = secrets.token_urlsafe(32)
        self.codes[code] = AuthorizationCode(
            code=code,
            scopes=params.scopes or ["tides"],
            expires_at=now() + 60,
            client_id=client.client_id or "",
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        return str(construct_redirect_uri(str(params.redirect_uri), code=code, state=params.state))

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        found = self.codes.pop(authorization_code.code)
        return self._tokens(found.client_id, found.scopes, found.resource)

    async def load_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: str
    ) -> RefreshToken | None:
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        found = self.refresh.pop(refresh_token.token)
        return self._tokens(found.client_id, found.scopes, found.resource)

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.access.get(token)

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        self.access.pop(token.token, None)
        self.refresh.pop(token.token, None)

    def _tokens(self, client_id: str, scopes: list[str], resource: str | None) -> OAuthToken:
        access, refresh = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        bound: dict[str, Any] = {"client_id": client_id, "scopes": scopes, "resource": resource}
        self.access[access] = AccessToken(token=access, expires_at=int(now()) + SECONDS, **bound)
        self.refresh[refresh] = RefreshToken(token=refresh, **bound)
        return OAuthToken(
            access_token=access,
            refresh_token=refresh,
            expires_in=SECONDS,
            scope=" ".join(scopes),
        )


provider = Provider()
server = MCPServer(
    "tides",
    auth_server_provider=provider,
    auth=AuthSettings(
        issuer_url=ROOT,
        resource_server_url=f"{ROOT}/mcp",
        required_scopes=["tides"],
        validate_token_resource=True,
        client_registration_options=ClientRegistrationOptions(
            enabled=True, valid_scopes=["tides"], default_scopes=["tides"]
        ),
        revocation_options=RevocationOptions(enabled=True),
    ),
)


@server.tool()  # type: ignore[untyped-decorator]  # not installed here
def tide(place: str) -> str:
    """Tell the tide of a place."""
    return f"満潮 {place}"


@server.custom_route("/refused", methods=["POST"])  # type: ignore[untyped-decorator]
async def refused(request: Request) -> PlainTextResponse:
    """Forget every token."""
    provider.access.clear()
    provider.refresh.clear()
    return PlainTextResponse("done")


uvicorn.run(server.streamable_http_app(), port=PORT, log_level="error")
