"""Grants of an authorization server: register a client, exchange a code, refresh, revoke."""

from base64 import b64encode, urlsafe_b64encode
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from math import isfinite
from typing import Any
from urllib.parse import quote_plus, urlencode

from opencrab.adapters.mcp.exchange import Header
from opencrab.adapters.mcp.oauth_discovery import McpAuthorizationServer
from opencrab.adapters.mcp.oauth_requests import OAuthRequests
from opencrab.domain.errors import OpenCrabError, Refused
from opencrab.domain.mcp.server import McpServer
from opencrab.domain.mcp.sign_in import McpGrant, McpPendingGrant, plain_mcp_scope, split_mcp_url
from opencrab.ports.mcp import McpUnavailable

TOKEN_CHARACTERS = 8_192
_MOST_SECONDS = 366 * 86_400
_USUAL_SECONDS = 3_600
_OK, _CREATED, _BAD, _UNSIGNED, _FORBIDDEN = 200, 201, 400, 401, 403
_REFUSALS = frozenset(
    {"invalid_grant", "invalid_client", "unauthorized_client", "invalid_scope", "access_denied",
     "invalid_request", "unsupported_grant_type", "invalid_target",
     # Of well-known services, which send them with status 200.
     "bad_verification_code", "bad_refresh_token", "incorrect_client_credentials"}
)  # fmt: skip


class McpGrantRefused(Refused):
    """A code or a refresh token that its authorization server does not take."""


def register_mcp_client(
    requests: OAuthRequests,
    server: McpServer,
    found: McpAuthorizationServer,
    *,
    redirect_uri: str,
    scope: str,
    deadline: float,
) -> McpGrant:
    """Return a grant without tokens, for a client of the settings or one that registers itself."""
    grant = McpGrant(
        server=server.name,
        resource=found.resource,
        issuer=found.issuer,
        token_endpoint=found.token_endpoint,
        revocation_endpoint=found.revocation_endpoint,
        client_id=server.oauth.client_id,
        scope=scope,
    )
    if server.oauth.client_id:
        secret = server.oauth.client_secret
        method = _secret_method(found) if secret else "none"
        return grant.replaced(client_secret=secret, client_method=method)
    if not found.registration_endpoint:
        raise requests.refusal(
            "it registers no clients",
            cure=f"register an app there with the redirect address {redirect_uri}, write its id to "
            f"mcp.servers.{server.name}.oauth.client_id, and sign in with `--port` of that address",
        )
    return _registered_client(requests, grant, found, redirect_uri, deadline)


def _registered_client(
    requests: OAuthRequests,
    grant: McpGrant,
    found: McpAuthorizationServer,
    redirect_uri: str,
    deadline: float,
) -> McpGrant:
    """Register a client (RFC 7591); a public one where that is offered."""
    said = {
        "client_name": "OpenCrab",
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": found.methods[0] if found.methods else "none",
        "application_type": "native",
        **({"scope": grant.scope} if grant.scope else {}),
    }
    status, made = requests.post_json(found.registration_endpoint, said, deadline)
    client_id = _printable(made.get("client_id"))
    if status not in {_OK, _CREATED} or not client_id:
        raise requests.refusal(
            f"it did not register this client (status {status})",
            cure="register an app there, and write its id to "
            f"mcp.servers.{grant.server}.oauth.client_id",
        )
    secret, told = (
        _printable(made.get("client_secret")),
        str(made.get("token_endpoint_auth_method")),
    )
    method = told if told.startswith("client_secret_") else _secret_method(found)
    return grant.replaced(
        client_id=client_id, client_secret=secret, client_method=method if secret else "none"
    )


def mcp_authorization_url(endpoint: str, pending: McpPendingGrant) -> str:
    """Return the address at which the owner agrees, in the browser."""
    digest = sha256(pending.verifier.encode()).digest()
    asked = {
        "response_type": "code",
        "client_id": pending.grant.client_id,
        "redirect_uri": pending.redirect_uri,
        "state": pending.state,
        "code_challenge": urlsafe_b64encode(digest).decode().rstrip("="),
        "code_challenge_method": "S256",
        "resource": pending.grant.resource,
    }
    if pending.grant.scope:
        asked["scope"] = pending.grant.scope
    parts = split_mcp_url(endpoint)
    joint = "&" if parts is not None and parts.query else "?"
    return f"{endpoint.rstrip('?&')}{joint}{urlencode(asked)}"


def exchange_mcp_code(
    requests: OAuthRequests, pending: McpPendingGrant, code: str, now: datetime, deadline: float
) -> McpGrant:
    """Return the grant with the tokens for a code. Raises McpGrantRefused and McpUnavailable."""
    fields = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": pending.redirect_uri,
        "code_verifier": pending.verifier,
        "resource": pending.grant.resource,
    }
    return _with_tokens(requests, pending.grant, fields, now, deadline)


def refresh_mcp_grant(
    requests: OAuthRequests, grant: McpGrant, now: datetime, deadline: float
) -> McpGrant:
    """Return the grant with new tokens; a server that sends no new refresh token leaves the old.

    Raises McpGrantRefused and McpUnavailable.
    """
    fields = {
        "grant_type": "refresh_token",
        "refresh_token": grant.refresh_token,
        "resource": grant.resource,
    }
    return _with_tokens(requests, grant, fields, now, deadline)


def revoke_mcp_grant(requests: OAuthRequests, grant: McpGrant, deadline: float) -> bool:
    """Revoke the tokens where that is offered (RFC 7009), and return whether it was done."""
    tokens = {"refresh_token": grant.refresh_token, "access_token": grant.access_token}
    known = {hint: token for hint, token in tokens.items() if token}
    if not grant.revocation_endpoint or not known:
        return False
    done = True
    for hint, token in known.items():
        fields = {"token": token, "token_type_hint": hint}
        try:
            proof, headers = _proof(grant)
            status, _ = requests.post_form(
                grant.revocation_endpoint, fields | proof, headers, deadline
            )
        except OpenCrabError:
            return False
        done = done and status == _OK
    return done


def _with_tokens(
    requests: OAuthRequests,
    grant: McpGrant,
    fields: Mapping[str, str],
    now: datetime,
    deadline: float,
) -> McpGrant:
    requests.require_safe_address(grant.token_endpoint, "token endpoint")
    proof, headers = _proof(grant)
    status, found = requests.post_form(grant.token_endpoint, {**fields, **proof}, headers, deadline)
    error = str(found.get("error"))
    if status in {_OK, _BAD, _UNSIGNED, _FORBIDDEN} and error in _REFUSALS:
        raise McpGrantRefused(f"{requests.whom} refuses: {error}")
    access = _printable(found.get("access_token"))
    if status != _OK or not access or str(found.get("token_type", "")).lower() != "bearer":
        told = f"it answered with status {status}" if status != _OK else "it sent no bearer token"
        raise McpUnavailable(f"{requests.whom} is not usable: {told}", cure="try again later")
    refresh = _printable(found.get("refresh_token")) or grant.refresh_token
    # What nothing renews, and what ends at no time that was told, is good until it is refused.
    seconds = _seconds(found.get("expires_in"), _USUAL_SECONDS if refresh else _MOST_SECONDS)
    scope = found.get("scope")
    return grant.replaced(
        access_token=access,
        refresh_token=refresh,
        expires_at=now + timedelta(seconds=seconds),
        scope=plain_mcp_scope(scope) if isinstance(scope, str) else grant.scope,
    )


def _proof(grant: McpGrant) -> tuple[dict[str, str], Sequence[Header]]:
    """Return the fields and headers by which a client proves itself."""
    if grant.client_method == "client_secret_basic":
        pair = f"{quote_plus(grant.client_id)}:{quote_plus(grant.client_secret)}"
        return {}, ((b"authorization", b"Basic " + b64encode(pair.encode())),)
    secret = grant.client_secret if grant.client_method == "client_secret_post" else ""
    return {"client_id": grant.client_id, **({"client_secret": secret} if secret else {})}, ()


def _secret_method(found: McpAuthorizationServer) -> str:
    """Return how a client with a secret proves itself."""
    return next((each for each in found.methods if each != "none"), "client_secret_basic")


def _printable(value: Any) -> str:
    """Return a token or an id that fits into a request, "" for anything else."""
    fits = isinstance(value, str) and 0 < len(value) <= TOKEN_CHARACTERS
    return value if fits and value.isascii() and value.isprintable() and " " not in value else ""


def _seconds(value: Any, usual: float) -> float:
    """Return for how long a token is good, the usual time if that is not said."""
    try:
        seconds = float(value)
    except (TypeError, ValueError, OverflowError):
        return usual
    return min(max(seconds, 0.0), _MOST_SECONDS) if isfinite(seconds) else usual
