"""MCP servers from the settings; their client is loaded with the first server of the settings."""

import os
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from opencrab.domain.errors import Invalid

if TYPE_CHECKING:
    from opencrab.actions.registry import Group, Registry
    from opencrab.adapters.mcp.connections import McpConnection, McpConnections
    from opencrab.domain.mcp.server import McpServer
    from opencrab.ports.access.secrets import Secrets
    from opencrab.ports.documents import Documents
    from opencrab.ports.mcp import McpLink, McpServers, McpSignIns
    from opencrab.ports.skills import StandardSkills
    from opencrab.settings import Settings

_SECTION = "mcp.servers"
_HEADER = r"[A-Za-z0-9!#$%&'*+.^_`|~-]+:[^\x00-\x08\x0a-\x1f\x7f]*"
_AWS_SECONDS = 60.0
"""The longest call on AWS, where another worker takes a turn that gives no sign for longer."""


def configured_mcp_servers(configured: "Settings", *, is_local: bool) -> "tuple[McpServer, ...]":
    """Return the servers that are enabled, in order of their names.

    On AWS a server with a command has a `problem`, as one that lacks a variable has everywhere.
    Raises Invalid, naming the server, for settings that contradict each other.
    """
    found: Mapping[str, Any] = configured.table("mcp").get("servers", {})
    if not found:
        return ()
    absent = configured.absent_below(_SECTION)
    servers = [
        _server(name, values, absent.get(name, ""), is_local=is_local)
        for name, values in sorted(found.items())
        if values.get("enabled", True)
    ]
    return tuple(servers)


def _server(name: str, values: Mapping[str, Any], missing: str, *, is_local: bool) -> "McpServer":
    from pydantic import ValidationError

    from opencrab.domain.mcp.server import McpServer

    given = {key: value for key, value in values.items() if key != "enabled"}
    field = f"{_SECTION}.{name}"
    try:
        server = McpServer.model_validate({**given, "name": name})
    except ValidationError as error:
        if any(item["loc"][:1] == ("name",) for item in error.errors(include_input=False)):
            raise Invalid(
                f"{name!r} cannot be the name of an MCP server",
                field=field,
                cure="use a to z, digits and single _, 24 characters at most, as in my_files",
            ) from None
        raise Invalid(
            f"the settings of the MCP server {name} are not valid", field=field, cure="correct them"
        ) from None
    if not missing and bool(server.command) == bool(server.url or server.openapi or server.a2a):
        raise Invalid(
            f"the MCP server {name} needs a command or a url (or openapi, or a2a), and not both",
            field=field,
            cure=f'write {field}.command = "npx" or {field}.url = "https://…"',
        )
    # Secrets that come from files end with a line break.
    stripped = {key: value.strip() for key, value in server.headers.items()}
    oauth = server.oauth.replaced(client_secret=server.oauth.client_secret.strip())
    server = server.replaced(headers=stripped, oauth=oauth)
    problem, cure = _problem(server, missing, is_local=is_local)
    most = server.timeout_seconds if is_local else _AWS_SECONDS
    seconds = min(server.timeout_seconds, most)
    return server.replaced(problem=problem, cure=cure, timeout_seconds=seconds)


def _problem(server: "McpServer", missing: str, *, is_local: bool) -> tuple[str, str]:
    if missing:
        return f"the variable {missing} is not set", f"set {missing}, or store it as a secret"
    if server.command:
        why = "" if is_local else "on AWS no commands are run"
        return why, "give it a url, or run OpenCrab on your own computer"
    field = f"{_SECTION}.{server.name}"
    if (problem := _address_problem(server, field, is_local=is_local))[0]:
        return problem
    for name, value in server.headers.items():
        if not re.fullmatch(_HEADER, f"{name}:{value}"):
            why = f"the header {name} has characters that no header may have"
            return why, f"correct {field}.headers.{name}, or the variable that it names"
    for name in ("client_id", "client_secret"):
        if not re.fullmatch(r"[!-~]{0,8192}", getattr(server.oauth, name)):
            why = f"its oauth.{name} has other characters than visible ones of ASCII"
            return why, f"correct {field}.oauth.{name}, or the variable that it names"
    return "", ""


def _address_problem(server: "McpServer", field: str, *, is_local: bool) -> tuple[str, str]:
    """Return what is wrong with where a server is; raises Invalid for an address of no use."""
    from opencrab.adapters.address import BaseUrlRules

    is_file = bool(server.openapi) and "://" not in server.openapi
    if is_file and not is_local:
        return "on AWS its description must have an address", f"write {field}.openapi as https://…"
    if is_file and not server.url:
        return "the address of the API is missing", f"write {field}.url"
    described = "" if is_file else server.openapi
    addresses = {"url": server.url, "openapi": described, "a2a": server.a2a}
    addresses["oauth.issuer"] = server.oauth.issuer
    for key, url in addresses.items():
        if url:
            named = f"the MCP server {server.name}"
            rules = BaseUrlRules(named, f"{field}.{key}", names=(key, "headers"))
            rules.validate(url.partition("?")[0])
    return "", ""


def configured_mcp_link(
    configured: "Settings",
    load: "Callable[..., Settings] | None",
    secrets: "Secrets | None",
    facts: "Documents",
    *,
    is_local: bool,
) -> "McpLink":
    """Return the servers of the settings with their client; raises Invalid as the servers do.

    `facts` has the owner's sign-ins, encrypted with one of the `secrets`. Variables that the
    environment lacks are looked up there, and no others of the settings.
    """
    from opencrab.ports.mcp import McpLink

    if load is not None and secrets is not None:
        configured = settings_of_mcp_servers(configured, load, secrets)
    servers = configured_mcp_servers(configured, is_local=is_local)
    sign_ins = None
    if secrets is not None and any(each.may_sign_in for each in servers):
        sign_ins = mcp_sign_ins(facts, secrets, is_local=is_local)
    return McpLink(servers, mcp_connections(sign_ins, is_local=is_local), sign_ins)


def settings_of_mcp_servers(
    configured: "Settings", load: "Callable[..., Settings]", secrets: "Secrets"
) -> "Settings":
    """Return the settings with the stored secrets that servers name, and no others."""
    from opencrab.bootstrap.configuration.stored_secrets import load_settings_with_secrets

    return load_settings_with_secrets(configured, load, secrets, _SECTION)


def mcp_sign_ins(
    facts: "Documents", secrets: "Secrets", *, is_local: bool
) -> "Callable[[], McpSignIns]":
    """Return what opens the owner's sign-ins, at their first use."""
    return cache(partial(_sign_ins, facts, secrets, is_local=is_local))


def registry_with_mcp_tools(
    configured: "Settings",
    link: "McpServers",
    facts: "Documents",
    ours: "tuple[Iterable[Group], StandardSkills, frozenset[str]]",
    *,
    described: "Iterable[str]" = (),
) -> "Registry":
    """Return the registry of `ours` and of the trusted tools, which `facts` has.

    Ours are groups of actions, the standard skills, and names of actions that are absent.
    """
    from opencrab.actions.mcp import McpRegistry

    return McpRegistry(
        *ours,
        link=link,
        facts=facts,
        prompt_bytes=int(configured.get("mcp.prompt_bytes")),
        described=described,
    )


def mcp_connections(
    sign_ins: "Callable[[], McpSignIns] | None" = None, *, is_local: bool
) -> "McpConnections":
    """Return the client of MCP servers, which connects at the first use of each."""
    from opencrab.adapters.mcp import McpConnections

    challenged = set[str]()

    def connect(server: "McpServer") -> "McpConnection":
        if server.command and is_local:
            from opencrab.adapters.mcp.stdio import StdioConnection

            return StdioConnection(server, os.environ)  # noqa: TID251 - what programs need
        backend = _own_backend(is_local=is_local)
        if server.a2a:
            from opencrab.adapters.mcp.a2a import A2aConnection

            return A2aConnection(server, backend)
        if server.openapi:
            from opencrab.adapters.mcp.openapi import OpenApiConnection

            return OpenApiConnection(server, backend)
        from opencrab.adapters.mcp.http import HttpConnection

        return HttpConnection(server, backend, tokens=sign_ins, challenged=challenged)

    return McpConnections(connect)


def _sign_ins(facts: "Documents", secrets: "Secrets", *, is_local: bool) -> "McpSignIns":
    from opencrab.adapters.mcp.oauth_records import StoredSignIns
    from opencrab.adapters.mcp.oauth_requests import OAuthRequests, probe_mcp_server
    from opencrab.adapters.mcp.oauth_sign_ins import OAuthSignIns
    from opencrab.adapters.system_clock import SystemClock

    own, public = _own_backend(is_local=is_local), _public_backend()
    return OAuthSignIns(
        StoredSignIns(facts, secrets),
        SystemClock(),
        lambda server: OAuthRequests(server, own, public),
        lambda server, deadline: probe_mcp_server(server, own, deadline),
    )


def _own_backend(*, is_local: bool) -> Any:
    """Return what connects to hosts of the settings: locally any, as the owner wrote it there."""
    return _timed_backend() if is_local else _public_backend()


@cache
def _public_backend() -> Any:
    """Return what connects to public addresses only, as a name was looked up once."""
    from opencrab.adapters.web.connection import PinnedBackend, resolve_web_host

    return PinnedBackend(_timed_backend(), resolve_web_host)


@cache
def _timed_backend() -> Any:
    from opencrab.adapters.providers.transport.http_connections import TimedBackend

    return TimedBackend()
