"""The words of the prompt, in Japanese and English: rules first, volatile facts last."""

from collections.abc import Sequence

from opencrab.domain.access.authority import Authority
from opencrab.domain.agents.agent import Agent, Profile, selectable_aliases
from opencrab.domain.autonomy.settings import Shares
from opencrab.domain.conversation.session import Session
from opencrab.domain.goals.goal import task_message
from opencrab.domain.memory.memory import CoreMemory
from opencrab.domain.models.routing import ModelChosen, Routing, RoutingBasis, Use
from opencrab.domain.text.terms import estimated_tokens
from opencrab.domain.value import Language
from opencrab.engine.phrases import system_phrase
from opencrab.engine.turn.prompt.truncation import truncate_prompt_lines
from opencrab.engine.turn.work import PreCallState, TurnWork
from opencrab.ports.texts import Texts
from opencrab.ports.turn.action import one_line

CORE_BYTES = 4_096
"""Most that a prompt tells of core memories, whatever its room."""

_TEXTS = Texts(__file__)
_MODELS_NOTE_BYTES = 300
_RESULT = 300


_NO_MARKS = str.maketrans("", "", "[]")


def system_text(
    profile: Profile,
    session: Session,
    skills: str = "",
    memories: str = "",
    shares: Shares | None = None,
) -> str:
    """The part of the prompt that stays the same for an agent in a session: no clock, no ids.

    With shares, those of rules and identity are kept: the skills and the soul are cut first.
    """
    agent = profile.agent
    language = agent.language
    rules = _TEXTS["rules"][language]
    who = [
        profile.identity.describe(language),
        f"{_TEXTS['purpose'][language]}: {agent.purpose or _TEXTS['no_purpose'][language]}",
        profile.soul.describe(language),
    ]
    place = f"\n{_TEXTS['theme'][language]}: {_one_line(session.theme)}" if session.theme else ""
    if shares is not None:
        who = _in_order(who, shares.identity, language)
        used = estimated_tokens(rules) + estimated_tokens(place)
        skills = truncate_prompt_lines(skills, max(shares.rules - used, 0), language)
    return rules.format(
        name=profile.soul.persona_name,
        identity=who[0],
        soul=who[2],
        purpose=f"\n{who[1]}\n",
        theme=place,
    ) + "".join(f"\n\n{part}" for part in (memories, skills) if part)


def _in_order(texts: Sequence[str], room: int, language: Language) -> list[str]:
    """The texts as far as they fit, each in the room that those before it have left."""
    kept = list[str]()
    for text in texts:
        kept.append(truncate_prompt_lines(text, max(room, 0), language))
        room -= estimated_tokens(kept[-1])
    return kept


def volatile_text(work: TurnWork, look: PreCallState) -> str:
    """What changes from call to call, kept behind everything that a cache could hold."""
    turn = work.turn
    now = look.at.strftime("%Y-%m-%d %H:%M UTC")
    left = max(work.limits.turn_micro_usd - turn.spent, 0) / 1_000_000
    routing = work.runtime.models.routing
    models = models_prompt_note(work.profile.agent, routing, look.basis, work.transcript.choices)
    door = turn.channel.target if turn.channel else turn.source.value
    return _TEXTS["context"][work.profile.agent.language].format(
        now=now, door=door, calls=look.calls_left, left=left, models=models
    )


def models_prompt_note(
    agent: Agent, routing: Routing, basis: RoutingBasis, choices: Sequence[ModelChosen] = ()
) -> str:
    """Which model the agent thinks with for which use, and which it may choose: 300 bytes."""
    uses: dict[str, list[str]] = {}
    for use in Use:
        if use is not Use.EMBEDDING:
            model = routing.chosen(use, basis, choices).model
            uses.setdefault(model, []).append(use.value)
    everything = len(uses) == 1
    told = ", ".join(
        model if everything else f"{'+'.join(named)}={model}" for model, named in uses.items()
    )
    note = f" / models: {told}"
    selectable = selectable_aliases(agent, routing)
    if selectable:
        note += f"; select_llm: {' '.join(selectable)}"
    if len(note.encode()) <= _MODELS_NOTE_BYTES:
        return note
    return note.encode()[: _MODELS_NOTE_BYTES - 3].decode(errors="ignore") + "…"


def goal_prompt_note(work: TurnWork) -> str:
    """What the turn serves, for turns that carry a goal out; "" for all others."""
    goal, language = work.served, work.profile.agent.language
    if goal is None or goal.status.is_end:
        return ""
    facts: dict[str, object] = {"goal": goal.id, "goal_name": goal.name}
    task = goal.current
    if task is not None:
        return system_phrase(
            "note_task",
            language,
            task=task.id,
            place=f"{goal.tasks.index(task) + 1}/{len(goal.tasks)}",
            name=task.name,
            before=task.precondition,
            after=task.postcondition,
            **facts,
        )
    if not goal.tasks and not goal.stuck:
        return system_phrase("note_goal", language, **facts)
    if not goal.stuck and any(not other.status.is_end for other in goal.tasks):
        return ""
    rows = (f"{task_message(other)} {other.result[:_RESULT]}".rstrip() for other in goal.tasks)
    key = "note_repair" if goal.stuck else "note_report"
    return system_phrase(key, language, rows="\n".join(rows), cause=goal.stuck, **facts)


def instruction_text(language: Language, text: str, authority: Authority, giver: str) -> str:
    """An instruction, which people in the session do not see; who is no owner is named."""
    if authority is Authority.OWNER:
        return _TEXTS["owner_instruction"][language].format(text=text)
    named = _one_line(giver.translate(_NO_MARKS))
    return _TEXTS["other_instruction"][language].format(named=named, text=text)


def omitted_history_note(language: Language, count: int, topics: Sequence[str] = ()) -> str:
    """Says how much of the history is not shown, and what the newest of it was about."""
    note = _TEXTS["omitted"][language].format(count=count)
    return "\n".join((note, _TEXTS["omitted_topics"][language], *topics)) if topics else note


def summary_title_line(summary_id: str, day: str, title: str, language: Language) -> str:
    """A line that names a summary; words from outside are left for who opens it."""
    shown = title or _TEXTS["hidden_title"][language]
    return f"{summary_id} {day}: {shown}"


def core_memory_text(memories: Sequence[CoreMemory], language: Language, most_tokens: int) -> str:
    """What an agent never loses sight of, in the order in which its mind holds it.

    They are facts and no orders; the first that does not fit ends the list.
    """
    shown, used, size = list[str](), estimated_tokens(_TEXTS["core_memories"][language]), 0
    for memory in memories:
        row = f"- {_one_line(memory.content)}"
        used += estimated_tokens(row)
        size += len(row.encode()) + 1
        if used > most_tokens or size > CORE_BYTES:
            break
        shown.append(row)
    return "\n".join((_TEXTS["core_memories"][language], *shown)) if shown else ""


def _one_line(text: str) -> str:
    return one_line(text, len(text))
