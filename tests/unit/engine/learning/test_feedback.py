"""What a person thought of a turn becomes an experience of its agent, once."""

import pytest

from opencrab.domain.errors import Conflict, Invalid, NotFound
from opencrab.domain.memory.memory import Experience
from opencrab.domain.outcome import Outcome
from opencrab.domain.turn.action import ActionResult, SpeechSent
from opencrab.domain.turn.record import (
    ActionCall,
    CallResult,
    CallState,
    ModelAnswer,
    ModelIntent,
    ModelResult,
)
from opencrab.domain.turn.turn import Turn, TurnStatus
from opencrab.engine.learning.feedback import Thumbs, give_feedback, learning_feedback_thumbs
from opencrab.ports.turn.journal import TurnChange
from tests.unit.engine.known_world import World


def ended(
    world: World, answer: ModelAnswer, *spoken: str, who: int = 0, taint: bool = False
) -> Turn:
    """A turn that made one model call, spoke, and is over."""
    turn = world.claimed(world.say("こんにちは")[who])
    intent = ModelIntent(n=1, model="m", request_hash="h", reserved=0)
    results = (
        CallResult(
            n=2 + place,
            call_id=f"c{place}",
            name="send_speech",
            state=CallState.COMPLETED,
            result=ActionResult.ok(SpeechSent(text=text)),
        )
        for place, text in enumerate(spoken)
    )
    result = ModelResult(n=1, state=CallState.COMPLETED, answer=answer)
    over = turn.replaced(
        status=TurnStatus.COMPLETED, sequence=9, taint=taint, ended_at=world.clock.now()
    )
    change = TurnChange(turn=over, expected=turn.sequence, records=(intent, result, *results))
    return world.runtime.home.journal.commit(change)


def experiences(world: World, agent_id: str) -> list[Experience]:
    facts = world.runtime.home.facts.page(agent_id, "experience")
    return [fact.read(Experience) for fact in facts]


@pytest.mark.parametrize(
    ("thumbs", "outcome", "lived"),
    [
        ("up", Outcome.SUCCESS, "私の発言や行動は良いと評価された: 蟹です"),
        ("down", Outcome.FAILURE, "私の発言や行動は良くないと評価された: 蟹です"),
        (None, Outcome.PARTIAL, "私の発言や行動に感想をもらった: 蟹です"),
    ],
)
def test_thumbs_and_words_become_an_experience(
    world: World, thumbs: Thumbs | None, outcome: Outcome, lived: str
) -> None:
    turn = ended(world, ModelAnswer(text="蟹です"))
    world.clock.advance(5)
    given = give_feedback(
        world.runtime, turn.id, by="owner", thumbs=thumbs, remark=" もっと短く ", key="k"
    )
    assert experiences(world, "mika") == [given]
    assert (given.outcome, given.experience, given.lesson) == (outcome, lived, "もっと短く")
    assert learning_feedback_thumbs(given) == thumbs
    assert (given.about_turn, given.turn_id, given.session_id) == (turn.id, "", "s1")
    assert (given.from_person, given.at, given.tainted) == ("owner", world.clock.now(), False)


def test_an_agent_keeps_it_in_its_own_language(world: World) -> None:
    turn = ended(world, ModelAnswer(text="I am Ken"), who=1)
    given = give_feedback(world.runtime, turn.id, by="owner", thumbs="up", remark="", key="k")
    assert experiences(world, "ken") == [given]
    assert given.experience == "They liked what I said or did: I am Ken"
    assert given.lesson == "Do it like this again."


def test_thumbs_without_words_teach_to_do_it_again_or_not(world: World) -> None:
    turn = ended(world, ModelAnswer(text="hi"))
    up = give_feedback(world.runtime, turn.id, by="a", thumbs="up", remark="", key="1")
    down = give_feedback(world.runtime, turn.id, by="a", thumbs="down", remark="\n", key="2")
    assert (up.lesson, down.lesson) == ("次も同じようにする。", "次は違うやり方にする。")


def test_the_last_speech_is_what_it_is_about(world: World) -> None:
    calls = tuple(ActionCall(id=f"c{n}", name="send_speech", arguments={}) for n in range(2))
    turn = ended(
        world, ModelAnswer(text="thinking aloud", calls=calls), "first", "second\n" + "x" * 999
    )
    given = give_feedback(world.runtime, turn.id, by="a", thumbs="up", remark="", key="1")
    assert given.experience.startswith("私の発言や行動は良いと評価された: second xxx")
    assert given.experience.endswith("x…")
    assert len(given.experience) < 600


def test_of_a_silent_turn_it_says_so(world: World) -> None:
    turn = ended(world, ModelAnswer(text=""))
    given = give_feedback(world.runtime, turn.id, by="a", thumbs="down", remark="", key="1")
    assert given.experience.endswith("(発言なし)")


def test_a_repeat_with_the_same_key_changes_nothing(world: World) -> None:
    turn = ended(world, ModelAnswer(text="hi"))
    first = give_feedback(world.runtime, turn.id, by="a", thumbs="up", remark="good", key="k")
    world.clock.advance(60)
    assert (
        give_feedback(world.runtime, turn.id, by="a", thumbs="up", remark="good", key="k") == first
    )
    with pytest.raises(Conflict, match="already used"):
        give_feedback(world.runtime, turn.id, by="a", thumbs="down", remark="good", key="k")
    others = [("b", "k"), ("a", "k2")]
    for by, key in others:
        give_feedback(world.runtime, turn.id, by=by, thumbs="down", remark="", key=key)
    assert len(experiences(world, "mika")) == 3


def test_what_a_tainted_turn_said_is_marked(world: World) -> None:
    turn = ended(world, ModelAnswer(text="hi"), taint=True)
    assert give_feedback(world.runtime, turn.id, by="a", thumbs="up", remark="", key="1").tainted


def test_a_turn_that_is_missing_or_goes_on_takes_none(world: World) -> None:
    with pytest.raises(NotFound):
        give_feedback(world.runtime, "nothing", by="a", thumbs="up", remark="", key="1")
    (turn, _) = world.say("まだ")
    with pytest.raises(Conflict, match="has not ended"):
        give_feedback(world.runtime, turn.id, by="a", thumbs="up", remark="", key="1")
    assert experiences(world, "mika") == []


def test_feedback_says_something_and_not_too_much(world: World) -> None:
    turn = ended(world, ModelAnswer(text="hi"))
    with pytest.raises(Invalid, match="is empty"):
        give_feedback(world.runtime, turn.id, by="a", thumbs=None, remark=" \u3000", key="1")
    with pytest.raises(Invalid, match="2001 characters"):
        give_feedback(world.runtime, turn.id, by="a", thumbs="up", remark="蟹" * 2_001, key="1")
    longest = give_feedback(
        world.runtime, turn.id, by="a", thumbs="up", remark="蟹" * 2_000, key="1"
    )
    assert longest.lesson == "蟹" * 2_000
