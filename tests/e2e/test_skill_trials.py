"""Skills on trial in whole turns: given or withheld by the coin, and else nothing differs."""

from collections import Counter
from typing import Any

import pytest

from opencrab.domain.agents.agent_state import MIND, AgentState
from opencrab.domain.document import new_fact
from opencrab.domain.learning.signals import (
    CURRENT,
    SKILL_HOLDOUTS,
    SkillHoldouts,
    draw_learned_skill_holdouts,
)
from opencrab.domain.learning.skill_trials import index_learned_skill
from opencrab.domain.skills.lifecycle import (
    SkillTeaching,
    promote_learned_skill,
    skill_lesson,
    teach_learned_skill,
)
from opencrab.domain.skills.skill import SKILL, SourceType
from opencrab.domain.turn.record import ModelIntent
from opencrab.domain.value import Language
from opencrab.ports.models.model import ChatMessage, ChatRequest
from tests.crash.outside import Reply
from tests.crash.scheduling import Killed
from tests.e2e.house import START, House

TURNS = 40
MESSAGE = "この請求書 invoice 領収書 receipt を見て"
HALF = SkillHoldouts(at=START, shares={name: {"": 0.5} for name in ("first", "second", "third")})
"""What a night made of the trials: every skill is withheld from half of its turns."""

OWN = SkillTeaching(source_type=SourceType.REFLECTION, taught_by="owner", vouched=True)
PATTERNS = {"first": "請求書|invoice|領収書", "second": "請求書|invoice", "third": "receipt"}
"""Skills that all fit the message, the better ones first; two of them have a place."""


def knowing(house: House, settled: tuple[str, ...] = ()) -> None:
    """The agent `crab` with three skills that fit, on trial but for the settled ones."""
    agent = house.agent("crab", (Reply("見ました"),), Language.JA)
    house.session(agent)
    mind = AgentState()
    for name, pattern in PATTERNS.items():
        what = skill_lesson(name, "x", situation_pattern=pattern, guidance=f"# {name} の手順")
        skill = teach_learned_skill(None, what, OWN, START)
        skill = promote_learned_skill(skill, START) if name in settled else skill
        house.home.facts.commit(new_fact("crab", SKILL, name, skill))
        mind = index_learned_skill(mind, skill)
    house.home.facts.commit(new_fact("crab", MIND, MIND, mind))


def minded(house: House, **changes: Any) -> AgentState:
    """The mind of `crab`, with these changes made to it."""
    fact = house.home.facts.get("crab", MIND, MIND)
    assert fact is not None
    mind = fact.read(AgentState).replaced(**changes)
    house.home.facts.commit(fact.with_body(mind))
    return mind


def intents(house: House, turn_id: str) -> list[ModelIntent]:
    """The model calls of a turn, as its journal tells them."""
    records = house.home.journal.load(turn_id).records
    return [record for record in records if isinstance(record, ModelIntent)]


def told(request: ChatRequest) -> set[str]:
    """The skills whose text a request holds."""
    shown = "".join(said.text for said in request.turns if isinstance(said, ChatMessage))
    return {name for name in PATTERNS if f"# {name} の手順" in shown}


def test_a_share_is_withheld_and_the_next_ones_take_their_places(home: House) -> None:
    knowing(home)
    mind, held, asked = minded(home), 0, list[ChatRequest]()
    home.home.facts.commit(new_fact("crab", SKILL_HOLDOUTS, CURRENT, HALF))
    for number in range(TURNS):
        (turn,) = home.say(MESSAGE, f"m{number}")
        home.work()
        (intent,) = intents(home, turn.id)
        resting = draw_learned_skill_holdouts(mind, HALF, turn.id, intent.task_type, 100)
        best = ("first", "second")
        given = [name for name in PATTERNS if name not in resting]
        assert intent.skills == tuple(given[:2])
        assert intent.skills_held == tuple(name for name in best if name in resting)
        asked.append(next(each for each in reversed(home.provider.seen) if each.actions))
        assert (told(asked[-1]), intent.skills_offered) == (set(intent.skills), ())
        held += len(intent.skills_held)
    assert 0.3 * 2 * TURNS <= held <= 0.7 * 2 * TURNS
    first, *later = asked
    assert all((each.system, each.actions) == (first.system, first.actions) for each in later)
    assert not any(name in first.system for name in PATTERNS)


def test_a_skill_stands_before_the_steps_so_that_a_step_only_adds(home: House) -> None:
    knowing(home, settled=("first",))
    home.scripts["crab"] = (Reply(calls=(("ws_list", {}),)), Reply("見ました"))
    home.say(MESSAGE)
    home.work()
    first, second = (each for each in home.provider.seen if each.actions)
    shown, volatile = first.turns[:-1], first.turns[-1]
    assert isinstance(volatile, ChatMessage)
    assert "first" in told(first)
    assert "# first の手順" not in volatile.text
    assert second.turns[: len(shown)] == shown


def test_what_is_settled_or_pinned_is_given_in_every_turn(home: House) -> None:
    knowing(home, settled=("second",))
    minded(home, pinned=("skill:first",))
    for number in range(TURNS // 2):
        (turn,) = home.say(MESSAGE, f"m{number}")
        home.work()
        (intent,) = intents(home, turn.id)
        assert (intent.skills, intent.skills_held) == (("first", "second"), ())
        assert intent.skills_offered == ("second",)


@pytest.mark.parametrize("dies", [False, True], ids=["one worker", "a second worker"])
def test_what_was_decided_holds_for_the_whole_turn_whatever_the_mind_becomes(
    home: House, *, dies: bool
) -> None:
    knowing(home)
    before = minded(home)
    home.scripts["crab"] = (
        Reply(calls=(("ring_bell", {}),)),
        Reply(calls=(("ring_bell", {"tone": "dong"}),)),
        Reply("終わりました"),
    )
    calls = Counter[str]()

    def happens() -> None:
        calls[turn.id] += 1
        minded(home, skills=())
        if dies and calls[turn.id] == 2:
            raise Killed

    home.interrupt(happens)
    for number in range(4):
        minded(home, skills=before.skills)
        (turn,) = home.say(MESSAGE, f"m{number}")
        try:
            home.work()
        except Killed:
            home.later(1_800)
        first, *later = intents(home, turn.id)
        assert len(later) >= 2
        assert {*first.skills, *first.skills_held} == {"first", "second"}
        assert {(each.skills, each.skills_held) for each in later} == {
            (first.skills, first.skills_held)
        }


def test_a_skill_kept_for_one_type_of_task_rests_in_all_others(home: House) -> None:
    """Also where the model asks for it itself."""
    knowing(home, settled=("first",))
    minded(home, skills=minded(home).skills[:1])
    kept = SkillHoldouts(at=START, only={"first": ("code",)})
    home.home.facts.commit(new_fact("crab", SKILL_HOLDOUTS, CURRENT, kept))
    (turn,) = home.say(f"コードの {MESSAGE}", "m1")
    home.work()
    (intent,) = intents(home, turn.id)
    assert (intent.task_type, intent.skills, intent.skills_held) == ("code", ("first",), ())
    asks = Reply(calls=(("use_skill", {"name": "first"}),))
    home.scripts["crab"] = (asks, Reply("見ました"))
    (turn,) = home.say(MESSAGE, "m2")
    home.work()
    first, second = intents(home, turn.id)
    assert (first.task_type, first.skills, first.skills_held) == ("conversation", (), ("first",))
    assert told(home.provider.seen[-1]) == set()
    assert second.skills_held == ("first",)
