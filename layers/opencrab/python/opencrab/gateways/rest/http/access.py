"""Access: who calls, from the Authorization header alone, and what each route asks of them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Depends, Request, Security
from fastapi.security import HTTPBearer
from fastapi.security.http import HTTPAuthorizationCredentials

from opencrab.domain.access.authority import Authority, Scope, Source, authority
from opencrab.domain.access.policy import AccessDecision, Area, Resource, Verb, decide_access
from opencrab.domain.access.principal import Principal
from opencrab.domain.errors import NotFound, Refused, Unauthenticated
from opencrab.domain.identifier import content_hash
from opencrab.domain.value import Language
from opencrab.engine.access.api_keys import principal_of_api_key
from opencrab.engine.access.visibility import require_access_to_agent
from opencrab.ports.access.keys import Keys
from opencrab.ports.agents import Agents

CALLER = "opencrab.caller"
"""Where the caller is kept in an ASGI scope."""

HEALTH = "/api/health"
OPEN_PATHS = {HEALTH, "/api/sign-in", "/approve"}
"""Paths that take no key: the health check, and those whose request carries another proof."""

Headers = Sequence[tuple[bytes, bytes]]
"""The headers of a request, their names in lower case."""

_CLIENT, _LANGUAGE = b"x-opencrab-client", b"accept-language"
_CURE = "send the header `Authorization: Bearer <key>`; make keys with `opencrab admin keys create`"

_bearer = HTTPBearer(
    auto_error=False,
    scheme_name="ApiKey",
    description="An API key with scope owner (everything), chat (the sessions of its person) or "
    "read (what its grants name).",
)


@dataclass(frozen=True)
class Caller:
    """An authenticated caller: its principal, the gateway by which it came, and what it sent."""

    principal: Principal
    source: Source
    key_hash: str = ""
    headers: Headers = field(default=(), repr=False, compare=False)

    @property
    def language(self) -> Language:
        """The language in which this caller reads errors."""
        return self.language_or(Language.EN)

    def language_or(self, default: Language) -> Language:
        """Return the language of Accept-Language, or another if it names none that is spoken."""
        from opencrab.gateways.language.accept_language import (  # noqa: PLC0415 - seldom needed
            language_of_http_request,
        )

        accepted = dict(self.headers).get(_LANGUAGE, b"")
        return language_of_http_request(accepted.decode("latin-1"), default)

    @property
    def authority(self) -> Authority:
        """The authority of turns that this caller starts."""
        return authority(self.source, self.principal.scope)

    @property
    def may_talk(self) -> bool:
        """True if the key may send messages."""
        return self.principal.scope is not Scope.READ

    @property
    def is_owner(self) -> bool:
        """True if the key has scope owner."""
        return self.principal.scope is Scope.OWNER


class Needs:
    """A dependency that refuses keys without a scope and returns the caller."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    async def __call__(
        self,
        request: Request,
        _shown_in_openapi: Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)],
    ) -> Caller:
        """Return the authenticated caller; raises Refused if its key lacks the scope."""
        caller: Caller = request.scope[CALLER]
        caller.principal.require(self._scope)
        return caller


class NeedsSight(Needs):
    """A dependency that returns the caller if the policy lets it read this area.

    In a route of one agent it is that agent's part; in a list the route leaves out what is hidden.
    """

    def __init__(self, area: Area) -> None:
        super().__init__(Scope.READ)
        self._area = area

    async def __call__(
        self,
        request: Request,
        _shown_in_openapi: Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)],
    ) -> Caller:
        """Return the authenticated caller; raises NotFound, Refused."""
        caller = await super().__call__(request, _shown_in_openapi)
        agent_id = request.path_params.get("agent_id")
        if agent_id is None:
            _require_area(caller.principal, self._area)
        else:
            require_access_to_agent(caller.principal, agent_id, self._area)
        return caller


Reader = Annotated[Caller, Depends(Needs(Scope.READ))]
ProfileReader = Annotated[Caller, Depends(NeedsSight(Area.PROFILE))]
AgentReader = Annotated[Caller, Depends(NeedsSight(Area.AGENT))]
MetricsReader = Annotated[Caller, Depends(NeedsSight(Area.METRICS))]
SetupReader = Annotated[Caller, Depends(NeedsSight(Area.INSTALLATION))]
Talker = Annotated[Caller, Depends(Needs(Scope.CHAT))]
Owner = Annotated[Caller, Depends(Needs(Scope.OWNER))]


def secret_of_http_request(headers: Headers) -> str:
    """Return the secret of a request; raises Unauthenticated unless there is exactly one."""
    found = [value for name, value in headers if name == b"authorization"]
    if not found:
        raise Unauthenticated("this route needs an API key", field="Authorization", cure=_CURE)
    scheme, _, secret = found[0].partition(b" ")
    secret = secret.strip()
    if len(found) > 1 or scheme.lower() != b"bearer" or not secret or b" " in secret:
        message = "the Authorization header must be `Bearer <key>`"
        raise Unauthenticated(message, field="Authorization", cure=_CURE)
    return secret.decode("latin-1")


def identify_http_caller(keys: Keys, headers: Headers, secret: str) -> Caller:
    """Return the caller who has a secret, by one read of the store; raises Unauthenticated."""
    from_terminal = any(name == _CLIENT and value == b"cli" for name, value in headers)
    source = Source.CLI if from_terminal else Source.REST
    return Caller(
        principal_of_api_key(keys, secret), source, content_hash(secret.encode()), headers
    )


def _require_area(who: Principal, area: Area) -> None:
    if decide_access(who, Verb.READ, Resource(area)) is not AccessDecision.ALLOWED:
        raise Refused(
            f"this key may not read {area.value}",
            cure="use an owner key, or a read key with a grant for it",
        )


def may_http_caller_see_details(agents: Agents, agent_id: str, caller: Caller) -> bool:
    """Check whether a caller may read an approval's details: those who may ever decide it.

    They are owners and delegates; a read key decides nothing, whoever its principal is.
    """
    if caller.is_owner:
        return True
    if caller.principal.scope is Scope.READ:
        return False
    try:
        delegates = agents.get(agent_id).agent.approvals.delegates
    except NotFound:
        return False
    return caller.principal.id in delegates
