"""An agent's experience with models: saving it, and recalling it for a task."""

from collections.abc import Iterator
from itertools import islice
from typing import Annotated, Any

from pydantic import Field, StringConstraints

from opencrab.actions.models.measure import group
from opencrab.actions.models.text import action_text_for_models
from opencrab.domain.access.impact import Impact
from opencrab.domain.document import new_fact
from opencrab.domain.errors import Invalid
from opencrab.domain.learning.skill_trials import may_vouch_for_learned_skill
from opencrab.domain.memory.memory import EXPERIENCE, Experience
from opencrab.domain.memory.search_row import memory_search_row_of_experience
from opencrab.domain.models.routing import Use
from opencrab.domain.outcome import Outcome
from opencrab.domain.text.plain import clean_text, text_on_one_line
from opencrab.domain.text.terms import share_of_terms_in_text, text_terms
from opencrab.domain.turn.action import ActionResult, Effect
from opencrab.domain.value import ShortText, Stripped, Value
from opencrab.ports.turn.action import PAGED_BYTES, ActionContext, byte_count_of_turn_json

__all__ = ["group"]

SHOWN_BYTES = 16 * 1024
_MOST = 50
_PAGE, _PAGES = 100, 10
_MODEL = 200

Words = Annotated[Stripped, StringConstraints(min_length=1, max_length=900)]


class RecallModelExperiences(Value):
    model: ShortText = ""
    task: ShortText = Field("", description="Words of the task")
    limit: int = Field(10, ge=1, le=_MOST)
    before: ShortText = ""


class SaveModelInsight(Value):
    situation: Words
    observation: Words = Field(description="What you saw")
    recommendation: Words = Field(description="What to do next time")
    model: ShortText = Field("", description="Empty: the one that you think with")


@group.action(
    impact=Impact.READ,
    effect=Effect.PURE,
    sentences=("Recall experiences with {model}", "モデル{model}の経験を思い出す"),
    ja="モデルについての経験を思い出します。model と task の言葉で絞れます。",
    result_bytes=PAGED_BYTES,
    spills=False,
)
def recall_model_experiences(
    arguments: RecallModelExperiences, context: ActionContext
) -> ActionResult:
    """Recall what you learned about models, the newest first; `model` and `task` narrow it."""
    found = list(islice(_experiences(arguments, context), arguments.limit + 1))
    shown, room = list[dict[str, Any]](), SHOWN_BYTES
    for lived in found[: arguments.limit]:
        told = _lived_told(lived)
        room -= byte_count_of_turn_json(told) + len(", ")
        if room < 0 and shown:
            break
        shown.append(told)
    data: dict[str, Any] = {"experiences": shown}
    if len(shown) < len(found):
        data["next_before"] = found[len(shown) - 1].id
    if not shown:
        data["note"] = action_text_for_models("no_experience", context.agent.language)
    tainted = any(lived.tainted for lived in found[: len(shown)])
    return ActionResult.ok(**data).replaced(taint=tainted)


@group.action(
    impact=Impact.SELF,
    effect=Effect.TRANSACTIONAL,
    sentences=("Note about a model: {recommendation}", "モデルの知見を残す: {recommendation}"),
    ja="モデルについて気づいたことを残します。recall_model_experiences で思い出せます。",
    argument_bytes=20 * 1024,
)
def save_model_insight(arguments: SaveModelInsight, context: ActionContext) -> ActionResult:
    """Keep what you found out about a model; recall_model_experiences finds it again."""
    now, turn = context.clock.now(), context.turn
    observed = f"{clean_text(arguments.situation)}\n{clean_text(arguments.observation)}".strip()
    lesson = clean_text(arguments.recommendation)
    if not observed or not lesson:
        raise Invalid(
            "observation or recommendation has no visible characters",
            field="recommendation",
            cure="write text",
        )
    lived = Experience(
        id=context.clock.new_id(),
        experience=observed,
        outcome=Outcome.PARTIAL,
        lesson=lesson,
        about_turn=turn.id,
        model=_resolve_model_name(arguments.model, context),
        tainted=turn.taint or not may_vouch_for_learned_skill(turn),
        turn_id=turn.id,
        session_id=context.session.id,
        person_id=turn.principal_id,
        at=now,
    )
    fact = new_fact(context.agent.id, EXPERIENCE, lived.id, lived)
    return ActionResult.ok(experience_id=lived.id, model=lived.model).keeping(fact)


def _resolve_model_name(given: str, context: ActionContext) -> str:
    """Return the full name of the model of an insight, or the given text if it is not known."""
    named = text_on_one_line(given)[:_MODEL]
    routing = context.reach.models.routing
    chosen = routing.chosen(Use.CONVERSATION, context.basis, context.choices).model
    try:
        return context.reach.models.get(named or chosen).info.name
    except Invalid:
        return named or chosen


def _experiences(arguments: RecallModelExperiences, context: ActionContext) -> Iterator[Experience]:
    """Yield experiences with models that match and may be read here, newest first."""
    after = arguments.before.strip()
    if after and not (after.isascii() and after.isalnum()):
        raise Invalid(
            f"invalid ID {after[:100]!r}",
            field="before",
            cure="use next_before of the last page",
        )
    cleared = context.clearance.search
    wanted, sought = _words(arguments.model, context), text_terms(arguments.task)
    for _ in range(_PAGES):
        page = context.reach.facts.page(
            context.agent.id, EXPERIENCE, after=after, limit=_PAGE, newest_first=True
        )
        for lived in (fact.read(Experience) for fact in page):
            named = not wanted or any(each in lived.model for each in wanted)
            fits = lived.model and named and not lived.retired_at
            told = (
                not sought
                or share_of_terms_in_text(sought, f"{lived.experience}\n{lived.lesson}") > 0
            )
            if fits and told and cleared.allows(memory_search_row_of_experience(lived)):
                yield lived
        if len(page) < _PAGE:
            return
        after = page[-1].id


def _words(model: str, context: ActionContext) -> tuple[str, ...]:
    """Return the names that match an experience's model: the given one and its alias target."""
    given = text_on_one_line(model)
    meant = context.reach.models.routing.aliases.get(given)
    return tuple(each for each in (given, meant) if each)


def _lived_told(lived: Experience) -> dict[str, Any]:
    return {
        "id": lived.id,
        "at": lived.at.isoformat(),
        "model": lived.model,
        "outcome": lived.outcome.value,
        "experience": lived.experience,
        "lesson": lived.lesson,
    }
