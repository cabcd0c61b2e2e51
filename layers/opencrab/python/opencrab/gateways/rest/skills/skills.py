"""An agent's skills: what it can do by words, seen, written, switched and approved by its owner."""

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import Depends, Path, Response
from pydantic import Field

from opencrab.domain.errors import Conflict, Invalid
from opencrab.domain.insight.skill_title import learned_skill_title
from opencrab.domain.name import NewName
from opencrab.domain.skills.lifecycle import SkillLesson, guidance_naming_actions, skill_lesson
from opencrab.domain.skills.skill import (
    AcquiredSkill,
    Description,
    Effectiveness,
    Pattern,
    SkillName,
    SkillStatus,
    SourceType,
    StandardSkill,
)
from opencrab.domain.value import Language, Text, Value
from opencrab.engine.skills.owner import SkillOwner, SkillState
from opencrab.gateways.rest.http.access import AgentReader, Owner
from opencrab.gateways.rest.http.body import Strict, http_routes_below
from opencrab.gateways.rest.http.dependencies import Api, Id
from opencrab.gateways.rest.http.etag import Edit, IfMatch, parse_http_if_match, set_http_etag
from opencrab.gateways.rest.http.idempotency import IdempotentRequest, Repeatable
from opencrab.gateways.rest.http.page import Page, Paged, http_page_of_list

LISTING = "skills"

router = http_routes_below("/api/agents/{agent_id}/skills", "skills")

_APPROVED = frozenset({SkillStatus.CANDIDATE, SkillStatus.ACTIVE, SkillStatus.DISABLED})
_RESTORED = _APPROVED | {SkillStatus.QUARANTINED}

Skill = Annotated[SkillName, Path()]


async def _keeper(api: Api, caller: Owner, agent_id: Id) -> SkillOwner:
    return SkillOwner(api.runtime, agent_id, caller.principal.id)


async def _looker(api: Api, _caller: AgentReader, agent_id: Id) -> SkillOwner:
    return SkillOwner(api.runtime, agent_id)


Keeping = Annotated[SkillOwner, Depends(_keeper)]
Looking = Annotated[SkillOwner, Depends(_looker)]


class SkillPut(Value, defer_build=False):
    """A skill's text; an owner's skill needs neither approval nor a trial."""

    description: Description
    situation_pattern: Pattern = Field(
        default="",
        description="when the skill fits; alternatives are separated by |: a message must have all "
        "words of one of them, in Japanese its text",
    )
    guidance: Annotated[Text, Field(min_length=1)] = Field(description="Markdown, 8 KB at most")
    actions: tuple[str, ...] = Field(
        default=(), max_length=20, description="actions that it uses, named at its end"
    )
    trial: bool = Field(
        default=False,
        description="measure its effect first: until that is known, it is withheld from a random "
        "share of the turns that it fits (`withheld_percent`)",
    )

    def lesson(self, name: str, keeper: SkillOwner) -> SkillLesson:
        """Return the skill under a name, without invisible characters; raises Invalid."""
        find = keeper.runtime.actions.find
        return skill_lesson(
            name,
            self.description,
            situation_pattern=self.situation_pattern,
            guidance=guidance_naming_actions(
                self.guidance, self.actions, lambda action: find(action) is not None
            ),
        )


class NewSkill(SkillPut, defer_build=False):
    """A skill to create."""

    name: NewName = Field(description="lower case, digits and hyphens; any other name is replaced")


class SkillSwitch(Value, defer_build=False):
    """The state to which a skill is switched; if omitted, it is toggled.

    An acquired skill that its owner switches on stays on: there is no trial and no automatic
    change.
    """

    on: bool | None = None


class _Read(Value):
    """The version of the skill that the caller has read, as a part of the request."""

    version: int | None


class SkillSummary(Value):
    """A skill without its text; `version` counts the changes of an acquired one.

    A `candidate` is on trial: it is withheld from `withheld_percent` of the turns that it fits,
    any other from none. One that `waits` becomes a candidate when there is room. `effectiveness` is
    in points of 100. `title` is the name that it was given, such as a Japanese one.
    """

    name: str
    title: str
    kind: Literal["standard", "acquired"]
    status: SkillStatus
    description: str
    situation_pattern: str
    version: str
    actions: tuple[str, ...] = ()
    source_type: SourceType | None = None
    source_context: str = ""
    taught_by: str = ""
    turn_id: str = ""
    tainted: bool = False
    approved_by: str | None = None
    retired_by: str | None = None
    usage_count: int = 0
    waits: bool = False
    withheld_percent: int = 0
    effectiveness: Effectiveness | None = None
    worded_at: datetime | None = None
    last_used_at: datetime | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None


class SkillView(SkillSummary):
    """A skill with its text."""

    guidance: str


@router.get("")
def list_skills(keeper: Looking, query: Paged) -> Page[SkillSummary]:
    """List standard skills, then acquired ones.

    Retired skills (status `archived`) are included.
    """
    items, cursor = http_page_of_list(LISTING, query, keeper.all, lambda kept: kept.skill.name)
    language = _language(keeper)
    shown = tuple(SkillSummary(**_skill_summary(kept, language, keeper)) for kept in items)
    return Page(items=shown, next_cursor=cursor)


@router.post("", status_code=201, response_model=SkillView)
def create_skill(keeper: Keeping, once: Repeatable, body: Strict[NewSkill]) -> Response:
    """Create a skill.

    The response has the name under which it is stored. An owner's skill is used from the next turn
    that it fits on, or tried first with `trial`.
    """
    what = body.lesson(body.name, keeper)

    def make(*, only_new: bool = True) -> SkillView:
        put = keeper.put(what, trial=body.trial, only_new=only_new)
        return _view(put, keeper)

    return once.answer(body, make, status=201, again=lambda: make(only_new=False))


@router.get("/{skill}")
def get_skill(keeper: Looking, skill: Skill, response: Response) -> SkillView:
    """Get a skill with its text.

    ETag holds the version of an acquired skill.
    """
    return _view_with_etag(response, keeper, keeper.get(skill))


@router.put("/{skill}")
def put_skill(keeper: Keeping, skill: Skill, body: Strict[SkillPut], edit: Edit) -> SkillView:
    """Create or replace an acquired skill.

    Standard skills cannot be changed.
    """
    what, version = body.lesson(skill, keeper), edit.version
    put = keeper.put(what, trial=body.trial, version=version)
    return _view_with_etag(edit.response, keeper, put)


@router.delete("/{skill}")
def retire_skill(keeper: Keeping, skill: Skill, response: Response) -> SkillView:
    """Retire an acquired skill.

    Its status is `archived`; it is not used until an owner restores it.
    """
    return _view_with_etag(response, keeper, keeper.retire(skill))


@router.post("/{skill}/toggle", response_model=SkillView)
def toggle_skill(
    keeper: Keeping, skill: Skill, once: Repeatable, body: Strict[SkillSwitch]
) -> Response:
    """Switch a skill on or off.

    It applies from the next turn on.
    """
    return once.answer(body, lambda: _view(keeper.toggle(skill, on=body.on), keeper))


@router.post("/{skill}/approve", response_model=SkillView)
def approve_skill(
    keeper: Keeping, skill: Skill, once: Repeatable, if_match: IfMatch = None
) -> Response:
    """Approve a skill that waits for approval (status `quarantined`).

    If-Match is required and names the version that was read; another version gives status 409.
    """
    version = parse_http_if_match(if_match)

    def act() -> SkillState:
        if version is None and isinstance(keeper.get(skill).skill, AcquiredSkill):
            raise Invalid(
                "approving needs the version that you read",
                field="If-Match",
                cure="send it as If-Match",
            )
        return keeper.approve(skill, version=version)

    return _run_idempotent_change(
        once, keeper, skill, act, after=_APPROVED, body=_Read(version=version)
    )


@router.post("/{skill}/restore", response_model=SkillView)
def restore_skill(keeper: Keeping, skill: Skill, once: Repeatable) -> Response:
    """Restore a retired skill (status `archived`).

    Its trial starts again. A skill that was never approved waits for approval.
    """

    def act() -> SkillState:
        return keeper.restore(skill)

    return _run_idempotent_change(once, keeper, skill, act, after=_RESTORED)


def _run_idempotent_change(
    once: IdempotentRequest,
    keeper: SkillOwner,
    name: str,
    act: Callable[[], SkillState],
    *,
    after: frozenset[SkillStatus],
    body: Value | None = None,
) -> Response:
    """Carry out a change once; after a crash, a repeat accepts a skill in the state `after`."""

    def again() -> SkillView:
        try:
            kept = act()
        except Conflict:
            kept = keeper.get(name)
            if not isinstance(kept.skill, AcquiredSkill) or kept.skill.status not in after:
                raise
        return _view(kept, keeper)

    return once.answer(body, lambda: _view(act(), keeper), again=again)


def _language(keeper: SkillOwner) -> Language:
    """Return the agent's language; raises NotFound if there is no such agent."""
    return keeper.runtime.home.agents.get(keeper.agent_id).agent.language


def _view_with_etag(response: Response, keeper: SkillOwner, kept: SkillState) -> SkillView:
    if isinstance(kept.skill, AcquiredSkill):
        set_http_etag(response, kept.skill.version)
    return _view(kept, keeper)


def _view(kept: SkillState, keeper: SkillOwner) -> SkillView:
    skill, language = kept.skill, _language(keeper)
    text = skill.text(language) if isinstance(skill, StandardSkill) else skill.guidance
    return SkillView(**_skill_summary(kept, language, keeper), guidance=text)


def _skill_summary(kept: SkillState, language: Language, keeper: SkillOwner) -> dict[str, Any]:
    skill = kept.skill
    if isinstance(skill, StandardSkill):
        return {
            "name": skill.name,
            "title": skill.name,
            "kind": "standard",
            "status": SkillStatus.ACTIVE if kept.on else SkillStatus.DISABLED,
            "description": skill.description(language),
            "situation_pattern": skill.situation_pattern,
            "version": skill.version,
            "actions": skill.actions,
        }
    known = {name: value for name, value in skill if name in SkillSummary.model_fields}
    tried = skill.status is SkillStatus.CANDIDATE
    return {
        **known,
        "title": learned_skill_title(skill.name, skill.description),
        "kind": "acquired",
        "version": str(skill.version),
        "withheld_percent": keeper.withheld_percent(skill.name) if tried else 0,
    }
