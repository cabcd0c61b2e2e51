"""Observe: load the agent, the session and the recent journal that a turn needs, and its audience.

The audience are those who may read the place where the answer goes: they limit what the turn may
read (ADR 0033).
"""

from dataclasses import replace
from datetime import datetime, timedelta

from opencrab.domain.access.authority import Authority, Source, reading_clearance_of_authority
from opencrab.domain.access.session_access import SessionAccess
from opencrab.domain.agents.agent import Agent, Profile
from opencrab.domain.conversation.channel_binding import (
    PLACE,
    ChannelBinding,
    conversation_place_of_channel,
)
from opencrab.domain.conversation.message import Channel, Line
from opencrab.domain.conversation.session import Hearing, Session
from opencrab.domain.discord.community import KIND as DISCORD
from opencrab.domain.document import INSTALLATION_FACTS, Document, new_fact
from opencrab.domain.erasure.request import FORGOTTEN_PERSON
from opencrab.domain.errors import NotFound
from opencrab.domain.goals.goal import GOAL, Goal, goal_document_id, goal_id_of_label
from opencrab.domain.memory.clearance import Clearance, Listeners, memory_clearance_of_turn
from opencrab.domain.turn.record import TURN_ACTIONS
from opencrab.domain.turn.transcript import Transcript
from opencrab.domain.turn.turn import Turn
from opencrab.domain.value import Value
from opencrab.engine.access.owners import owners_among_principals
from opencrab.engine.consequence import TurnTrait
from opencrab.engine.runtime import Rules, Runtime
from opencrab.engine.turn.prompt_cache import KnownWorld, PromptInputs, Surroundings
from opencrab.engine.turn.work import TurnWork
from opencrab.ports.turn.action import Action
from opencrab.ports.turn.journal import Journal

TURN_READERS = "turn_readers"
"""The kind of documents that label what a turn has read; the id is the turn's.

The release before does not know them, and still reads the turn.
"""

_KEPT = timedelta(days=35)
"""As long as ended turns; one that waits longer counts as without a label."""

_OPEN = {Hearing.GUILD, Hearing.PUBLIC}

_PAGE = 64
_PAGES_AFTER_TRIGGER = 4
_PAGES = 8


class TurnReaders(Value):
    """The label of what a turn has read so far; see `domain/memory/clearance`."""

    readers: str


def load_turn_work(runtime: Runtime, turn: Turn, transcript: Transcript) -> TurnWork:
    """Load everything that a turn needs, in three reads: agent, session, recent lines.

    One that carries out a goal reads that too. One without a person's message reads surroundings
    and goal in one more read, unread events in another, and perhaps its agent's world. Listeners
    come with the session, owners if another one opened it; a turn that goes on reads its label.
    """
    profile = runtime.home.agents.get(turn.agent_id)
    agent = profile.agent
    session, access = runtime.home.sessions.get_with_access(turn.session_id)
    clearance = turn_audience_clearance(runtime, turn, agent, session, access)
    if turn.task is not None and turn.authority is Authority.SELF and not clearance.whole:
        # What it set itself to do is private, so such a turn speaks to itself (ADR 0032).
        turn = turn.replaced(channel=None)
        clearance = turn_audience_clearance(runtime, turn, agent, session, access)
    read_before = turn_transcript_label(runtime, turn, session, transcript)
    narrowed = transcript.first_call is not None and not clearance.reads(read_before)
    if narrowed:
        # What it still does was made of what it read, so it has the readers of that.
        clearance = replace(clearance, label=read_before)
    history = _recent_lines_for_turn(runtime.home.journal, runtime.rules, turn, clearance)
    last = history[-1].data if history else None
    around = _surroundings(runtime, turn, profile, clearance)
    goal = None if around is None else around.served
    if around is None and turn.task is not None:
        goal_id = goal_document_id(goal_id_of_label(turn.task))
        goal = runtime.home.facts.get(turn.agent_id, GOAL, goal_id)
    read = around is not None and around.is_untrusted
    read = read or any(line.taints_reader(turn.agent_id) for line in history)
    return TurnWork(
        runtime=runtime,
        turn=turn.replaced(taint=turn.taint or read),
        transcript=transcript,
        profile=profile,
        session=session,
        clearance=clearance,
        history=history,
        next_n=turn.sequence,
        limits=runtime.rules.limits,
        trigger=next((x for x in history[::-1] if x.sequence == turn.trigger_line), None),
        readers=read_before,
        narrowed=narrowed,
        served=None if goal is None else goal.read(Goal),
        prompt=PromptInputs(
            around=around,
            world=None if agent.world is None else _known_world(runtime, turn, agent, clearance),
            turn_actions=_turn_actions(runtime, turn) if last and TURN_ACTIONS in last else (),
            seen_events=() if around is None else tuple(event.id for event in around.events),
        ),
    )


def _surroundings(
    runtime: Runtime, turn: Turn, profile: Profile, clearance: Clearance
) -> Surroundings | None:
    """Read the surroundings of an own turn; of others nothing of it is read, or loaded."""
    if not turn.is_autonomous:
        return None
    from opencrab.engine.turn.prompt.surroundings import read_prompt_surroundings  # noqa: PLC0415

    return read_prompt_surroundings(runtime.home, turn, profile, clearance)


def _turn_actions(runtime: Runtime, turn: Turn) -> tuple[Action, ...]:
    """Return the actions that only this turn has, by name; few turns have any."""
    found = runtime.consequences[frozenset({TurnTrait.OUTSIDE})].turn_actions
    actions = (action for turn_actions in found for action in turn_actions(runtime, turn))
    return tuple(sorted(actions, key=lambda action: action.name))


def _known_world(
    runtime: Runtime, turn: Turn, agent: Agent, clearance: Clearance
) -> KnownWorld | None:
    """Read the world of a bound agent; few agents have one, so its text is loaded only then."""
    from opencrab.engine.turn.prompt.world_text import read_prompt_world  # noqa: PLC0415

    return read_prompt_world(runtime.home.facts, turn, agent, clearance)


def _recent_lines_for_turn(
    journal: Journal, rules: Rules, turn: Turn, clearance: Clearance
) -> tuple[Line, ...]:
    """Return the newest lines that the turn may show up to its trigger, oldest first.

    Lines are grouped: a message and all answers to it. Groups that opened after the trigger belong
    to later turns and are left out. The trigger is always included.
    """
    wanted = rules.history_lines
    size = max(wanted, _PAGE)
    lines: list[Line] = []
    before: int | None = None
    for page in range(_PAGES):
        if page == _PAGES_AFTER_TRIGGER and before is not None:
            before = min(before, turn.trigger_line + 1)
        rows = journal.lines(turn.session_id, before=before, limit=size, newest_first=True)
        found = [row for row in rows if _belongs(row, turn)]
        # Most turns may read all: then nobody asks for each line.
        lines.extend(found if clearance.whole else filter(clearance.reads_line, found))
        if len(rows) < size or len(lines) >= wanted:
            break
        before = rows[-1].sequence
    lines = lines[:wanted]
    if turn.trigger_line and not any(line.sequence == turn.trigger_line for line in lines):
        lines.extend(journal.lines(turn.session_id, after=turn.trigger_line - 1, limit=1))
    return tuple(sorted(lines, key=lambda line: (line.group_line or line.sequence, line.sequence)))


def _belongs(line: Line, turn: Turn) -> bool:
    """Check whether a line is history of this turn: visible, opened in time, from another turn."""
    opened = line.group_line or line.sequence
    if turn.trigger_line and opened > turn.trigger_line:
        return False
    return line.turn_id != turn.id and line.is_visible_to(turn.agent_id)


def turn_audience_clearance(
    runtime: Runtime, turn: Turn, agent: Agent, session: Session, access: SessionAccess
) -> Clearance:
    """Return what a turn may read: the least of what its asker and its audience may (ADR 0033).

    What a turn of the agent itself says to a channel, as a heartbeat does, stands in its session
    too: both have its audience. So do answers of a webhook in a channel of Discord, whose readers
    did not send anything. Every other turn has that of its session.
    """
    listeners = _session_listeners(runtime, turn, agent, session, access)
    by_itself = turn.authority is Authority.SELF or session.created_by == agent.id
    if turn.channel is not None and by_itself:
        there = _channel_listeners(runtime, turn, agent, turn.channel, held_in=session.id)
        listeners = listeners if there is None else listeners.joined(there, session.id)
    elif turn.channel is not None and _is_read_by_others(turn, turn.channel):
        there = _channel_listeners(runtime, turn, agent, turn.channel, held_in=session.id)
        if there is not None:
            # They hear what this session says; it is not in their place that it is said.
            listeners = replace(listeners.joined(there, session.id), place="")
    return memory_clearance_of_turn(turn.authority, turn.principal_id, session, listeners)


def _is_read_by_others(turn: Turn, channel: Channel) -> bool:
    """Check whether a webhook's turn, which may read more than the public, answers on Discord."""
    is_from_webhook = turn.source is Source.WEBHOOK and channel.kind == DISCORD
    return is_from_webhook and reading_clearance_of_authority(turn.authority) > 0


def may_turn_channel_hear_everything(
    runtime: Runtime, turn: Turn, agent: Agent, channel: Channel
) -> bool:
    """Check whether those who read a channel may know all that the agent itself knows."""
    listeners = _channel_listeners(runtime, turn, agent, channel)
    return listeners is None or listeners.may_hear_everything


def _session_listeners(
    runtime: Runtime, turn: Turn, agent: Agent, session: Session, access: SessionAccess
) -> Listeners:
    """Return who may read a session: its creator, its members, and who else its place admits."""
    if access.speaks_freely:
        return Listeners(freely=True, guild_id=session.guild_id or "")
    guild_id = session.guild_id or ""
    others = bool(guild_id) or access.others_read
    strangers = session.hearing in _OPEN
    nobody = {*session.all_time_agent_ids, FORGOTTEN_PERSON}
    people = frozenset({session.created_by, *access.members}) - nobody
    if turn.authority is Authority.OWNER:
        people -= {turn.principal_id}
    # Without anybody in question nothing more is read: most sessions have one person.
    unknown = people - ({turn.principal_id} if turn.authority is Authority.USER else set())
    if unknown and reading_clearance_of_authority(turn.authority) and not (others or strangers):
        people = people - owners_among_principals(runtime, unknown, agent.id)
    return Listeners(people=people, others=others, strangers=strangers, guild_id=guild_id)


def _channel_listeners(
    runtime: Runtime, turn: Turn, agent: Agent, channel: Channel, held_in: str = ""
) -> Listeners | None:
    """Return who may read a channel: those of the session that is held there.

    None if that is the session `held_in`. A channel that no session is bound to may be read by
    strangers.
    """
    place = conversation_place_of_channel(channel)
    bound = runtime.home.facts.get(INSTALLATION_FACTS, PLACE, place)
    try:
        if bound is not None:
            session_id = bound.read(ChannelBinding).session_id
            if session_id == held_in:
                return None
            session, access = runtime.home.sessions.get_with_access(session_id)
            found = _session_listeners(runtime, turn, agent, session, access)
            return Listeners(
                people=found.people,
                others=found.others,
                strangers=found.strangers,
                freely=found.freely,
                guild_id=found.guild_id,
                place=place,
            )
    except NotFound:
        pass
    return Listeners(others=True, strangers=True, place=place)


def turn_transcript_label(
    runtime: Runtime, turn: Turn, session: Session, transcript: Transcript
) -> str:
    """Return the label of what a turn has read: without a stored one, all that its asker may.

    Only turns with a narrower one store it, so nothing is read before the first model call.
    """
    if transcript.first_call is not None:
        stored = runtime.home.facts.get(turn.agent_id, TURN_READERS, turn.id)
        if stored is not None:
            return stored.read(TurnReaders).readers
    alone = Listeners(guild_id=session.guild_id or "")
    return memory_clearance_of_turn(turn.authority, turn.principal_id, session, alone).label


def label_of_turn_reading(turn: Turn, clearance: Clearance, now: datetime) -> Document:
    """Return the document that labels what a turn reads from now on."""
    label = TurnReaders(readers=clearance.label)
    fact = new_fact(turn.agent_id, TURN_READERS, turn.id, label, expires_at=now + _KEPT)
    return fact.replaced(version=0)
