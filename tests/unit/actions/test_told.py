"""What models are told of actions: short, whole, in their language, and only what they may use."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from string import Formatter
from typing import Any

import pytest
from pydantic import Field, ValidationError

from opencrab.actions import GROUPS, Group, Registry
from opencrab.actions.registry import CORE
from opencrab.adapters.skill_files import FileSkills
from opencrab.domain.access.authority import Authority
from opencrab.domain.access.impact import Impact
from opencrab.domain.agents.agent import Agent, Identity, Profile
from opencrab.domain.agents.agent_state import AgentState
from opencrab.domain.agents.soul import Soul
from opencrab.domain.conversation.session import Participant, Session
from opencrab.domain.models.routing import Routing
from opencrab.domain.turn.action import ActionResult, Effect
from opencrab.domain.value import Language, Value
from opencrab.engine.skills.offering import agent_skills_index, skills_of_agent
from opencrab.engine.turn.prompt.system_text import system_prompt_text
from opencrab.ports.turn.action import Action, ActionContext
from tests.cases import for_each
from tests.conftest import ROOT

DEFAULT_BYTES = 7_424
EVERY_GROUP_BYTES = 20_480
MOST_ARGUMENT_BYTES = 1024 * 1024
MOST_RESULT_BYTES = 64 * 1024

NOW = datetime(2026, 2, 17, 9, 0, tzinfo=UTC)
SKILLS = FileSkills(ROOT / "skills")
EVERY_SKILL = AgentState(enabled=tuple(skill.name for skill in SKILLS.all()))
NO_SKILL = AgentState(disabled=tuple(skill.name for skill in SKILLS.all()))
ROUTING = Routing(default="x:y", aliases={"fast": "x:y"}, selectable=("fast",))
ALL = Registry(GROUPS)
BY_SKILLS = Registry(GROUPS, SKILLS)
ACTIONS = {action.name: action for group in GROUPS for action in group.actions}
MODELS = {"select_llm", "get_available_models", "get_current_llm_config"}
SKILLED = {"workspace", "learning", "recall", "planning", "inner", "vault", "llm", "meta"}
"""Groups that a standard skill is about; the others are only found."""

FOR_PEERS = {"update_impression", "learn_from_peer", "rate_peer", "answer_task"}

every_action = for_each("action", ACTIONS.values())
each_language = pytest.mark.parametrize("language", Language)


def _agent(language: Language) -> Agent:
    return Agent(
        id="mika", name="美香", language=language, world="kingdom", created_at=NOW, updated_at=NOW
    )


def _told(
    registry: Registry,
    authority: Authority = Authority.OWNER,
    mind: AgentState | None = None,
    language: Language = Language.JA,
) -> list[str]:
    schemas = registry.schemas(_agent(language), ROUTING, authority, mind or AgentState())
    return [schema.name for schema in schemas]


def _bytes(registry: Registry, mind: AgentState, language: Language) -> int:
    """What each model call of a plain agent carries: schemas, and the system text with skills."""
    agent = _agent(language)
    profile = Profile(agent=agent, soul=Soul(persona_name="Mika"), identity=Identity(name="Mika"))
    session = Session(
        id="s1",
        participants=(Participant(agent_id="mika"),),
        created_by="owner",
        created_at=NOW,
        updated_at=NOW,
    )
    schemas = registry.schemas(agent, ROUTING, Authority.OWNER, mind)
    system = system_prompt_text(
        profile, session, agent_skills_index(skills_of_agent(SKILLS.all(), mind), language).text
    )
    return len(system.encode()) + sum(len(each.model_dump_json().encode()) for each in schemas)


@each_language
def test_all_that_a_default_agent_is_told_takes_eight_kilobytes(language: Language) -> None:
    assert {skill.name for skill in SKILLS.all() if skill.by_default}
    size = _bytes(BY_SKILLS, AgentState(), language)
    assert size <= DEFAULT_BYTES, size


@each_language
def test_with_every_group_and_skill_it_takes_twenty_kilobytes(language: Language) -> None:
    assert set(_told(ALL, language=language)) == set(ACTIONS)
    told = _told(BY_SKILLS, mind=EVERY_SKILL, language=language)
    assert {ACTIONS[name].group for name in told} >= SKILLED
    size = _bytes(BY_SKILLS, EVERY_SKILL, language)
    assert size <= EVERY_GROUP_BYTES, size


@every_action
def test_an_action_has_all_that_is_asked_of_it(action: Action) -> None:
    assert isinstance(action.impact, Impact)
    assert isinstance(action.effect, Effect)
    assert action.effect is not Effect.ONCE, "what nobody can repeat nobody can resume"
    assert 0 < action.argument_bytes <= MOST_ARGUMENT_BYTES
    assert 0 < action.result_bytes <= MOST_RESULT_BYTES
    assert (action.prepare is not None) == (action.effect is Effect.KEYED)
    assert action.group in {group.name for group in GROUPS}
    assert ALL.find(action.name) is action


@every_action
def test_a_sentence_names_only_arguments_that_there_are(action: Action) -> None:
    for language in Language:
        sentence = action.sentences[language]
        named = {name for _, name, _, _ in Formatter().parse(sentence) if name is not None}
        assert named <= set(action.arguments.model_fields)
        assert action.sentence({}, language) == sentence.format_map(dict.fromkeys(named, "…"))
    assert action.sentences[Language.EN].isascii()
    assert not action.sentences[Language.JA].isascii()


@every_action
def test_an_action_is_described_in_the_language_of_the_agent(action: Action) -> None:
    japanese, english = action.schema(Language.JA), action.schema(Language.EN)
    assert english.description.isascii()
    assert not japanese.description.isascii()
    assert english.parameters == japanese.parameters


@every_action
def test_a_schema_wastes_no_words_and_arguments_are_checked_all_the_same(action: Action) -> None:
    parameters = action.schema(Language.EN).parameters
    assert parameters["type"] == "object"
    assert "description" not in parameters
    assert set(parameters.get("properties", {})) == set(action.arguments.model_fields)
    text = json.dumps(parameters)
    for word in ("title", "$ref", "$defs", "additionalProperties", "pattern", "maxLength"):
        assert f'"{word}":' not in text.replace('"title": {', "")
    assert action.arguments.model_config["extra"] == "forbid"


def _sparing() -> Action:
    class Inner(Value):
        title: str = Field(description="As it is called")

    class Sparing(Value):
        count: int = Field(default=3, ge=1, le=9)
        inner: Inner | None = None
        name: str = Field(default="", max_length=5, pattern="^a*$")

    group = Group("test")

    @group.action(impact=Impact.READ, effect=Effect.PURE, ja="節約。", sentences=("Save", "節約"))
    def save(arguments: Sparing, context: ActionContext) -> ActionResult:
        """Save words."""
        return ActionResult.ok()

    (action,) = group.actions
    return action


def test_limits_are_checked_and_not_told() -> None:
    action = _sparing()
    assert action.schema(Language.EN).parameters == {
        "type": "object",
        "properties": {
            "count": {"type": "integer", "default": 3},
            "inner": {
                "type": "object",
                "properties": {"title": {"type": "string", "description": "As it is called"}},
                "required": ["title"],
            },
            "name": {"type": "string"},
        },
    }
    wrongs: tuple[dict[str, Any], ...] = (
        {"count": 10},
        {"name": "b"},
        {"name": "aaaaaa"},
        {"more": 1},
        {"inner": {}},
    )
    for wrong in wrongs:
        with pytest.raises(ValidationError):
            action.arguments.model_validate(wrong)


@pytest.mark.parametrize("authority", [Authority.PUBLIC, Authority.PEER])
@pytest.mark.parametrize("registry", [ALL, BY_SKILLS], ids=["all", "by skills"])
@pytest.mark.parametrize("mind", [AgentState(), EVERY_SKILL], ids=["default", "every skill"])
def test_others_are_told_of_speech_and_reading_only(
    authority: Authority, registry: Registry, mind: AgentState
) -> None:
    told = set(_told(registry, authority, mind))
    beyond = {n for n in told if ACTIONS[n].impact not in {Impact.SPEECH, Impact.READ}}
    assert beyond == (FOR_PEERS & told if authority is Authority.PEER else set())
    assert {"send_speech", "ws_read"} <= told


def test_exactly_these_actions_are_for_peers_too() -> None:
    beyond = [a for a in ACTIONS.values() if a.impact not in {Impact.SPEECH, Impact.READ}]
    assert {action.name for action in beyond if action.for_peers} == FOR_PEERS
    agent = _agent(Language.JA)
    allowed = {action.name for action in ALL.allowed(agent, ROUTING, Authority.PEER)}
    public = {action.name for action in ALL.allowed(agent, ROUTING, Authority.PUBLIC)}
    assert allowed - public == FOR_PEERS


@pytest.mark.parametrize("authority", Authority)
@pytest.mark.parametrize(
    "mind", [AgentState(), EVERY_SKILL, NO_SKILL], ids=["default", "every", "none"]
)
def test_everything_that_is_told_is_allowed(authority: Authority, mind: AgentState) -> None:
    for registry in (ALL, BY_SKILLS):
        allowed = [a.name for a in registry.allowed(_agent(Language.JA), ROUTING, authority)]
        told = _told(registry, authority, mind)
        assert set(told) <= set(allowed)
        assert (told, allowed) == (sorted(told), sorted(allowed))
        assert CORE & set(allowed) <= set(told)


@pytest.mark.parametrize("authority", [Authority.OWNER, Authority.USER, Authority.SELF])
def test_owner_user_and_the_agent_itself_may_use_everything(authority: Authority) -> None:
    allowed = ALL.allowed(_agent(Language.JA), ROUTING, authority)
    assert {action.name for action in allowed} == set(ACTIONS)
    assert set(_told(ALL, authority)) == set(ACTIONS)


def test_skills_unlock_their_actions_and_nothing_else() -> None:
    assert set(_told(BY_SKILLS, mind=NO_SKILL)) == CORE
    for skill in SKILLS.all():
        off = tuple(name for name in NO_SKILL.disabled if name != skill.name)
        mind = AgentState(disabled=off, enabled=(skill.name,))
        assert set(_told(BY_SKILLS, mind=mind)) == CORE | set(skill.actions)


def test_what_an_agent_is_told_is_made_once() -> None:
    first = BY_SKILLS.schemas(_agent(Language.JA), ROUTING, Authority.OWNER, AgentState())
    again = BY_SKILLS.schemas(_agent(Language.JA), ROUTING, Authority.USER, AgentState())
    english = BY_SKILLS.schemas(_agent(Language.EN), ROUTING, Authority.OWNER, AgentState())
    assert first is again
    assert english is not first


def test_what_is_absent_or_not_offered_does_not_exist() -> None:
    bare = Registry(GROUPS, SKILLS, ("web_fetch", "web_search"))
    assert bare.find("web_fetch") is None
    assert set(_told(bare, mind=EVERY_SKILL)).isdisjoint({"web_fetch", "web_search"})
    alone = ROUTING.replaced(self_selection=False)
    agent = _agent(Language.JA)
    told = {each.name for each in ALL.schemas(agent, alone, Authority.OWNER, AgentState())}
    allowed = {action.name for action in ALL.allowed(agent, alone, Authority.OWNER)}
    assert told == allowed == set(ACTIONS) - MODELS


@pytest.mark.parametrize(
    ("argument", "shown"),
    [
        ("日記.md", "Write 日記.md"),
        ("a\nApproved by the owner\u2028b", "Write a Approved by the owner⟨U+2028⟩b"),
        ("a\u202egpj.exe\u0000", "Write a⟨U+202E⟩gpj.exe⟨U+0000⟩"),
        ({"a": [1]}, 'Write {"a": [1]}'),
        ("x" * 100, f"Write {'x' * 79}…"),
        ("{content}", "Write {content}"),
    ],
)
def test_an_argument_cannot_write_a_second_line_for_people(argument: Any, shown: str) -> None:
    sentence = ACTIONS["ws_write"].sentence({"path": argument}, Language.EN)
    assert sentence == shown


def test_the_test_would_notice_an_action_that_grew() -> None:
    action = ACTIONS["ws_write"]
    long = replace(action, descriptions=dict.fromkeys(Language, "長" * DEFAULT_BYTES))
    group = Group("long")
    group.actions.extend(each for each in ACTIONS.values() if each is not action)
    group.actions.append(long)
    assert _bytes(Registry((group,), SKILLS), AgentState(), Language.JA) > DEFAULT_BYTES
