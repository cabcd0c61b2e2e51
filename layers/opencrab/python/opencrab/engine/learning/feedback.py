"""Feedback of a person on a turn, stored as an experience of its agent."""

import hashlib
from typing import Literal

from opencrab.domain.document import Document, new_fact
from opencrab.domain.errors import Conflict, Invalid
from opencrab.domain.identifier import new_ulid
from opencrab.domain.memory.memory import EXPERIENCE, Experience
from opencrab.domain.outcome import Outcome
from opencrab.domain.turn.record import CallResult, ModelResult, Record
from opencrab.domain.turn.turn import Turn
from opencrab.domain.value import Language
from opencrab.engine.runtime import Runtime
from opencrab.ports.documents import Documents
from opencrab.ports.texts import Texts
from opencrab.ports.turn.journal import resolve_record_pointers

REMARK_CHARACTERS = 2_000

Thumbs = Literal["up", "down"]

_QUOTED = 500

_OUTCOMES: dict[Thumbs | None, Outcome] = {
    "up": Outcome.SUCCESS,
    "down": Outcome.FAILURE,
    None: Outcome.PARTIAL,
}
_LIVED = Texts(__file__, "lived")
_LESSONS = Texts(__file__, "lessons")
_SILENT = {Language.EN: "(nothing was said)", Language.JA: "(発言なし)"}


def give_feedback(
    runtime: Runtime,
    turn_id: str,
    *,
    by: str,
    thumbs: Thumbs | None,
    remark: str,
    key: str,
    by_owner: bool = False,
) -> Experience:
    """Store a person's feedback on a turn that has ended, once per key.

    The experience names the turn in `about_turn` and the person in `from_person`; `turn_id` is
    empty, since no turn of the agent made it. Its outcome is success for thumbs up, failure for
    thumbs down, partial for a remark alone. The caller checks who may give feedback; thumbs of an
    owner, `by_owner`, override all others.

    Raises NotFound, Invalid if the feedback is empty or too long, and Conflict if the turn has not
    ended or the key was used for other feedback.
    """
    remark = remark.strip()
    _check(thumbs, remark)
    recorded = runtime.home.journal.load(turn_id)
    turn = recorded.turn
    if not turn.status.is_end:
        raise Conflict(
            f"turn {turn_id!r} has not ended", cure="wait until it ends, then send feedback"
        )
    records = resolve_record_pointers(recorded.records, runtime.home.blobs)
    fact_id = _id(turn, by, key)
    language = runtime.home.agents.get(turn.agent_id).agent.language
    said = _last_speech_excerpt(records) or _SILENT[language]
    experience = Experience(
        id=fact_id,
        experience=_LIVED[thumbs or "remark"][language].format(said=said),
        outcome=_OUTCOMES[thumbs],
        lesson=remark or _LESSONS[thumbs or "up"][language],
        about_turn=turn.id,
        from_person=by,
        by_owner=by_owner,
        person_id=by,
        tainted=turn.taint,
        session_id=turn.session_id,
        at=runtime.clock.now(),
    )
    return _store_feedback(
        runtime.home.facts, new_fact(turn.agent_id, EXPERIENCE, fact_id, experience)
    )


def learning_feedback_thumbs(experience: Experience) -> Thumbs | None:
    """Return the thumbs of a feedback experience, None for a remark alone."""
    return next(thumbs for thumbs, outcome in _OUTCOMES.items() if outcome is experience.outcome)


def _check(thumbs: Thumbs | None, remark: str) -> None:
    if thumbs is None and not remark:
        raise Invalid(
            "the feedback is empty",
            field="thumbs",
            cure="send thumbs (up or down), a remark, or both",
        )
    if len(remark) > REMARK_CHARACTERS:
        raise Invalid(
            f"the remark has {len(remark)} characters, at most {REMARK_CHARACTERS} are allowed",
            field="remark",
            cure="shorten it",
        )


def _store_feedback(facts: Documents, fact: Document) -> Experience:
    """Store feedback, or return what an earlier call with the same key stored; raises Conflict."""
    wanted = fact.read(Experience)
    stored = facts.get(*fact.key)
    if stored is None:
        try:
            facts.commit(fact)
        except Conflict:
            stored = facts.get(*fact.key)
    if stored is None:
        return wanted
    earlier = stored.read(Experience)
    if (earlier.outcome, earlier.lesson) != (wanted.outcome, wanted.lesson):
        raise Conflict("this key was already used for other feedback", cure="use a new key for it")
    return earlier


def _id(turn: Turn, by: str, key: str) -> str:
    """Return an id that is the same on a retry and sorts by the end of the turn."""
    causes = "\n".join((turn.id, by, key)).encode()
    ended = turn.ended_at or turn.created_at
    return new_ulid(int(ended.timestamp() * 1_000), hashlib.sha256(causes).digest())


def _last_speech_excerpt(records: tuple[Record, ...]) -> str:
    """Return the agent's last words in a turn, cut to 500 characters; "" if none."""
    said = ""
    for record in records:
        if isinstance(record, ModelResult) and record.answer and not record.answer.calls:
            said = record.answer.text or said
        elif isinstance(record, CallResult):
            spoken = [e.text for e in record.result.side_effects if e.kind == "spoke"]
            said = spoken[-1] if spoken else said
    said = " ".join(said.split())
    return said if len(said) <= _QUOTED else f"{said[: _QUOTED - 1]}…"
