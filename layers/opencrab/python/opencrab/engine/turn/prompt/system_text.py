"""The texts of the prompt, in Japanese and English: rules first, what changes per call last."""

from collections.abc import Sequence

from opencrab.domain.access.authority import Authority, does_authority_taint_reader
from opencrab.domain.agents.agent import Agent, Profile, agent_selectable_aliases
from opencrab.domain.agents.heartbeat import agent_time_zone, local_time_of_agent
from opencrab.domain.approvals.policy import ApprovalPolicy
from opencrab.domain.autonomy.settings import Shares
from opencrab.domain.conversation.session import Session
from opencrab.domain.goals.goal import Goal, goal_task_message
from opencrab.domain.memory.memory import CoreMemory
from opencrab.domain.memory.search_row import search_row_of_core_memory
from opencrab.domain.memory.summary import SummaryTopic
from opencrab.domain.models.routing import ModelChosen, Routing, RoutingBasis, Use
from opencrab.domain.turn.turn import Trigger
from opencrab.domain.value import Language
from opencrab.engine.phrases import system_phrase
from opencrab.engine.turn.prompt.truncation import truncate_prompt_lines
from opencrab.engine.turn.work import PreCallState, TurnWork
from opencrab.ports.models.model import (
    NO_TEXT,
    PromptText,
    TrustedText,
    estimated_tokens,
    fill_model_template,
    join_texts_for_model_call,
    label_text_for_model_call,
)
from opencrab.ports.texts import Texts
from opencrab.ports.turn.action import one_line

CORE_PERCENT = 5
"""The share of `high_water_tokens` that core memories may take, in percent."""

CORE_BYTES = 4_096
"""The most bytes of core memories in a prompt, whatever its token budget."""

_TEXTS = Texts(__file__)
_MODELS_NOTE_BYTES = 300
_RESULT = 300


_NO_MARKS = str.maketrans("", "", "[]")


def system_prompt_text(
    profile: Profile,
    session: Session,
    skills: PromptText = NO_TEXT,
    memories: PromptText = NO_TEXT,
    shares: Shares | None = None,
    *,
    orders: PromptText = NO_TEXT,
) -> PromptText:
    """Return the part of the prompt that stays the same for an agent in a session: no time, no ids.

    `orders` are what its owner wants it to do unasked. With `shares` the rules and the identity
    keep to theirs; skills and soul are cut first.
    """
    agent = profile.agent
    language = agent.language
    rules = _TEXTS["rules"][language]
    purpose = agent.purpose or _TEXTS["no_purpose"][language]
    # Identity, purpose and soul are set by owners and known users; set_purpose asks first in a
    # tainted turn. So is the theme, unless an agent opened the discussion.
    who: list[PromptText] = [
        TrustedText(profile.identity.describe(language)),
        TrustedText(f"{_TEXTS['purpose'][language]}: {purpose}"),
        TrustedText(profile.soul.describe(language)),
    ]
    place = _theme(session, language) if session.theme else NO_TEXT
    if shares is not None:
        who = _in_order(who, shares.identity, language)
        used = estimated_tokens(rules) + estimated_tokens(place)
        skills = truncate_prompt_lines(skills, max(shares.rules - used, 0), language)
    filled = fill_model_template(
        rules,
        name=TrustedText(profile.soul.persona_name),
        identity=who[0],
        soul=who[2],
        purpose=fill_model_template("\n{text}\n", text=who[1]),
        theme=place,
    )
    return join_texts_for_model_call("\n\n", (filled, orders, memories, skills))


def _theme(session: Session, language: Language) -> PromptText:
    from_agent = session.discusses and session.created_by in session.all_time_agent_ids
    said = f"\n{_TEXTS['theme'][language]}: {_one_line(session.theme)}"
    return label_text_for_model_call(said, tainted=from_agent)


def _in_order(texts: Sequence[PromptText], room: int, language: Language) -> list[PromptText]:
    """Return the texts as far as they fit, each in the tokens that those before it have left."""
    kept = list[PromptText]()
    for text in texts:
        kept.append(truncate_prompt_lines(text, max(room, 0), language))
        room -= estimated_tokens(kept[-1])
    return kept


def volatile_prompt_text(work: TurnWork, look: PreCallState) -> PromptText:
    """Return the line that changes with each call: time, channel, calls and budget left, models."""
    turn = work.turn
    zone = agent_time_zone(work.profile.agent.heartbeat, work.runtime.rules.time_zone)
    now = f"{local_time_of_agent(look.at, zone):%Y-%m-%d %H:%M} {zone}"
    left = max(work.limits.turn_micro_usd - turn.spent, 0) / 1_000_000
    routing = work.runtime.models.routing
    models = prompt_note_on_models(work.profile.agent, routing, look.basis, work.transcript.choices)
    door = turn.channel.target if turn.channel else turn.source.value
    return fill_model_template(
        _TEXTS["context"][work.profile.agent.language],
        now=TrustedText(now),
        door=TrustedText(door),
        calls=look.calls_left,
        left=left,
        models=TrustedText(models),
    )


def prompt_note_on_models(
    agent: Agent, routing: Routing, basis: RoutingBasis, choices: Sequence[ModelChosen] = ()
) -> str:
    """Return the model of each use, and those that the agent may choose, in at most 300 bytes."""
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
    selectable = agent_selectable_aliases(agent, routing)
    if selectable:
        note += f"; select_llm: {' '.join(selectable)}"
    if len(note.encode()) <= _MODELS_NOTE_BYTES:
        return note
    return note.encode()[: _MODELS_NOTE_BYTES - 3].decode(errors="ignore") + "…"


def prompt_owner_instructions(work: TurnWork) -> PromptText:
    """Return what the owner wants done unasked, for a turn that has surroundings.

    A schedule has instructions of its own, which say all that its turn is for.
    """
    agent, turn = work.profile.agent, work.turn
    instructions = agent.heartbeat.instructions.strip()
    if turn.trigger is Trigger.SCHEDULE or not agent.heartbeat.acts_on_its_own:
        return NO_TEXT
    return prompt_guidance_text(agent.language, instructions, Authority.OWNER, "")


def prompt_note_on_goal(work: TurnWork) -> PromptText:
    """Return the note on the goal and task that the turn carries out; "" for all other turns."""
    goal, language = work.served, work.profile.agent.language
    if goal is None or goal.status.is_end:
        return NO_TEXT
    return label_text_for_model_call(_goal_note(goal, language), tainted=goal.taint)


def reason_prompt_note(work: TurnWork) -> PromptText:
    """Ask for the reason of each call, in a turn for a goal and under the strict policy."""
    goal, agent = work.served, work.profile.agent
    is_task = goal is not None and not goal.status.is_end
    if not is_task and agent.policy is not ApprovalPolicy.STRICT:
        return NO_TEXT
    return TrustedText(system_phrase("note_reason", agent.language))


def _goal_note(goal: Goal, language: Language) -> str:
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
    rows = (f"{goal_task_message(other)} {other.result[:_RESULT]}".rstrip() for other in goal.tasks)
    key = "note_repair" if goal.stuck else "note_report"
    return system_phrase(key, language, rows="\n".join(rows), cause=goal.stuck, **facts)


def prompt_guidance_text(
    language: Language, text: str, authority: Authority, giver: str, *, tainted: bool = False
) -> PromptText:
    """Return guidance or heartbeat instructions for the prompt, with a giver who is no owner."""
    if authority is Authority.OWNER:
        told = _TEXTS["owner_instruction"][language].format(text=text)
        return label_text_for_model_call(told, tainted=tainted)
    named = _one_line(giver.translate(_NO_MARKS))
    told = _TEXTS["other_instruction"][language].format(named=named, text=text)
    return label_text_for_model_call(
        told, tainted=tainted or does_authority_taint_reader(authority)
    )


def prompt_note_on_omitted_history(
    language: Language, count: int, topics: Sequence[PromptText] = ()
) -> PromptText:
    """Return a note of how many lines are not shown, and what the newest of them were about."""
    note = TrustedText(_TEXTS["omitted"][language].format(count=count))
    if not topics:
        return note
    return join_texts_for_model_call(
        "\n", (note, TrustedText(_TEXTS["omitted_topics"][language]), *topics)
    )


def prompt_title_of_summary(topic: SummaryTopic, language: Language) -> PromptText:
    """Return a line that names a summary.

    If its title is withheld, the line says that the summary contains untrusted text.
    """
    shown = topic.title or _TEXTS["hidden_title"][language]
    hidden = not topic.title
    return label_text_for_model_call(
        f"{topic.id} {topic.until:%Y-%m-%d}: {shown}", tainted=topic.tainted and not hidden
    )


def prompt_memories(work: TurnWork, water: int, shares: Shares | None) -> PromptText:
    """Return the core memories that this turn may see, within their share of the budget."""
    core, cleared = work.profile.mind.core, work.clearance.search
    told = [each for each in core if cleared.allows(search_row_of_core_memory(each))]
    most = water * CORE_PERCENT // 100
    if shares is not None:
        most = min(most, shares.memory)
    return prompt_core_memories(told, work.profile.agent.language, most)


def prompt_core_memories(
    memories: Sequence[CoreMemory], language: Language, most_tokens: int
) -> PromptText:
    """Return the core memories in their stored order, as a record and not as instructions.

    The first that does not fit ends the list.
    """
    shown, used, size = list[str](), estimated_tokens(_TEXTS["core_memories"][language]), 0
    for memory in memories:
        row = f"- {_one_line(memory.content)}"
        used += estimated_tokens(row)
        size += len(row.encode()) + 1
        if used > most_tokens or size > CORE_BYTES:
            break
        shown.append(row)
    if not shown:
        return NO_TEXT
    # A tainted memory never becomes a core memory (domain/agents/core_memory.py).
    return TrustedText("\n".join((_TEXTS["core_memories"][language], *shown)))


def _one_line(text: str) -> str:
    return one_line(text, len(text))
