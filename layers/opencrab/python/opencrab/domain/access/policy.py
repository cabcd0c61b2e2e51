"""Policy: what a principal may see and do; REST, WebSocket, event streams and search ask here.

The functions of `engine/access/visibility` build the resources from what is stored.
"""

from dataclasses import dataclass
from enum import StrEnum

from opencrab.domain.access.authority import Scope
from opencrab.domain.access.principal import ALL, LEGACY, METRICS, Principal


class Verb(StrEnum):
    """What somebody wants to do: read, take part (say something, give work), or change."""

    READ = "read"
    TAKE_PART = "take_part"
    CHANGE = "change"


class Area(StrEnum):
    """The kind of a resource.

    `profile` is what everybody in a conversation may know of an agent, `agent` the rest of what an
    agent has, `file` a file of its workspace, `session` a session and what happened in it: lines,
    turns, tasks, approvals. `metrics` are counts and costs, `installation` is how OpenCrab is set
    up.
    """

    PROFILE = "profile"
    AGENT = "agent"
    FILE = "file"
    SESSION = "session"
    METRICS = "metrics"
    INSTALLATION = "installation"


class AccessDecision(StrEnum):
    """The answer: allowed, refused (403), or hidden, as if there were no such thing (404)."""

    ALLOWED = "allowed"
    REFUSED = "refused"
    HIDDEN = "hidden"


@dataclass(frozen=True, slots=True)
class Resource:
    """What a request is about.

    `agent_ids` are the agents that it belongs to, `session_id` where it happened. `people` are the
    principals who take part in it, `keepers` those of them who may change it. `published` says that
    the owner shows it to everybody with a chat key.
    """

    area: Area
    agent_ids: frozenset[str] = frozenset()
    session_id: str = ""
    people: frozenset[str] = frozenset()
    keepers: frozenset[str] = frozenset()
    published: bool = False


_OPEN_TO_CHAT = frozenset({Area.PROFILE, Area.INSTALLATION})
_OPEN_TO_METRICS = frozenset({Area.PROFILE, Area.INSTALLATION, Area.METRICS})
_NO_SECRET = frozenset({Area.METRICS, Area.INSTALLATION})
"""Areas that exist in every installation, so that refusing tells nothing."""


def decide_access(who: Principal, verb: Verb, what: Resource) -> AccessDecision:
    """Decide whether a principal may do something with a resource."""
    if who.scope is Scope.OWNER:
        return AccessDecision.ALLOWED
    if not _sees(who, what):
        # Who knows the agent may be told that the rest of it is not for them.
        agent = Resource(Area.PROFILE, agent_ids=what.agent_ids)
        known = what.area in _NO_SECRET or (what.area is Area.AGENT and _sees(who, agent))
        return AccessDecision.REFUSED if known else AccessDecision.HIDDEN
    takes_part = verb is Verb.TAKE_PART and who.scope is Scope.CHAT
    if verb is Verb.READ or takes_part or (who.scope is Scope.CHAT and who.id in what.keepers):
        return AccessDecision.ALLOWED
    return AccessDecision.REFUSED


def _sees(who: Principal, what: Resource) -> bool:
    if who.scope is Scope.CHAT:
        return what.area in _OPEN_TO_CHAT or what.published or who.id in what.people
    granted = frozenset(who.grants)
    if ALL in granted or (LEGACY in granted and what.area is not Area.METRICS):
        return True
    if METRICS in granted and what.area in _OPEN_TO_METRICS:
        return True
    return f"sessions:{what.session_id}" in granted or any(
        f"agent:{agent_id}" in granted for agent_id in what.agent_ids
    )
