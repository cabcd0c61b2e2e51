"""Turn signals: one document at a turn's end with the results of its models, skills, memories.

It is made from data that the turn has loaded already: no store is read, and no text is kept.
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import timedelta
from operator import attrgetter

from opencrab.domain.access.authority import does_authority_taint_reader
from opencrab.domain.conversation.message import Line, LineKind
from opencrab.domain.document import Document, new_fact
from opencrab.domain.errors import Unavailable
from opencrab.domain.goals.goal import (
    GOAL,
    Goal,
    GoalStatus,
    TaskStatus,
    goal_document_id,
    goal_id_of_label,
)
from opencrab.domain.learning.signals import (
    KEPT_DAYS,
    SIGNALS,
    ServedCalls,
    TurnSignals,
    learned_skills_on_trial,
)
from opencrab.domain.text.correction import (
    AGAIN_WITHIN,
    is_text_correction,
    is_text_repeated,
    is_text_thanks,
)
from opencrab.domain.text.terms import content_terms_of_text
from opencrab.domain.turn.action import MemoriesFound
from opencrab.domain.turn.record import (
    ActionCall,
    CallResult,
    CallState,
    ModelIntent,
    ModelResult,
    Record,
    action_name_of_turn_call,
    arguments_of_turn_call,
)
from opencrab.domain.turn.turn import Trigger, Turn, TurnStatus
from opencrab.domain.usage.ledger import usage_row_id
from opencrab.engine.consequence import FollowUp, TurnEnding
from opencrab.engine.skills.offering import count_skill_use
from opencrab.engine.turn.receipt import NO_DEEDS
from opencrab.engine.turn.work import Consequence, TurnWork

MEMORIES = 50
"""Most found memories in one turn's signals, the first ones."""

LOOKING_INWARD = NO_DEEDS | {
    "discussing",
    "history",
    "inner",
    "learning",
    "llm",
    "meta",
    "notices",
    "peers",
    "recall",
}
"""Groups of actions that do not count for a turn's reward, so that an agent cannot raise it itself.

Speaking, asking others, planning, taking notes, grading and remembering succeed whatever their
quality.
"""

_UNDONE = frozenset({CallState.FAILED, CallState.UNKNOWN})
_BY_ITSELF = frozenset({TurnStatus.COMPLETED, TurnStatus.IDLE})


class SignalsConsequence(Consequence):
    """Consequence that stores a turn's signals if the transaction has room.

    A missing measurement is better than a failed turn, so it takes the transaction's spare item
    only.
    """

    def on_close(self, work: TurnWork, ending: TurnEnding) -> FollowUp:
        return FollowUp(optional_fact=_turn_signals_for_learning(work, ending))

    def after_close(self, work: TurnWork) -> None:
        """Count the uses of acquired skills; an error is ignored, since signals do not need it."""
        acquired = {skill.name for skill in work.profile.mind.skills}
        if names := acquired & {*(work.prompt.skills or ()), *work.transcript.skills_asked}:
            with suppress(Unavailable):
                count_skill_use(
                    work.runtime.home.facts, work.turn.agent_id, names, work.runtime.clock.now()
                )


def _turn_signals_for_learning(work: TurnWork, ending: TurnEnding) -> Document | None:
    """Return the signals document of a turn; None for a background job or without a model call.

    Models are in the order of their first calls. A model's latency is that of all its calls, its
    choice and complexity are those of the first, its last row is that of the last call that
    answered. `repairs` are the steps with a malformed call; malformed calls do not count as failed
    actions, nor do refused or withdrawn ones.
    """
    turn, transcript = ending.turn, work.transcript
    asked = (*transcript.asked, *_last(work, ending.records))
    if work.job is not None or not asked or turn.ended_at is None:
        return None
    found = _once(name for effect in _searches(work) for name in effect.ids)[:MEMORIES]
    trial = learned_skills_on_trial(work.profile.mind)
    given = (name for intent, _ in asked for name in intent.skills if name in trial)
    done, undone, repairs = _deeds(work, ending.records)
    told = TurnSignals(
        turn_id=turn.id,
        session_id=turn.session_id,
        at=turn.ended_at,
        trigger=turn.trigger,
        status=turn.status,
        served=_calls_by_model(turn, asked),
        given=_once(given),
        held=_once(name for intent, _ in asked for name in intent.skills_held if name in trial),
        asked=_once(name for name in transcript.skills_asked if name in trial),
        found=found,
        hidden=any(effect.hidden for effect in _searches(work)),
        could_hide=any(effect.could_hide for effect in _searches(work)),
        useful=_useful(work, ending.speech, frozenset(found)),
        done=done,
        undone=undone,
        repairs=repairs,
        task_success=_success(work, ending),
        **_said_of_answer(work),
        spoke=bool(ending.speech) or transcript.speeches > 0,
        outsider=does_authority_taint_reader(turn.authority),
    )
    until = told.at + timedelta(days=KEPT_DAYS)
    return new_fact(turn.agent_id, SIGNALS, told.id, told, expires_at=until)


def _last(work: TurnWork, records: Iterable[Record]) -> Iterator[tuple[ModelIntent, ModelResult]]:
    """Yield the model call whose result is stored with the turn's end."""
    intent = work.transcript.open_intent
    for record in records:
        if isinstance(record, ModelResult) and isinstance(intent, ModelIntent):
            yield intent, record


def _calls_by_model(
    turn: Turn, asked: Iterable[tuple[ModelIntent, ModelResult]]
) -> tuple[ServedCalls, ...]:
    made: dict[tuple[str, str, str], ServedCalls] = {}
    for intent, result in asked:
        key = intent.model, intent.purpose.value, intent.task_type
        before = made.get(key) or ServedCalls(
            model=intent.model,
            purpose=intent.purpose,
            task_type=intent.task_type,
            complexity=intent.complexity,
            chosen_by=intent.chosen_by,
            probability=intent.probability,
            calls=0,
        )
        # A call that somebody ended says nothing of its model, but has its cost.
        failed = result.state not in {CallState.COMPLETED, CallState.CANCELLED}
        made[key] = before.replaced(
            calls=before.calls + 1,
            failed=before.failed + failed,
            cost=before.cost + result.cost,
            latency_ms=before.latency_ms + result.latency_ms,
            last_row=_row(turn, result) or before.last_row,
        )
    return tuple(made.values())


def _row(turn: Turn, result: ModelResult) -> str:
    """Return the metrics id of a completed call, "" for any other."""
    if result.state is not CallState.COMPLETED or result.at is None:
        return ""
    return usage_row_id(result.at, turn.id, result.n)


def _deeds(work: TurnWork, records: Iterable[Record]) -> tuple[int, int, int]:
    """Count succeeded actions, failed actions, and steps with a malformed call."""
    last = [record for record in records if isinstance(record, CallResult)]
    done = undone = repairs = 0
    for step in work.transcript.steps:
        results = step.results | {record.call_id: record for record in last}
        ended = [(call, results[call.id]) for call in step.answer.calls if call.id in results]
        repairs += any(result.invalid for _, result in ended)
        for call, result in ended:
            if result.invalid or not _is_deed(work, call):
                continue
            done += result.state is CallState.COMPLETED
            undone += result.state in _UNDONE
    return done, undone, repairs


def _is_deed(work: TurnWork, call: ActionCall) -> bool:
    """Return True if an action's result says how the turn went; see LOOKING_INWARD."""
    action = work.runtime.actions.find(action_name_of_turn_call(call))
    return action is not None and action.group not in LOOKING_INWARD


def _searches(work: TurnWork) -> Iterator[MemoriesFound]:
    return (effect for effect in work.transcript.effects if isinstance(effect, MemoriesFound))


def _useful(work: TurnWork, speech: str, found: frozenset[str]) -> tuple[str, ...]:
    """Return the found memories of which a content word was used after the search.

    Words that were in the message or in the search itself do not count.
    """
    if not found:
        return ()
    trigger = work.trigger
    known = content_terms_of_text(trigger.text if trigger else "")
    useful: list[str] = []
    steps = work.transcript.steps
    for place, step in enumerate(steps):
        shown = dict(_memory_excerpts(step.results.values()))
        if not shown:
            continue
        later = (call for other in steps[place + 1 :] for call in other.answer.calls)
        after = content_terms_of_text("\n".join((speech, *map(_words, later))))
        new = after - known - content_terms_of_text("\n".join(map(_words, step.answer.calls)))
        useful.extend(name for name, text in shown.items() if content_terms_of_text(text) & new)
    return tuple(name for name in _once(useful) if name in found)


def _memory_excerpts(results: Iterable[CallResult]) -> Iterator[tuple[str, str]]:
    """Yield the memories that searches showed, with their excerpts."""
    for result in results:
        searches = (x for x in result.result.side_effects if isinstance(x, MemoriesFound))
        ids = {name for effect in searches for name in effect.ids}
        rows = (result.result.data or {}).get("results", ()) if ids else ()
        for row in rows if isinstance(rows, list) else ():
            name = row.get("memory_id", row.get("id")) if isinstance(row, dict) else None
            if name in ids:
                yield str(name), str(row.get("excerpt", ""))


def _words(call: ActionCall) -> str:
    """Return the values of a call's arguments as text."""
    values = (arguments_of_turn_call(call) or {}).values()
    return "\n".join(
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for value in values
    )


def _success(work: TurnWork, ending: TurnEnding) -> bool | None:
    """Return True if the turn's task was confirmed, False if it failed, None if neither is known.

    A task is confirmed by receipts of its turns' actions, a goal if all claims of its report are.
    """
    goal = _goal(work, ending.facts)
    if goal is None or work.turn.task is None:
        return None
    mine = [task for task in goal.tasks if task.turn_id == work.turn.id and task.status.is_end]
    if mine:
        failed = any(task.status is TaskStatus.FAIL for task in mine)
        return False if failed else True if all(task.confirmed for task in mine) else None
    if ending.turn.status not in _BY_ITSELF or work.turn.task != goal.id:
        return None
    if goal.status is GoalStatus.ABANDONED:
        return False
    done = bool(goal.receipts) or any(task.confirmed for task in goal.tasks)
    confirmed = goal.status is GoalStatus.COMPLETED and done and not goal.unconfirmed
    return True if confirmed else None


def _goal(work: TurnWork, facts: Iterable[Document]) -> Goal | None:
    """Return the goal that the turn served, with the changes of the turn's end."""
    if work.turn.task is None:
        return None
    key = goal_document_id(goal_id_of_label(work.turn.task))
    left = [fact for fact in facts if fact.kind == GOAL and fact.id == key and fact.body]
    return left[-1].read(Goal) if left else work.served


def _said_of_answer(work: TurnWork) -> dict[str, str]:
    """Return the turn that answered a person before, by what the new message says of it."""
    trigger = work.trigger
    if work.turn.trigger is not Trigger.MESSAGE or trigger is None or trigger.from_agent:
        return {}
    before, turn_id = _before(work, trigger)
    if before is None or not turn_id:
        return {}
    soon = trigger.at - before.at <= AGAIN_WITHIN
    again = soon and is_text_repeated(trigger.text, before.text)
    corrected = is_text_correction(trigger.text)
    thanked = not (corrected or again) and is_text_thanks(trigger.text)
    marks = {"corrects": corrected, "repeats": again, "thanks": thanked}
    return {name: turn_id for name, is_so in marks.items() if is_so}


def _before(work: TurnWork, trigger: Line) -> tuple[Line | None, str]:
    """Return the speaker's previous message, and the id of the turn that answered it or ""."""
    agent_id, earlier = work.turn.agent_id, None
    answered: dict[int, str] = {}
    for line in sorted(work.history, key=attrgetter("sequence")):
        if line.sequence >= trigger.sequence:
            break
        if line.speaker_id == agent_id and line.turn_id and line.group_line:
            answered[line.group_line] = line.turn_id
        elif line.speaker_id == trigger.speaker_id and line.kind is LineKind.SPEECH:
            earlier = line
    return earlier, "" if earlier is None else answered.get(earlier.sequence, "")


def _once(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
