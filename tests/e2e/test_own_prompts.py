"""What an agent is asked in turns of its own: read from every prompt of two days of two agents."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import cast

import pytest

from opencrab.actions import GROUPS, Registry
from opencrab.adapters.skill_files import FileSkills
from opencrab.domain.agents.agent import Agent, Identity, Profile
from opencrab.domain.agents.heartbeat import Heartbeat
from opencrab.domain.agents.soul import Personality, Soul
from opencrab.domain.goals.goal import GOAL, Goal, GoalSource, GoalStatus
from opencrab.domain.money.budget import Usage
from opencrab.domain.turn.record import ActionCall, ModelAnswer
from opencrab.domain.value import Language
from opencrab.engine.agents.vital_signs import create_agent_vital_signs
from opencrab.ports.models.model import (
    UNWATCHED,
    AnswerWatch,
    CallReturn,
    ChatMessage,
    ChatModel,
    ChatRequest,
    estimated_tokens,
)
from tests.conftest import ROOT
from tests.contract.homes import sqlite
from tests.crash.errand import RICH
from tests.e2e.beating import minutes, tell
from tests.e2e.house import START, House
from tests.e2e.talking import Instead

LARGEST = {Language.EN: 2_500, Language.JA: 2_600}
"""Tokens of a prompt of its own without the history, as our estimate counts them."""

SAME = 0.8
"""The share of these that is the same from turn to turn, so that providers' caches hold it."""

NAMES = {Language.EN: ("Rowan", "Hazel"), Language.JA: ("葵", "楓")}
IDS = ("q7w1rowan5", "z3k9hazel8")
ORDERS = {
    Language.EN: "Keep a.md up to date with what happens on the beach, and greet newcomers.",
    Language.JA: "浜辺の様子を a.md にまとめ、新しい人にあいさつしてください。",
}
PURPOSES = {
    Language.EN: "Help the beach club know its crabs",
    Language.JA: "海辺クラブがカニを知る手助けをする",
}
REPORT = "REPORT-7 the tide is low"


_SERVED = re.compile(r"\[(?:Goal|Task G\d+-T\d+ .* of goal|目標) (G\d+)")


@dataclass(frozen=True)
class Asked:
    """A request in a turn of an agent's own, and what it says that the turn is about."""

    agent_id: str
    request: ChatRequest

    @property
    def goal_id(self) -> str | None:
        """The goal that the turn serves, as the prompt names it."""
        found = _SERVED.search(self.last)
        return None if found is None else found[1]

    @property
    def is_first(self) -> bool:
        """Whether nothing was done yet in this turn."""
        return not any(isinstance(each, CallReturn) for each in self._turns_since_trigger)

    @property
    def _turns_since_trigger(self) -> tuple[ChatMessage | CallReturn, ...]:
        turns = self.request.turns
        named = [
            place for place, each in enumerate(turns) if isinstance(each, ChatMessage) and each.name
        ]
        return turns[named[-1] :] if named else turns

    @property
    def last(self) -> str:
        """The facts of the moment."""
        last = self.request.turns[-1]
        assert isinstance(last, ChatMessage)
        return last.text

    @property
    def fixed(self) -> str:
        """What stands before the history."""
        actions = "".join(action.model_dump_json() for action in self.request.actions)
        return actions + str(self.request.system)

    @property
    def loaded(self) -> str:
        """The texts of skills that were loaded for this turn."""
        texts = [each.text for each in self.request.turns[:-1] if isinstance(each, ChatMessage)]
        return "\n".join(text for text in texts if text.startswith("# "))

    @property
    def tokens(self) -> int:
        """The size of all but the history."""
        return sum(map(estimated_tokens, (self.fixed, self.loaded, self.last)))

    @property
    def words(self) -> str:
        """All that the model is told in words."""
        texts = (each.text for each in self.request.turns if isinstance(each, ChatMessage))
        return "\n".join((str(self.request.system), *texts))


@dataclass(frozen=True)
class Worker(Instead):
    """A model that writes a file, reports, and remembers what it was asked."""

    asked: list[Asked]

    def chat(
        self, request: ChatRequest, body: bytes, watch: AnswerWatch = UNWATCHED
    ) -> ModelAnswer:
        usage = Usage(input_tokens=1, output_tokens=1)
        if not request.actions:
            return ModelAnswer(text="?", usage=usage)
        asked = Asked(self.info.name.partition(":")[2], request)
        self.asked.append(asked)
        if not asked.is_first:
            return ModelAnswer(text=REPORT, usage=usage)
        write = {"path": f"{len(self.asked)}.md", "content": "x"}
        call = ActionCall(id=f"c{len(self.asked)}", name="ws_write", arguments=write)
        return ModelAnswer(text="", calls=(call,), usage=usage)


def live(house: House, language: Language) -> list[Asked]:
    """Let two agents live for two days, to whom things happen; return what they were asked."""
    asked: list[Asked] = []
    skills = FileSkills(ROOT / "skills")
    house.runtime = replace(house.runtime, skills=skills, actions=Registry(GROUPS, skills))
    house.provider.wrap = lambda model: cast(ChatModel, Worker(model, asked))
    for agent_id, name in zip(IDS, NAMES[language], strict=True):
        agent = Agent(
            id=agent_id,
            name=name,
            language=language,
            model=f"fake:{agent_id}",
            owner="owner",
            purpose=PURPOSES[language],
            heartbeat=Heartbeat(instructions=ORDERS[language], enabled=True),
            created_at=START,
            updated_at=START,
        )
        soul = Soul(persona_name=name, personality=Personality(openness=0.8, agreeableness=0.7))
        profile = Profile(agent=agent, soul=soul, identity=Identity(name=name))
        create_agent_vital_signs(house.runtime, house.home.agents.create(profile))
    for day in range(2):
        tell(house, IDS[0], 10 * day + 1)
        minutes(house, 60, step=30)
        said = {"type": "speech", "source": IDS[0], "session_id": "s", "text": "?"}
        tell(house, IDS[1], 10 * day + 2, opportunity=True, **said)
        minutes(house, 23 * 60, step=60)
    return asked


@pytest.fixture(scope="module", params=Language)
def lived(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Language, list[Asked], dict[tuple[str, str], Goal]]]:
    """The language, what was asked, and the goals by agent and id."""
    house = House(sqlite, tmp_path_factory.mktemp("lived"), RICH)
    asked = live(house, request.param)
    stored = (fact for who in IDS for fact in house.home.facts.page(who, GOAL, limit=200))
    goals = {(goal.agent_id, goal.id): goal for goal in (fact.read(Goal) for fact in stored)}
    yield request.param, asked, goals
    house.close()


Lived = tuple[Language, list[Asked], dict[tuple[str, str], Goal]]


def source_of(each: Asked, lived: Lived) -> GoalSource | None:
    """The source of the goal that a turn serves."""
    goal_id = each.goal_id
    return None if goal_id is None else lived[2][each.agent_id, goal_id].source


def test_the_agents_are_asked_about_every_kind_of_own_turn(lived: Lived) -> None:
    kinds = {source_of(each, lived) for each in lived[1]}
    assert kinds >= {None, GoalSource.ROLE, GoalSource.OPPORTUNITY, GoalSource.SOCIAL}
    assert len(lived[1]) >= 30


def test_what_the_owner_wants_unasked_is_in_every_own_prompt(lived: Lived) -> None:
    language, asked, _ = lived
    assert [each.words.count(ORDERS[language]) >= 1 for each in asked] == [True] * len(asked)


def test_the_goal_of_a_turn_and_what_surrounds_it_are_told_once(lived: Lived) -> None:
    language, asked, goals = lived
    for each in asked:
        assert each.last.count("09:") + each.last.count("10:") <= 2, each.last
        goal = None if each.goal_id is None else goals[each.agent_id, each.goal_id]
        if goal is not None:
            assert each.last.count(goal.name) == 1
        assert PURPOSES[language] not in each.last or (goal and PURPOSES[language] in goal.name)
        assert not re.search(r"\d \+ \d", each.last)


def test_every_second_step_knows_the_report_of_the_one_before(lived: Lived) -> None:
    seen: dict[tuple[str, str], int] = {}
    told = 0
    for each in lived[1]:
        if each.is_first and source_of(each, lived) is GoalSource.ROLE and each.goal_id:
            name = lived[2][each.agent_id, each.goal_id].name
            before = seen.setdefault((each.agent_id, name), 0)
            assert (REPORT in each.words) is (before > 0)
            seen[each.agent_id, name] += 1
            told += before > 0
    assert told >= 4


def test_agents_are_named_by_name_and_never_by_a_bare_id(lived: Lived) -> None:
    language, asked, _ = lived
    for each in asked:
        for agent_id, name in zip(IDS, NAMES[language], strict=True):
            rest = each.words.replace(f"{name} ({agent_id})", "").replace(f"fake:{agent_id}", "")
            assert agent_id not in rest


def test_a_prompt_is_small_and_mostly_the_same_from_turn_to_turn(lived: Lived) -> None:
    language, asked, _ = lived
    assert max(each.tokens for each in asked) <= LARGEST[language]
    for agent_id in IDS:
        fixed = {each.fixed for each in asked if each.agent_id == agent_id}
        assert len(fixed) == 1
    shares = [estimated_tokens(each.fixed) / each.tokens for each in asked]
    assert min(shares) >= SAME


def test_a_social_goal_is_not_reached_without_reaching_anybody(lived: Lived) -> None:
    social = [goal for goal in lived[2].values() if goal.source is GoalSource.SOCIAL]
    assert social
    assert {goal.status for goal in social} == {GoalStatus.ABANDONED}
