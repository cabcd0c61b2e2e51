"""Context: the request to a model, in one fixed order and within a token budget.

The order is action schemas, system text, history, the skills that fit, this turn's steps, and last
the volatile facts; two renders of the same turn differ only in that last part, so providers' prompt
caches hit.
"""

from collections.abc import Iterable

from opencrab.domain.agents.agent import Agent
from opencrab.domain.agents.agent_state import AgentState
from opencrab.domain.autonomy.settings import Shares
from opencrab.domain.conversation.message import Instruction, Line
from opencrab.domain.conversation.session import SessionStatus
from opencrab.domain.errors import TooLarge
from opencrab.domain.models.routing import CallOptions
from opencrab.domain.skills.skill import StandardSkill
from opencrab.domain.value import Language
from opencrab.engine.models.router import sampling_of_call
from opencrab.engine.runtime import Rules
from opencrab.engine.skills.offering import (
    agent_skills_index,
    skill_text,
    skills_of_agent,
    unreadable_skills,
)
from opencrab.engine.skills.offering import skills_fitting_message as fitting_skills
from opencrab.engine.turn.prompt.history import (
    earlier_prompt_history,
    prompt_history_that_fits,
    prompt_history_tokens,
    prompt_person,
    prompt_reuse_seconds,
    render_prompt_history,
    render_prompt_step,
)
from opencrab.engine.turn.prompt.system_text import (
    prompt_guidance_text,
    prompt_memories,
    prompt_note_on_goal,
    prompt_owner_instructions,
    reason_prompt_note,
    system_prompt_text,
    volatile_prompt_text,
)
from opencrab.engine.turn.prompt_cache import (
    EarlierHistory,
    KnownWorld,
    MessageGroup,
    Shown,
    Surroundings,
)
from opencrab.engine.turn.work import PreCallState, TurnWork
from opencrab.ports.models.model import (
    NO_TEXT,
    TOKENS_PER_MESSAGE,
    ActionSchema,
    CallReturn,
    ChatMessage,
    ChatRequest,
    ModelInfo,
    PromptText,
    estimated_message_tokens,
    estimated_tokens,
    join_texts_for_model_call,
    labelled_message,
    labelled_request,
)


def build_turn_prompt_request(
    work: TurnWork, info: ModelInfo, manner: CallOptions, look: PreCallState, share: float = 1.0
) -> ChatRequest:
    """Build the request for the turn's next model call, with the options of its use.

    `share` is how much of its usual room the history may take, 0 to 1. Raises Invalid when even the
    parts that are always shown do not fit the model.
    """
    agent, rules = work.profile.agent, work.runtime.rules
    _find_skills(work)
    schemas = _schemas(work, info)
    output = prompt_answer_token_limit(info, rules, manner.max_output_tokens)
    most = prompt_input_token_limit(info, output)
    water = prompt_token_limit(most, rules)
    shares = rules.autonomy.shares if work.turn.is_autonomous else None
    memories = prompt_memories(work, water, shares) if work.profile.mind.core else NO_TEXT
    system, around = _system(work, memories, shares), work.prompt.around
    # What changes from call to call comes last, behind everything that a cache could hold.
    found = NO_TEXT if around is None else _orientation(work, around, look, memories)
    world = () if work.prompt.world is None else (_world(work.prompt.world, agent, look),)
    notes = (*world, prompt_note_on_goal(work), reason_prompt_note(work))
    moment = (found, *notes, volatile_prompt_text(work, look))
    last = labelled_message("user", join_texts_for_model_call("\n\n", moment))
    steps = _steps(work, {item.id: item for item in look.step_state.instructions})
    if fitting := work.prompt.skill_texts:
        steps.insert(0, labelled_message("user", join_texts_for_model_call("\n\n", fitting)))
    if work.prompt.shown is None:
        work.prompt.shown = render_prompt_history(work.history, work.turn.agent_id, agent.language)
    shown, trigger = _with_pictures(work, info, work.prompt.shown)
    fixed = _fixed_tokens(schemas, system) + estimated_message_tokens((*steps, last))
    fixed += trigger.tokens if trigger else 0
    if fixed > most:
        raise TooLarge(
            f"model {info.name!r} accepts {most} tokens; this turn needs about {fixed}",
            cure="choose a model with a larger input limit, or send less at once",
        )
    room = round((water - fixed) * share)
    return labelled_request(
        model=info.name.partition(":")[2],
        actions=schemas,
        system=system,
        turns=(*_window(work, shown, trigger, room), *steps, last),
        max_output_tokens=output,
        stop=manner.stop,
        timeout_seconds=min(manner.timeout_seconds, rules.model_timeout_seconds),
        reuse_seconds=prompt_reuse_seconds(work),
        **sampling_of_call(info, manner),
    )


def _system(work: TurnWork, memories: PromptText, shares: Shares | None) -> PromptText:
    """Return the system text, which is the same for all calls of a turn with the same memories."""
    prompt = work.prompt
    if memories not in prompt.system:
        told = (prompt.skill_index or NO_TEXT, memories, shares)
        orders = NO_TEXT if prompt.around is None else prompt_owner_instructions(work)
        prompt.system[memories] = system_prompt_text(
            work.profile, work.session, *told, orders=orders
        )
    return prompt.system[memories]


def _orientation(
    work: TurnWork, around: Surroundings, look: PreCallState, memories: PromptText
) -> PromptText:
    """Return the text on the surroundings, which only own turns have."""
    from opencrab.engine.turn.prompt.surroundings import prompt_orientation_text  # noqa: PLC0415

    return prompt_orientation_text(work, around, look.at, estimated_tokens(memories))


def _world(known: KnownWorld, agent: Agent, look: PreCallState) -> PromptText:
    """Return what a bound agent is told of its world; few agents have one."""
    from opencrab.engine.turn.prompt.world_text import prompt_world_text  # noqa: PLC0415

    return prompt_world_text(known, agent.language, look.at)


def _window(
    work: TurnWork, shown: tuple[MessageGroup, ...], trigger: MessageGroup | None, room: int
) -> Shown:
    """Return the part of the session that is shown, with a note about the rest."""
    language = work.profile.agent.language

    def one(line: Line) -> MessageGroup | None:
        return next(iter(render_prompt_history((line,), work.turn.agent_id, language)), None)

    own = prompt_history_tokens(work.turn, work.runtime.rules)
    earlier = EarlierHistory if own is not None else lambda: earlier_prompt_history(work, one)
    most = room if own is None else min(room, own)
    return prompt_history_that_fits(shown, trigger, most, language, earlier)


def _with_pictures(
    work: TurnWork, info: ModelInfo, shown: tuple[MessageGroup, ...]
) -> tuple[tuple[MessageGroup, ...], MessageGroup | None]:
    """Return the history and the trigger in it, with what came with its message."""
    place = work.turn.trigger_line
    trigger = next((group for group in reversed(shown) if group.place == place), None)
    if trigger is None:
        return shown, None
    # Few lines have files, so that most turns look no further.
    prompt = work.prompt
    if prompt.has_files is None:
        prompt.has_files = any(line.has_attachments for line in work.history)
    if prompt.attached is None and not prompt.has_files:
        return shown, trigger
    from opencrab.engine.turn.prompt.attachments import (  # noqa: PLC0415
        prompt_trigger_with_attachments,
    )

    visible = prompt_trigger_with_attachments(work, trigger, info)
    return tuple(visible if group is trigger else group for group in shown), visible


def _schemas(work: TurnWork, info: ModelInfo) -> tuple[ActionSchema, ...]:
    """Return the schemas of the offered actions; () if the model cannot call tools."""
    if not info.functions:
        return ()
    profile, routing = work.profile, work.runtime.models.routing
    mind = work.prompt.mind or profile.mind
    # The settings of models may change between two calls, and nothing else of this.
    known = work.prompt.offered
    if known is None or known[0] is not routing:
        found = work.runtime.actions.schemas(profile.agent, routing, work.turn.authority, mind)
        if work.prompt.turn_actions:
            found += tuple(e.schema(profile.agent.language) for e in work.prompt.turn_actions)
        known = work.prompt.offered = (routing, found)
    return known[1]


def _find_skills(work: TurnWork) -> None:
    """Choose, once for a turn, the skills that its prompts list, and those that fit it.

    Hash bucketing withholds some skills on trial; the next ones that fit take their places. What
    was chosen for a turn's first model call holds for the whole turn, as far as its listeners may
    hear it.
    """
    prompt, agent, first = work.prompt, work.profile.agent, work.transcript.first_call
    if prompt.skill_index is not None:
        return
    shipped, facts = work.runtime.skills, work.runtime.home.facts
    standard = shipped.all()
    if not standard and not work.profile.mind.skills and first is None:
        prompt.skill_index = NO_TEXT
        return
    about = _about(work)
    prompt.mind, folders = _mind_for_folders(work, [one for one in standard if one.folder])
    mind = prompt.mind
    hidden = unreadable_skills(facts, agent.id, mind, work.clearance)
    if hidden:
        mind = mind.replaced(skills=tuple(one for one in mind.skills if one.name not in hidden))
    skills = skills_of_agent(standard, mind)
    prompt.skills_offered, listed = agent_skills_index(skills, agent.language, folders)
    if first is not None:
        prompt.skills, prompt.skills_held = first.skills, first.skills_held
    else:
        fit = prompt.skills = fitting_skills(skills, about)
        resting = _withheld_skills(work, fit) if work.profile.mind.skills else frozenset()
        if resting:
            others = [one for one in skills if one.name not in resting]
            prompt.skills = fitting_skills(others, about)
        prompt.skills_held = tuple(name for name in fit if name in resting)
    # A turn that continues may have more listeners than at its first call.
    texts = (
        skill_text(name, shipped, facts, agent.id, agent.language)
        for name in prompt.skills
        if name not in hidden or shipped.find(name)
    )
    prompt.skill_texts = tuple(text for text in texts if text)
    # Last, since it marks all of this as read, also for a fallback model.
    prompt.skill_index = listed


def _mind_for_folders(
    work: TurnWork, about: list[StandardSkill]
) -> tuple[AgentState, tuple[str, ...]]:
    """Return the agent's state with the skills for its folders, and these folders."""
    if not about:
        return work.profile.mind, ()
    from opencrab.engine.turn.prompt.folders import prompt_mind_for_folders  # noqa: PLC0415

    return prompt_mind_for_folders(work, about)


def _withheld_skills(work: TurnWork, fit: Iterable[str]) -> frozenset[str]:
    """Return the learned skills that this turn goes without; few agents have learned any."""
    from opencrab.engine.turn.prompt.holdouts import withheld_skills  # noqa: PLC0415

    return withheld_skills(work, fit)


def _about(work: TurnWork) -> str:
    """Return the words that skills are matched with: the trigger's text, or what is worked on.

    Work on a goal begins with sentences of OpenCrab, which would fit by accident.
    """
    goal = work.served
    if goal is not None:
        wanted = goal.instruction if goal.given else goal.name
        return "\n".join((wanted, goal.current.name if goal.current else ""))
    if work.session.status is SessionStatus.ENDED:
        # Only OpenCrab speaks there, such as for a discussion's outcome.
        return ""
    trigger = work.trigger
    return trigger.text if trigger else ""


def prompt_token_limit(limit: int, rules: Rules) -> int:
    """Return the most tokens of a request: half of what the model takes, or the setting if less."""
    return min(limit // 2, rules.high_water_tokens)


def prompt_answer_token_limit(info: ModelInfo, rules: Rules, wanted: int | None = None) -> int:
    """Return the most tokens of one answer: at most a quarter of a window shared with the input.

    `wanted` is the setting of the use or agent, which replaces the default.
    """
    limit = min(info.max_output_tokens, wanted or rules.max_output_tokens)
    return limit if info.max_total_tokens is None else min(limit, info.max_total_tokens // 4)


def prompt_input_token_limit(info: ModelInfo, output_tokens: int) -> int:
    """Return the most tokens of the input: the model's limit, or what its total leaves if less."""
    if info.max_total_tokens is None:
        return info.max_input_tokens
    return min(info.max_input_tokens, info.max_total_tokens - output_tokens)


def _steps(work: TurnWork, guidance: dict[str, Instruction]) -> list[ChatMessage | CallReturn]:
    language = work.profile.agent.language
    shown: list[ChatMessage | CallReturn] = []
    told: set[str] = set()
    for step in work.transcript.steps:
        shown.extend(_render_guidance(step.heard, guidance, language))
        told.update(step.heard)
        shown.extend(render_prompt_step(step, tainted=work.turn.taint))
    fresh = (key for key in guidance if key not in told)
    shown.extend(_render_guidance(fresh, guidance, language))
    return shown


def _render_guidance(
    ids: Iterable[str], guidance: dict[str, Instruction], language: Language
) -> list[ChatMessage]:
    given = [guidance[key] for key in ids if key in guidance]
    return [
        labelled_message(
            "user",
            prompt_guidance_text(
                language, each.text, each.authority, prompt_person(each.name, each.by)
            ),
        )
        for each in given
    ]


def _fixed_tokens(schemas: tuple[ActionSchema, ...], system: str) -> int:
    text = "".join(schema.as_json for schema in schemas)
    return estimated_tokens(text) + estimated_tokens(system) + TOKENS_PER_MESSAGE
