"""Outcome of an ended discussion: asks one agent to write it, then those to whom it gives tasks.

Each step may be repeated: the same due item, or a later one, finds what is left to do.
"""

from collections.abc import Callable
from contextlib import suppress
from functools import partial

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.agents.agent import Profile
from opencrab.domain.conversation.message import Channel, Message, TextPart
from opencrab.domain.conversation.session import Ending, Hearing, Session
from opencrab.domain.discussion.outcome import (
    DISCUSSION_OUTCOME,
    OUTCOME_REQUEST,
    DiscussionOutcome,
    OutcomeState,
    TaskAnswer,
    discussion_outcome_writers,
    discussion_task_request_id,
)
from opencrab.domain.document import INSTALLATION_FACTS, Document, new_fact
from opencrab.domain.errors import Changed, Conflict, NotFound, Refused, Unavailable
from opencrab.domain.identifier import content_hash, new_ulid
from opencrab.domain.memory.memory import MEMORY, MEMORY_CHARACTERS, Memory, Provenance
from opencrab.domain.peers.talk import peer_discussion_budget_scopes
from opencrab.domain.turn.turn import Trigger
from opencrab.domain.value import Language
from opencrab.engine.discussion.after_turn import record_discussion_results
from opencrab.engine.discussion.promises import settle_discussion_promises
from opencrab.engine.goals.queue import OPENCRAB
from opencrab.engine.memory.records import count_memory_added
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.admission import admit_turns_of_message
from opencrab.ports.texts import Texts
from opencrab.ports.turn.action import one_line

NOT_WRITTEN = frozenset({Ending.BUDGET, Ending.BY_HAND})
"""Endings after which nobody is asked for an outcome: the money is spent, or a person said stop."""

_TEXTS = Texts(__file__)
_TRIES = 5
_THEME = 200
_CATEGORY = "discussion"
_CONFIDENCE = 0.5


def conclude_discussion(runtime: Runtime, session: Session, channel: Channel | None = None) -> None:
    """Do what is left to do for an ended discussion; safe to repeat.

    First its results count for trust and one agent is asked for the outcome; once that is written,
    the participants remember it and the agents with tasks are asked; then their promises are
    settled.
    """
    stored = stored_discussion_outcome(runtime, session.id)
    if stored is None:
        record_discussion_results(runtime, session)
        _ask_for_outcome(runtime, session, channel)
        return
    outcome = stored.read(DiscussionOutcome)
    if outcome.state is not OutcomeState.WRITTEN:
        return
    if not outcome.remembered:
        _remember(runtime, session, outcome)
        _change_discussion_outcome(runtime, session.id, lambda told: told.replaced(remembered=True))
    if not outcome.asked:
        unasked = _ask_about_tasks(runtime, session, outcome)
        _change_discussion_outcome(
            runtime, session.id, lambda told: told.without_answer(unasked).replaced(asked=True)
        )
    settle_discussion_promises(runtime, outcome)


def stored_discussion_outcome(runtime: Runtime, session_id: str) -> Document | None:
    """Return the document of a discussion's outcome, or None."""
    return runtime.home.facts.get(INSTALLATION_FACTS, DISCUSSION_OUTCOME, session_id)


def _change_discussion_outcome(
    runtime: Runtime, session_id: str, change: Callable[[DiscussionOutcome], DiscussionOutcome]
) -> None:
    """Change a stored outcome, whatever else is written to it meanwhile; raise Unavailable."""
    for _ in range(_TRIES):
        stored = stored_discussion_outcome(runtime, session_id)
        if stored is None:
            return
        with suppress(Changed):
            runtime.home.facts.commit(stored.with_body(change(stored.read(DiscussionOutcome))))
            return
    raise Unavailable(f"concurrent updates to the outcome of session {session_id!r}")


def _ask_for_outcome(runtime: Runtime, session: Session, channel: Channel | None) -> None:
    """Ask for the outcome; store that it was asked for, or that nobody could be."""
    if session.ended_by is None:
        return
    asked = DiscussionOutcome(
        session_id=session.id,
        ended_by=session.ended_by,
        agent_ids=session.agent_ids,
        at=runtime.clock.now(),
    )
    if session.ended_by in NOT_WRITTEN:
        asked = asked.replaced(state=OutcomeState.UNKNOWN, why=session.ended_by.value)
    else:
        writer = _first_writer(runtime, session, channel)
        if writer is None:
            asked = asked.replaced(state=OutcomeState.UNKNOWN, why="nobody")
        else:
            asked = asked.replaced(writer_id=writer)
    fact = new_fact(INSTALLATION_FACTS, DISCUSSION_OUTCOME, session.id, asked)
    with suppress(Changed):
        # It was written, or asked for by another worker, meanwhile.
        runtime.home.facts.commit(fact)


def _first_writer(runtime: Runtime, session: Session, channel: Channel | None) -> str | None:
    """Ask the first agent that can write the outcome; return its id, or None."""
    for agent_id in discussion_outcome_writers(session):
        profile = _answering(runtime, agent_id)
        if profile is None:
            continue
        language = profile.agent.language
        theme = one_line(session.theme or session.name or "", _THEME)
        names = ", ".join(one_line(name) for name in _names(runtime, session))
        text = _TEXTS["write"][language].format(
            theme=_TEXTS["theme"][language].format(theme=theme) if theme else "", names=names
        )
        with suppress(Conflict):
            _admit(runtime, session, _message(OUTCOME_REQUEST, text, channel), agent_id)
            return agent_id
    return None


def _ask_about_tasks(
    runtime: Runtime, session: Session, outcome: DiscussionOutcome
) -> frozenset[str]:
    """Ask each agent with tasks whether it takes them over, in a turn of its own.

    Return those that cannot be asked.
    """
    gone = set[str]()
    for agent_id in dict.fromkeys(task.agent_id for task in outcome.tasks):
        profile = _answering(runtime, agent_id)
        text = "" if profile is None else _question(outcome, agent_id, profile.agent.language)
        if profile is None:
            gone.add(agent_id)
        if not text:
            continue
        message = _message(discussion_task_request_id(agent_id), text)
        try:
            _admit(runtime, session, message, agent_id)
        except Conflict:
            # Either it cannot answer any more, or it was asked before in other words.
            if not _is_admitted(runtime, message.turn_in(session.id, agent_id)):
                gone.add(agent_id)
    return frozenset(gone)


def _question(outcome: DiscussionOutcome, agent_id: str, language: Language) -> str:
    """Return what an agent is asked about its tasks, whatever it has answered; "" without any."""
    rows = [
        _TEXTS["task"][language].format(
            number=task.number,
            what=task.what,
            due=f"{task.due:%Y-%m-%d %H:%M %Z}".rstrip(),
            done=_TEXTS["done"][language].format(what=task.done_when) if task.done_when else "",
        )
        for task in outcome.tasks
        if task.agent_id == agent_id and task.answer is not TaskAnswer.NOT_ASKED
    ]
    return _TEXTS["ask"][language].format(tasks="\n".join(rows)) if rows else ""


def _is_admitted(runtime: Runtime, turn_id: str) -> bool:
    try:
        return runtime.home.journal.header(turn_id).id == turn_id
    except NotFound:
        return False


def _admit(runtime: Runtime, session: Session, message: Message, agent_id: str) -> None:
    admit_turns_of_message(
        runtime,
        session.id,
        message,
        trigger=Trigger.EVENT,
        hops=session.floor + 1,
        taint=True,
        payer=session.payer,
        only=(agent_id,),
        after_end=True,
        scopes=peer_discussion_budget_scopes(session, agent_id),
    )


def _remember(runtime: Runtime, session: Session, outcome: DiscussionOutcome) -> None:
    """Keep the outcome as a memory of each participant, once, if it has room."""
    for part in session.participants:
        profile = _answering(runtime, part.agent_id) if part.turns else None
        if profile is None:
            continue
        memory = _memory(session, outcome, profile)
        facts = runtime.home.facts
        if facts.get(part.agent_id, MEMORY, memory.id) is not None:
            continue
        with suppress(Refused, Changed):
            counted = count_memory_added(facts, runtime.clock, part.agent_id)
            facts.commit(new_fact(part.agent_id, MEMORY, memory.id, memory), counted)


def _memory(session: Session, outcome: DiscussionOutcome, profile: Profile) -> Memory:
    told = content_hash(f"outcome {session.id}".encode())
    return Memory(
        id=new_ulid(int(outcome.at.timestamp() * 1_000), bytes.fromhex(told)),
        category=_CATEGORY,
        content=discussion_outcome_text(session, outcome, profile.agent.language),
        provenance=Provenance.PEER,
        confidence=_CONFIDENCE,
        hearing=Hearing.SESSION,
        guild_id=session.guild_id,
        tainted=True,
        session_id=session.id,
        turn_id=outcome.turn_id,
        person_id=outcome.writer_id,
        created_at=outcome.at,
        updated_at=outcome.at,
    )


def discussion_outcome_text(
    session: Session, outcome: DiscussionOutcome, language: Language
) -> str:
    """Return an outcome as one text for a memory, cut to its length."""
    theme = one_line(session.theme or session.name or "", _THEME)
    rows = [_TEXTS["head"][language].format(theme=theme, at=f"{outcome.at:%Y-%m-%d}")]
    for key, points in (("decided", outcome.decisions), ("open", outcome.open_points)):
        rows.extend(_TEXTS[key][language].format(what=each) for each in points)
    rows.extend(
        _TEXTS["does"][language].format(
            name=task.name, what=task.what, due=f"{task.due:%Y-%m-%d %H:%M %Z}".rstrip()
        )
        for task in outcome.tasks
    )
    return "\n".join(rows)[:MEMORY_CHARACTERS]


def _names(runtime: Runtime, session: Session) -> list[str]:
    found = map(partial(_answering, runtime), session.agent_ids)
    return [profile.agent.name for profile in found if profile is not None]


def _answering(runtime: Runtime, agent_id: str) -> Profile | None:
    """Return an agent that exists and has not retired; else None."""
    try:
        profile = runtime.home.agents.get(agent_id)
    except NotFound:
        return None
    return profile if profile.agent.answers else None


def _message(source_id: str, text: str, channel: Channel | None = None) -> Message:
    return Message(
        source=Source.PEER,
        source_id=source_id,
        principal_id=OPENCRAB.id,
        sender=OPENCRAB,
        authority=Authority.PEER,
        parts=(TextPart(text=text),),
        channel=channel,
    )
