"""Access: who calls, from the Authorization header alone, and what each route asks of them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request, Security
from fastapi.security import HTTPBearer
from fastapi.security.http import HTTPAuthorizationCredentials

from opencrab.domain.access.authority import Authority, Scope, Source, authority
from opencrab.domain.access.principal import Principal
from opencrab.domain.errors import NotFound, Unauthenticated
from opencrab.engine.access.api_keys import principal_of_api_key
from opencrab.ports.access.keys import Keys
from opencrab.ports.agents import Agents

CALLER = "opencrab.caller"
"""Where the caller is kept in an ASGI scope."""

_CLIENT = b"x-opencrab-client"
_CURE = "send the header `Authorization: Bearer <key>`; make keys with `opencrab keys create`"

_bearer = HTTPBearer(
    auto_error=False,
    scheme_name="ApiKey",
    description="An API key with scope read, chat or owner; each includes the ones before it.",
)


@dataclass(frozen=True)
class Caller:
    """Who calls, through which door, and what that makes them."""

    principal: Principal
    source: Source

    @property
    def authority(self) -> Authority:
        """On whose behalf a turn acts that this caller starts."""
        return authority(self.source, self.principal.scope)

    @property
    def is_owner(self) -> bool:
        """Whether the key has scope owner."""
        return self.principal.scope is Scope.OWNER


class Needs:
    """A dependency that refuses keys without a scope and answers who calls."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    async def __call__(
        self,
        request: Request,
        _shown_in_openapi: Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)],
    ) -> Caller:
        """The caller that the door found; raises Refused."""
        caller: Caller = request.scope[CALLER]
        caller.principal.require(self._scope)
        return caller


Reader = Annotated[Caller, Depends(Needs(Scope.READ))]
Talker = Annotated[Caller, Depends(Needs(Scope.CHAT))]
Owner = Annotated[Caller, Depends(Needs(Scope.OWNER))]


def secret_in(headers: Iterable[tuple[bytes, bytes]]) -> str:
    """The secret that a request brings; raises Unauthenticated unless there is exactly one."""
    found = [value for name, value in headers if name == b"authorization"]
    if not found:
        raise Unauthenticated("this needs an API key", field="Authorization", cure=_CURE)
    scheme, _, secret = found[0].partition(b" ")
    secret = secret.strip()
    if len(found) > 1 or scheme.lower() != b"bearer" or not secret or b" " in secret:
        message = "the Authorization header must be `Bearer <key>`"
        raise Unauthenticated(message, field="Authorization", cure=_CURE)
    return secret.decode("latin-1")


def identify_caller(keys: Keys, headers: Iterable[tuple[bytes, bytes]], secret: str) -> Caller:
    """The caller behind a secret; one read of the store. Raises Unauthenticated."""
    from_terminal = any(name == _CLIENT and value == b"cli" for name, value in headers)
    source = Source.CLI if from_terminal else Source.REST
    return Caller(principal_of_api_key(keys, secret), source)


def caller_sees_approvals(agents: Agents, agent_id: str, caller: Caller) -> bool:
    """Whether a caller may read what an agent's calls are about: who may decide on them."""
    if caller.is_owner:
        return True
    try:
        delegates = agents.get(agent_id).agent.approvals.delegates
    except NotFound:
        return False
    return caller.principal.id in delegates


def named_session_only(action: str, impact: str) -> str:
    """What those are told of a question who may not decide it."""
    return f"{action} ({impact})"
