"""Clearance: what a turn may read, which is the least of its asker's and its audience's.

The audience is everybody who may read the place where the answer goes. A turn has one clearance,
computed once; whatever puts something stored into a prompt or an answer asks it.
"""

from dataclasses import dataclass, field

from opencrab.domain.access.authority import Authority, reading_clearance_of_authority
from opencrab.domain.conversation.message import Audience, Line
from opencrab.domain.conversation.session import Hearing, Session
from opencrab.domain.identifier import stable_id
from opencrab.domain.memory.search_row import SearchClearance

READERS = "readers"
"""The key under which a private line's data keeps the label of the clearance it was made with."""

_USER, _WHOLE = 1, 2
_NOBODY_ELSE = frozenset({Authority.OWNER, Authority.SELF})


@dataclass(frozen=True, slots=True)
class Listeners:
    """Those who may read the place where a turn's answer goes, besides owners and agents.

    `people` are the ids of principals. With `others`, people read there who are not known one by
    one, as in a channel of a server; with `strangers` some of them are no known users. `freely`
    says that an owner wants everything told there nevertheless. `place` is the channel, "" for the
    session.
    """

    people: frozenset[str] = frozenset()
    others: bool = False
    strangers: bool = False
    freely: bool = False
    guild_id: str = ""
    place: str = ""

    @property
    def level(self) -> int:
        """The level of `reading_clearance_of_authority` that everybody among them has."""
        if self.strangers:
            return 0
        return _USER if self.others or self.people else _WHOLE

    @property
    def may_hear_everything(self) -> bool:
        """True if the agent's own turns may tell them everything."""
        return self.freely or self.level == _WHOLE

    def joined(self, there: "Listeners", session_id: str) -> "Listeners":
        """Return the audience of what these hear in a session, and others in a channel too.

        Whoever may hear everything limits nothing. A guild may hear what is its own only if both
        belong to it.
        """
        if there.may_hear_everything:
            return self
        if self.may_hear_everything:
            return there
        return Listeners(
            people=self.people | there.people,
            others=self.others or there.others,
            strangers=self.strangers or there.strangers,
            guild_id=self.guild_id if self.guild_id == there.guild_id else "",
            place=f"{there.place} {session_id}",
        )


@dataclass(frozen=True, slots=True)
class Clearance:
    """What a turn may read: all that its agent has, or only what its audience may hear too.

    `search` says which memories, lines and summaries. `label` marks what the turn makes, "" for
    what only owners and the agent itself may read; `readable` are the labels that it may read.
    """

    search: SearchClearance
    label: str = ""
    readable: frozenset[str] = field(default=frozenset())

    @property
    def whole(self) -> bool:
        """True if the turn may read everything that its agent has."""
        return self.search.whole

    def reads(self, label: str) -> bool:
        """Check whether the turn may read what was made with a label."""
        return self.whole or label in self.readable

    def reads_line(self, line: Line) -> bool:
        """Check whether a line of the session may be shown to the turn's model.

        What everybody hears may, unless the answer goes elsewhere or the session is the agent's
        own; what the agent found out may if it found it out for the same audience or a wider one.
        """
        if self.whole or (line.audience is not Audience.SELF and self.search.session_id):
            return True
        return self.reads(_label_of_line(line))


NOTHING_WITHHELD = Clearance(SearchClearance(whole=True))
"""The clearance of a background turn, whose answer goes to nobody."""


def memory_clearance_of_turn(
    authority: Authority, person_id: str, session: Session, listeners: Listeners
) -> Clearance:
    """Return the clearance of a turn for somebody whose answer these listeners may read."""
    asks = authority not in _NOBODY_ELSE
    people = listeners.people | ({person_id} if asks else set())
    level = reading_clearance_of_authority(authority)
    if listeners.freely:
        people, others = frozenset({person_id}), False
    else:
        level, others = min(level, listeners.level), listeners.others
    elsewhere = bool(listeners.place) or session.hearing is Hearing.PRIVATE
    guild_id = listeners.guild_id if listeners.place else session.guild_id or ""
    if level == _WHOLE:
        return Clearance(SearchClearance(whole=True, session_id=session.id, guild_id=guild_id))
    if elsewhere and not listeners.freely:
        label = f"place:{stable_id('place', listeners.place or session.id)}"
        return Clearance(SearchClearance(guild_id=guild_id), label, frozenset({label}))
    everybody, members = f"everybody:{session.id}", memory_label_of_session_members(session.id)
    here = SearchClearance(session_id=session.id, guild_id=guild_id)
    if level < _USER:
        return Clearance(here, everybody, frozenset({everybody}))
    if others or len(people) > 1:
        search = SearchClearance(session_id=session.id, guild_id=guild_id, is_member=True)
        return Clearance(search, members, frozenset({members, everybody}))
    (person,) = people
    search = SearchClearance(session_id=session.id, guild_id=guild_id, person_id=person)
    own = f"person:{stable_id('person', person)}"
    # Lines of earlier releases have no label; those of a user's turns were made for that user.
    readable = {own, members, everybody, f"user:{session.id}"}
    return Clearance(search, own, frozenset(readable))


def memory_label_of_session_members(session_id: str) -> str:
    """Return the label of what all known members of a session may read, and only they."""
    return f"members:{session_id}"


def _label_of_line(line: Line) -> str:
    """Return the label of a line; that of earlier releases follows from its authority."""
    label = (line.data or {}).get(READERS)
    if isinstance(label, str):
        return label
    level = reading_clearance_of_authority(line.authority)
    if level == _WHOLE:
        return ""
    return f"{'user' if level else 'everybody'}:{line.session_id}"
