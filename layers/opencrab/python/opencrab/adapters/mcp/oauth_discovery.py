"""Where to sign in at an MCP server: its metadata (RFC 9728), and its authorization server's.

The authorization server's come by RFC 8414 or OpenID Connect Discovery.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import Field

from opencrab.adapters.mcp.oauth_requests import OAuthRequests
from opencrab.domain.mcp.server import McpServer
from opencrab.domain.mcp.sign_in import (
    McpChallenge,
    mcp_resource_covers,
    origin_of_mcp_url,
    plain_mcp_scope,
    split_mcp_url,
)
from opencrab.domain.value import Value

_OFFLINE = "offline_access"
_METHODS = ("none", "client_secret_post", "client_secret_basic")


class McpAuthorizationServer(Value):
    """An authorization server as it describes itself, for one resource.

    `methods` are those of ours by which a client may prove itself, the simplest first.
    """

    resource: str
    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    registration_endpoint: str = ""
    revocation_endpoint: str = ""
    methods: tuple[str, ...] = ()
    sends_issuer: bool = False
    scope: str = Field(default="", description="what to ask for, if nobody says otherwise")
    has_offline_scope: bool = False


def discover_mcp_authorization_server(
    requests: OAuthRequests, server: McpServer, challenge: McpChallenge, deadline: float
) -> McpAuthorizationServer:
    """Return where to sign in at a server. Raises Refused and McpUnavailable.

    A server without metadata of its own is taken for its own authorization server, as the revision
    of 2025-03-26 had it.
    """
    described = _described_resource(requests, server, challenge, deadline)
    resource, issuers = server.url.partition("?")[0], list[str]()
    if described is not None:
        resource, issuers = _checked_resource(requests, server, described)
    issuer = server.oauth.issuer or (issuers[0] if issuers else _origin(server.url))
    if issuers and issuer.rstrip("/") not in {each.rstrip("/") for each in issuers}:
        raise requests.refusal(
            "the server does not name the one of the settings",
            cure=f"correct mcp.servers.{server.name}.oauth.issuer",
        )
    requests.require_safe_address(issuer, "issuer")
    found = _metadata(requests, issuer, deadline)
    if found is None:
        why = "nothing describes where to sign in"
        cure = "it may need no sign-in: `opencrab mcp test` says what it answers"
        raise requests.refusal(why, cure=cure)
    offered = _scope((described or {}).get("scopes_supported"))
    return _authorization_server(requests, resource, issuer, found, offered)


def _described_resource(
    requests: OAuthRequests, server: McpServer, challenge: McpChallenge, deadline: float
) -> Mapping[str, Any] | None:
    """Return the server's own metadata, from where it said, or else from the usual places."""
    said = challenge.resource_metadata
    if said and origin_of_mcp_url(said) != origin_of_mcp_url(server.url):
        raise requests.refusal("the server is described on another host")
    parts = split_mcp_url(server.url)
    path = "" if parts is None else parts.path.rstrip("/")
    usual = f"{_origin(server.url)}/.well-known/oauth-protected-resource"
    for url in dict.fromkeys(filter(None, (said, f"{usual}{path}", usual))):
        requests.require_safe_address(url, "description of the server")
        found = requests.get_json(url, deadline)
        if found is not None:
            return found
    return None


def _checked_resource(
    requests: OAuthRequests, server: McpServer, described: Mapping[str, Any]
) -> tuple[str, list[str]]:
    """Return the resource and its issuers; a token for another resource would be sent here."""
    resource, listed = described.get("resource"), described.get("authorization_servers")
    if not isinstance(resource, str) or not mcp_resource_covers(resource, server.url):
        raise requests.refusal("the description of the server is that of another address")
    issuers = [each for each in listed if isinstance(each, str)] if isinstance(listed, list) else []
    return resource, issuers[:10]


def _metadata(requests: OAuthRequests, issuer: str, deadline: float) -> Mapping[str, Any] | None:
    for url in _places(issuer):
        found = requests.get_json(url, deadline)
        if found is not None:
            return found
    return None


def _places(issuer: str) -> Iterator[str]:
    """Yield where an issuer may be described: by RFC 8414, and by OpenID as it is written there."""
    origin = _origin(issuer)
    parts = split_mcp_url(issuer)
    path = "" if parts is None else parts.path.rstrip("/")
    yield f"{origin}/.well-known/oauth-authorization-server{path}"
    yield f"{origin}/.well-known/openid-configuration{path}"
    if path:
        yield f"{origin}{path}/.well-known/openid-configuration"


def _authorization_server(
    requests: OAuthRequests, resource: str, issuer: str, found: Mapping[str, Any], offered: str
) -> McpAuthorizationServer:
    said = found.get("issuer")
    # A bare origin is often written with the slash that it stands for.
    if not isinstance(said, str) or said.removesuffix("/") != issuer.removesuffix("/"):
        raise requests.refusal("it describes itself as another issuer")
    challenges = found.get("code_challenge_methods_supported")
    if not isinstance(challenges, list) or "S256" not in challenges:
        raise requests.refusal("it does not offer PKCE with S256")

    def endpoint(name: str, *, needed: bool = False) -> str:
        url = found.get(f"{name}_endpoint")
        if url is None and not needed:
            return ""
        return requests.require_safe_address(str(url), f"{name} endpoint")

    return McpAuthorizationServer(
        resource=resource,
        issuer=said,
        authorization_endpoint=endpoint("authorization", needed=True),
        token_endpoint=endpoint("token", needed=True),
        registration_endpoint=endpoint("registration"),
        revocation_endpoint=endpoint("revocation"),
        methods=_methods(found.get("token_endpoint_auth_methods_supported")),
        sends_issuer=found.get("authorization_response_iss_parameter_supported") is True,
        scope=offered,
        has_offline_scope=_OFFLINE in _scope(found.get("scopes_supported")).split(),
    )


def _methods(listed: Any) -> tuple[str, ...]:
    """Return our ways to prove a client; a server that says nothing takes `client_secret_basic`."""
    offered = listed if isinstance(listed, list) else ["client_secret_basic"]
    return tuple(each for each in _METHODS if each in offered)


def _scope(listed: Any) -> str:
    scopes = listed if isinstance(listed, list) else ()
    return plain_mcp_scope(*(each for each in scopes if isinstance(each, str)))


def _origin(url: str) -> str:
    parts = split_mcp_url(url)
    return "" if parts is None else f"{parts.scheme}://{parts.netloc}"


def requested_mcp_scope(server: McpServer, found: McpAuthorizationServer, *known: str) -> str:
    """Return the scope to ask for: that of the settings; else what was wanted, or is offered."""
    if server.oauth.scope:
        return plain_mcp_scope(server.oauth.scope)
    scope = plain_mcp_scope(*known) or found.scope
    if scope and found.has_offline_scope:
        return plain_mcp_scope(scope, _OFFLINE)
    return scope
