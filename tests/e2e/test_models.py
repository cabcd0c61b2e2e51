"""Which model a turn thinks with, and what becomes of it when one fails."""

import pytest

from opencrab.domain.conversation.message import Channel, LineKind
from opencrab.domain.errors import Invalid
from opencrab.domain.models.fault import Fault, FaultResponse
from opencrab.domain.models.preferences import Preferences
from opencrab.domain.models.routing import LlmConfig, Use
from opencrab.domain.turn.record import CallState
from opencrab.domain.turn.turn import TurnStatus
from opencrab.engine.models.router import RETRIES
from opencrab.ports.models.model import ChatModel
from tests.crash.outside import Reply
from tests.crash.scheduling import Killed
from tests.e2e.beating import living, minutes, signs, tell, turns
from tests.e2e.house import House
from tests.e2e.thinking import HELLO, ROUTING, crab, done, drawn, failing, rows


@pytest.mark.parametrize("fault", [f for f in Fault if f.response is FaultResponse.NEXT])
def test_when_a_provider_fails_the_next_one_answers_and_both_calls_are_in_the_ledger(
    house: House, fault: Fault
) -> None:
    crab(house, failing(fault))
    (turn,) = done(house, *house.say("こんにちは"))
    assert turn.status is TurnStatus.COMPLETED
    assert [line.text for line in house.lines(LineKind.SPEECH)][-1] == "控えから答えます"
    failed, answered = rows(house)
    assert (failed.state, failed.fault, failed.provider) == (CallState.FAILED, fault, "fake")
    assert (answered.state, answered.provider, answered.chosen_by) == (
        CallState.COMPLETED,
        "other",
        "fallback",
    )
    assert failed.cost == (failed.reserved if fault.may_be_billed else 0)
    assert turn.spent == failed.cost + answered.cost
    assert drawn(house) == {turn.spent}


@pytest.mark.parametrize("fault", [f for f in Fault if f.response is FaultResponse.STOP])
def test_what_no_other_provider_can_mend_is_told_at_once(house: House, fault: Fault) -> None:
    crab(house, failing(fault))
    (turn,) = done(house, *house.say("hello"))
    assert turn.status is TurnStatus.FAILED
    assert len(rows(house)) == 1
    assert "on purpose" in house.lines(LineKind.SYSTEM)[-1].text


def test_one_that_turns_requests_away_is_asked_again_after_a_while(house: House) -> None:
    crab(house, failing(Fault.RATE_LIMITED, RETRIES))
    turns = house.say("hello")
    (waiting,) = done(house, *turns)
    assert waiting.status is TurnStatus.RUNNING
    assert len(rows(house)) == 1
    (turn,) = done(house, *turns, seconds=12)
    assert turn.status is TurnStatus.COMPLETED
    assert [row.provider for row in rows(house)] == ["fake"] * (RETRIES + 1)
    assert [row.cost for row in rows(house)][:RETRIES] == [0] * RETRIES
    assert drawn(house) == {turn.spent}


def test_one_that_always_turns_requests_away_gives_place_to_another(house: House) -> None:
    crab(house, failing(Fault.RATE_LIMITED))
    (turn,) = done(house, *house.say("hello"), seconds=20)
    assert turn.status is TurnStatus.COMPLETED
    assert [row.provider for row in rows(house)] == ["fake"] * (RETRIES + 1) + ["other"]


def test_when_nobody_answers_the_words_of_all_are_told(house: House) -> None:
    crab(house, failing(Fault.SERVER_ERROR))
    house.scripts["backup"] = failing(Fault.UNREACHABLE)
    (turn,) = done(house, *house.say("hello"), seconds=16)
    assert turn.status is TurnStatus.FAILED
    told = house.lines(LineKind.SYSTEM)[-1].text
    assert "fake:crab: the model fails on purpose" in told
    assert "other:backup: the line is dead" in told


def test_a_local_model_that_fails_is_not_replaced_by_one_outside(house: House) -> None:
    agent = crab(house, HELLO)
    house.scripts["secret"] = failing(Fault.SERVER_ERROR)
    house.home.agents.save(agent.replaced(model="local:secret"))
    (turn,) = done(house, *house.say("内緒の話"), seconds=16)
    assert turn.status is TurnStatus.FAILED
    assert {row.provider for row in rows(house)} == {"local"}


def test_a_provider_that_failed_thrice_is_left_alone_and_tried_again_later(house: House) -> None:
    crab(house, failing(Fault.OVERLOADED, 3))
    for place in range(4):
        done(house, *house.say("hello", f"m{place}"))
    providers = [row.provider for row in rows(house)]
    assert providers == ["fake", "other", "fake", "other", "fake", "other", "other"]
    assert house.home.health.all()["fake"].failures == 3
    house.clock.advance(31)
    done(house, *house.say("again", "m9"))
    assert rows(house)[-1].provider == "fake"
    assert house.home.health.all() == {}


def test_a_model_that_the_agent_chose_thinks_from_its_next_step_on(house: House) -> None:
    chooses = ("select_llm", {"purpose": "tool_calling", "model_alias": "smart", "reason": "hard"})
    crab(house, (Reply(calls=(chooses,)), Reply("never asked")))
    house.scripts["backup"] = (Reply("unused"), Reply("smart に考えました"))
    (turn,) = done(house, *house.say("hello"))
    assert turn.status is TurnStatus.COMPLETED
    assert [(row.provider, row.chosen_by) for row in rows(house)] == [
        ("fake", "agent"),
        ("other", "turn"),
    ]


@pytest.mark.parametrize(
    ("duration", "by"), [("this_session", "session"), ("permanent", "permanent")]
)
def test_a_lasting_choice_holds_for_later_turns(house: House, duration: str, by: str) -> None:
    wish = {
        "purpose": "conversation",
        "model_alias": "fast",
        "reason": "速い",
        "duration": duration,
    }
    crab(house, (Reply(calls=(("select_llm", wish),)), Reply("chosen")))
    done(house, *house.say("hello"))
    house.clock.advance(1)
    done(house, *house.say("and now?", "m2"))
    assert [(row.provider, row.chosen_by) for row in rows(house)] == [
        ("fake", "agent"),
        ("third", "turn"),
        ("third", by),
    ]


@pytest.mark.parametrize(
    ("purpose", "asked"),
    [
        ("thinking", "Prove that the square root of two is irrational."),
        ("thinking", "来週の引っ越しの計画を立てて"),
        ("analysis", "Summarise the minutes of Monday."),
        ("analysis", "この二つの見積もりを比較して"),
        ("creative", "秋の俳句を詠んで"),
    ],
)
def test_a_lasting_choice_for_a_purpose_answers_what_is_of_that_purpose_and_nothing_else(
    house: House, purpose: str, asked: str
) -> None:
    wish = {"purpose": purpose, "model_alias": "fast", "reason": "速い", "duration": "this_session"}
    crab(house, (Reply(calls=(("select_llm", wish),)), Reply("chosen")))
    for place, text in enumerate(("hello", asked, "good night")):
        house.clock.advance(1)
        done(house, *house.say(text, f"m{place}"))
    assert [(row.provider, row.purpose, row.chosen_by) for row in rows(house)][2:4] == [
        ("third", purpose, "session"),
        ("fake", "conversation", "agent"),
    ]


@pytest.mark.parametrize(
    "purpose", ["thinking", "conversation", "analysis", "tool_calling", "creative"]
)
def test_a_choice_holds_for_the_rest_of_its_turn_whatever_its_purpose(
    house: House, purpose: str
) -> None:
    wish = {"purpose": purpose, "model_alias": "smart", "reason": "hard"}
    crab(house, (Reply(calls=(("select_llm", wish),)), Reply("and now?")))
    reads = Reply(calls=(("ws_list", {}),))
    house.scripts["backup"] = (Reply("unused"), reads, Reply("smart に考えました"))
    done(house, *house.say("hello"))
    by = [(row.provider, row.chosen_by) for row in rows(house)]
    assert by == [("fake", "agent"), ("other", "turn"), ("other", "turn")]


def test_a_choice_that_is_switched_off_is_not_there(house: House) -> None:
    wish = {"purpose": "conversation", "model_alias": "fast", "reason": "x"}
    agent = crab(house, (Reply(calls=(("select_llm", wish),)), Reply("well then")))
    house.home.agents.save(agent.replaced(llm=LlmConfig(self_selection=False)))
    (turn,) = done(house, *house.say("hello"))
    assert turn.status is TurnStatus.COMPLETED
    assert "select_llm" not in {action.name for action in house.provider.seen[0].actions}
    assert "unknown action" in str(house.lines(LineKind.ACTION)[0].data)


def test_an_owners_change_is_for_the_next_turn_even_if_a_worker_dies(house: House) -> None:
    agent = crab(house, (Reply(calls=(("ws_list", {}),)), Reply("finished")))

    def change() -> None:
        house.provider.wrap = lambda model: model
        config = LlmConfig(models=dict.fromkeys(Use, "fast"))
        house.home.agents.save(agent.replaced(llm=config))
        raise Killed

    house.interrupt(change)
    turns = house.say("hello")
    with pytest.raises(Killed):
        house.work()
    for _ in range(10):
        house.later(600)
    (turn,) = done(house, *turns)
    assert turn.status is TurnStatus.COMPLETED
    assert {row.provider for row in rows(house)} == {"fake"}
    done(house, *house.say("next", "m2"))
    assert rows(house)[-1].provider == "third"


def test_when_the_chain_becomes_shorter_in_the_middle_of_a_step_the_turn_ends_and_says_so(
    house: House,
) -> None:
    crab(house, failing(Fault.OVERLOADED))
    house.scripts["backup"] = failing(Fault.RATE_LIMITED)
    turns = house.say("hello")
    done(house, *turns)
    house.provider.routing = ROUTING.replaced(fallback=())
    (turn,) = done(house, *turns, seconds=8)
    assert turn.status is TurnStatus.FAILED
    assert "was changed concurrently" in house.lines(LineKind.SYSTEM)[-1].text


def test_preferences_that_changed_are_taken_over_before_the_next_call(house: House) -> None:
    crab(house, HELLO)
    kept = house.home.preferences.save(Preferences(fallback=("other:backup",)), 0)
    done(house, *house.say("hello"))
    assert house.provider.version == kept.version > 0


def test_a_session_whose_chosen_model_is_gone_thinks_as_before_the_choice(house: House) -> None:
    wish = {
        "purpose": "conversation",
        "model_alias": "fast",
        "reason": "速い",
        "duration": "this_session",
    }
    crab(house, (Reply(calls=(("select_llm", wish),)), Reply("chosen")))
    done(house, *house.say("hello"))
    house.clock.advance(1)
    found = house.provider.get

    def get(name: str | None) -> ChatModel:
        if name == "fast":
            raise Invalid("there is no provider 'third'")
        return found(name)

    house.provider.get = get  # type: ignore[method-assign]
    (turn,) = done(house, *house.say("and now?", "m2"))
    assert turn.status is TurnStatus.COMPLETED
    assert (rows(house)[-1].provider, rows(house)[-1].chosen_by) == ("fake", "agent")


def test_nobody_waits_for_a_day_because_a_vendor_says_so(house: House) -> None:
    crab(house, failing(Fault.OVERLOADED))
    house.provider.routing = ROUTING.replaced(fallback=())
    house.provider.retry_after = 86_400.0
    (turn,) = done(house, *house.say("hello"))
    assert turn.status is TurnStatus.FAILED
    # The journal says what follows from it, the ledger what it was.
    assert [row.fault for row in rows(house)] == [Fault.OVERLOADED]


def test_a_fallback_that_cannot_be_used_does_not_end_the_turn(house: House) -> None:
    crab(house, failing(Fault.SERVER_ERROR))
    house.provider.routing = ROUTING.replaced(fallback=("priceless:x", "other:backup"))
    house.provider.prices["priceless:x"] = None
    (turn,) = done(house, *house.say("hello"))
    assert turn.status is TurnStatus.COMPLETED
    assert [row.provider for row in rows(house)] == ["fake", "other"]


def test_each_pause_of_a_provider_that_stays_ill_is_longer_than_the_last(house: House) -> None:
    crab(house, failing(Fault.OVERLOADED, 99))
    pauses = []
    for place in range(8):
        done(house, *house.say("hello", f"m{place}"))
        until = house.home.health.all()["fake"].paused_until
        if until is not None:
            pauses.append((until - house.clock.now()).total_seconds())
            house.clock.advance(pauses[-1] + 1)
    assert pauses == [30, 60, 120, 240, 300, 300]


def test_what_nobody_understands_is_asked_twice_more_and_then_left(house: House) -> None:
    crab(house, failing(Fault.NONSENSE, 99))
    house.provider.routing = ROUTING.replaced(fallback=())
    (turn,) = done(house, *house.say("hello"), seconds=5)
    assert (turn.status, len(rows(house))) == (TurnStatus.IDLE, 3)
    assert "the model fails on purpose" in house.lines(LineKind.SYSTEM)[-1].text


def test_of_an_answer_that_nobody_asked_for_nobody_hears_that_it_failed(house: House) -> None:
    channel = Channel(kind="wall", address="home")
    living(house, "crab", failing(Fault.NONSENSE, 99), channel=channel)
    assert tell(house, "crab")
    minutes(house, 4)
    (turn,) = turns(house, "crab")
    assert (turn.status, turn.attempts) == (TurnStatus.IDLE, 3)
    assert (house.wall.shown, signs(house, "crab").in_vain) == ([], 1)
