"""Authority: who is behind a turn and what that allows, derived from source and sender only."""

from enum import StrEnum

from opencrab.domain.access.impact import Impact


class Source(StrEnum):
    """The gateway or trigger through which a message or turn arrived."""

    REST = "rest"
    WEBSOCKET = "websocket"
    DISCORD = "discord"
    CLI = "cli"
    WEBHOOK = "webhook"
    SCHEDULE = "schedule"
    HEARTBEAT = "heartbeat"
    PEER = "peer"
    WORLD = "world"


class Scope(StrEnum):
    """The permissions of an API key.

    `owner` is for everything, `chat` for the sessions of its person, `read` for what its grants
    name.
    """

    READ = "read"
    CHAT = "chat"
    OWNER = "owner"


class Authority(StrEnum):
    """The party on whose behalf a turn acts."""

    OWNER = "owner"
    USER = "user"
    PEER = "peer"
    SELF = "self"
    PUBLIC = "public"


CHAT_KINDS = ("email", "line", "slack", "telegram")
"""Chat services; each kind begins the principal ids of its people, such as `line-U0123…`."""

_LEVELS = {
    Authority.OWNER: 2,
    Authority.SELF: 2,
    Authority.USER: 1,
    Authority.PEER: 0,
    Authority.PUBLIC: 0,
}

_BY_SOURCE = {
    Source.WEBHOOK: Authority.PUBLIC,
    Source.DISCORD: Authority.PUBLIC,
    Source.WORLD: Authority.PUBLIC,
    Source.PEER: Authority.PEER,
    Source.SCHEDULE: Authority.SELF,
    Source.HEARTBEAT: Authority.SELF,
}

_IMPACTS = {
    Authority.OWNER: frozenset(Impact),
    Authority.USER: frozenset(Impact),
    Authority.SELF: frozenset(Impact),
    Authority.PEER: frozenset({Impact.SPEECH, Impact.READ}),
    Authority.PUBLIC: frozenset({Impact.SPEECH, Impact.READ}),
}


def authority(source: Source, scope: Scope | None) -> Authority:
    """Return a sender's authority: by source where it is fixed, else by the API key's scope.

    A source that does not verify its sender (Discord, webhook, world) gives `public`; without a key
    the result is never `owner`.
    """
    if source in _BY_SOURCE:
        return _BY_SOURCE[source]
    if scope is Scope.OWNER:
        return Authority.OWNER
    return Authority.USER if scope is Scope.CHAT else Authority.PUBLIC


def authority_permits(on_behalf_of: Authority, impact: Impact, *, for_peers: bool = False) -> bool:
    """Check whether a turn of this authority may use actions of this impact at all.

    `for_peers` is set for the few actions beyond speech and reading that a peer may cause.
    """
    if for_peers and on_behalf_of is Authority.PEER:
        return True
    return impact in _IMPACTS[on_behalf_of]


def reading_clearance_of_authority(on_behalf_of: Authority) -> int:
    """Return how much a turn may read: 2 all its agent's data, 1 as a user, 0 as an outsider.

    Information found at one level is not disclosed at a lower one (ADR 0033).
    """
    return _LEVELS[on_behalf_of]


def does_authority_taint_reader(on_behalf_of: Authority) -> bool:
    """Check whether words of a sender with this authority taint the turn that reads them."""
    return on_behalf_of is Authority.PUBLIC or on_behalf_of is Authority.PEER


def chat_principal_id(kind: str, user_id: str) -> str:
    """Return the principal id of a user of a chat service."""
    return f"{kind}-{user_id}"


def is_chat_principal(principal_id: str) -> bool:
    """Check whether a principal is a person of a chat service."""
    kind, dash, _ = principal_id.partition("-")
    return bool(dash) and kind in CHAT_KINDS
