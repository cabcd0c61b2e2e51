"""Which model a turn thinks with, what becomes of it when one fails, and what the ledger says."""

import pytest

from opencrab.domain.agent import Agent
from opencrab.domain.authority import Authority
from opencrab.domain.fault import Course, Fault
from opencrab.domain.line import LineKind
from opencrab.domain.money import INSTALLATION, Limits, agent_scope, public_scope, session_scope
from opencrab.domain.preference import Preferences
from opencrab.domain.record import CallState
from opencrab.domain.routing import LlmConfig, Routing, Use
from opencrab.domain.turn import Turn, TurnStatus
from opencrab.domain.usage import UsageRow
from opencrab.domain.value import Language
from opencrab.engine.router import RETRIES
from opencrab.engine.runtime import Rules
from tests.crash.outside import PRICE, Reply, Script
from tests.crash.scheduling import Killed
from tests.e2e.conftest import Build
from tests.e2e.house import START, House

DAY = START.strftime("%Y-%m-%d")
ROUTING = Routing(
    default="fake:none",
    fallback=("other:backup",),
    aliases={"smart": "other:backup", "fast": "third:quick"},
    selectable=("smart", "fast"),
)
HELLO: Script = (Reply("hello, はじめまして"),)


def _failing(fault: Fault, times: int = 16) -> Script:
    return (Reply("from the first", fails=(fault,) * times),)


def _crab(house: House, script: Script, language: Language = Language.EN) -> Agent:
    house.scripts["backup"] = (Reply("控えから答えます"),)
    house.scripts["quick"] = (Reply("quick"),)
    house.provider.routing = ROUTING
    agent = house.agent("crab", script, language)
    house.session(agent)
    return agent


def _done(house: House, *turns: Turn, seconds: int = 0) -> tuple[Turn, ...]:
    house.work()
    for _ in range(0, seconds, 4):
        house.later(4)
    return tuple(house.turn(turn.id) for turn in turns)


def _rows(house: House) -> list[UsageRow]:
    return list(reversed(house.home.usage.rows("crab")))


def _drawn(house: House) -> set[int]:
    return {house.home.budgets.drawn(scope, DAY) for scope in (INSTALLATION, agent_scope("crab"))}


def _asked(house: House) -> list[str]:
    return [request.model for request in house.provider.seen]


@pytest.mark.parametrize("fault", [f for f in Fault if f.course is Course.NEXT])
def test_when_a_provider_fails_the_next_one_answers_and_both_calls_are_in_the_ledger(
    house: House, fault: Fault
) -> None:
    _crab(house, _failing(fault))
    (turn,) = _done(house, *house.say("こんにちは"))
    assert turn.status is TurnStatus.COMPLETED
    assert [line.text for line in house.lines(LineKind.SPEECH)][-1] == "控えから答えます"
    failed, answered = _rows(house)
    assert (failed.state, failed.fault, failed.provider) == (CallState.FAILED, fault, "fake")
    assert (answered.state, answered.provider, answered.chosen_by) == (
        CallState.COMPLETED,
        "other",
        "fallback",
    )
    assert failed.cost == (failed.reserved if fault.may_be_billed else 0)
    assert turn.spent == failed.cost + answered.cost
    assert _drawn(house) == {turn.spent}


@pytest.mark.parametrize("fault", [f for f in Fault if f.course is Course.STOP])
def test_what_no_other_provider_can_mend_is_told_at_once(house: House, fault: Fault) -> None:
    _crab(house, _failing(fault))
    (turn,) = _done(house, *house.say("hello"))
    assert turn.status is TurnStatus.FAILED
    assert len(_rows(house)) == 1
    assert "on purpose" in house.lines(LineKind.SYSTEM)[-1].text


def test_one_that_turns_requests_away_is_asked_again_after_a_while(house: House) -> None:
    _crab(house, _failing(Fault.RATE_LIMITED, RETRIES))
    turns = house.say("hello")
    (waiting,) = _done(house, *turns)
    assert waiting.status is TurnStatus.RUNNING
    assert len(_rows(house)) == 1
    (turn,) = _done(house, *turns, seconds=12)
    assert turn.status is TurnStatus.COMPLETED
    assert [row.provider for row in _rows(house)] == ["fake"] * (RETRIES + 1)
    assert [row.cost for row in _rows(house)][:RETRIES] == [0] * RETRIES
    assert _drawn(house) == {turn.spent}


def test_one_that_always_turns_requests_away_gives_place_to_another(house: House) -> None:
    _crab(house, _failing(Fault.RATE_LIMITED))
    (turn,) = _done(house, *house.say("hello"), seconds=20)
    assert turn.status is TurnStatus.COMPLETED
    assert [row.provider for row in _rows(house)] == ["fake"] * (RETRIES + 1) + ["other"]


def test_when_nobody_answers_the_words_of_all_are_told(house: House) -> None:
    _crab(house, _failing(Fault.SERVER_ERROR))
    house.scripts["backup"] = _failing(Fault.UNREACHABLE)
    (turn,) = _done(house, *house.say("hello"), seconds=8)
    assert turn.status is TurnStatus.FAILED
    told = house.lines(LineKind.SYSTEM)[-1].text
    assert "fake:crab: the model fails on purpose" in told
    assert "other:backup: the line is dead" in told


def test_a_local_model_that_fails_is_not_replaced_by_one_outside(house: House) -> None:
    crab = _crab(house, HELLO)
    house.scripts["secret"] = _failing(Fault.SERVER_ERROR)
    house.home.agents.save(crab.replaced(model="local:secret"))
    (turn,) = _done(house, *house.say("内緒の話"), seconds=5)
    assert turn.status is TurnStatus.FAILED
    assert {row.provider for row in _rows(house)} == {"local"}


def test_a_provider_that_failed_thrice_is_left_alone_and_tried_again_later(house: House) -> None:
    _crab(house, _failing(Fault.OVERLOADED, 3))
    for place in range(4):
        _done(house, *house.say("hello", f"m{place}"))
    providers = [row.provider for row in _rows(house)]
    assert providers == ["fake", "other", "fake", "other", "fake", "other", "other"]
    assert house.home.health.all()["fake"].failures == 3
    house.clock.advance(31)
    _done(house, *house.say("again", "m9"))
    assert _rows(house)[-1].provider == "fake"
    assert house.home.health.all() == {}


def test_a_model_that_the_agent_chose_thinks_from_its_next_step_on(house: House) -> None:
    chooses = ("select_llm", {"purpose": "tool_calling", "model_alias": "smart", "reason": "hard"})
    _crab(house, (Reply(calls=(chooses,)), Reply("never asked")))
    house.scripts["backup"] = (Reply("unused"), Reply("smart に考えました"))
    (turn,) = _done(house, *house.say("hello"))
    assert turn.status is TurnStatus.COMPLETED
    assert [(row.provider, row.chosen_by) for row in _rows(house)] == [
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
    _crab(house, (Reply(calls=(("select_llm", wish),)), Reply("chosen")))
    _done(house, *house.say("hello"))
    house.clock.advance(1)
    _done(house, *house.say("and now?", "m2"))
    assert [(row.provider, row.chosen_by) for row in _rows(house)] == [
        ("fake", "agent"),
        ("fake", "agent"),
        ("third", by),
    ]


def test_a_choice_that_is_switched_off_is_not_there(house: House) -> None:
    wish = {"purpose": "conversation", "model_alias": "fast", "reason": "x"}
    crab = _crab(house, (Reply(calls=(("select_llm", wish),)), Reply("well then")))
    house.home.agents.save(crab.replaced(llm=LlmConfig(self_selection=False)))
    (turn,) = _done(house, *house.say("hello"))
    assert turn.status is TurnStatus.COMPLETED
    assert "select_llm" not in {action.name for action in house.provider.seen[0].actions}
    assert "unknown action" in str(house.lines(LineKind.ACTION)[0].data)


def test_an_owners_change_is_for_the_next_turn_even_if_a_worker_dies(house: House) -> None:
    crab = _crab(house, (Reply(calls=(("ws_list", {}),)), Reply("finished")))

    def change() -> None:
        house.provider.wrap = lambda model: model
        config = LlmConfig(models=dict.fromkeys(Use, "fast"))
        house.home.agents.save(crab.replaced(llm=config))
        raise Killed

    house.interrupt(change)
    turns = house.say("hello")
    with pytest.raises(Killed):
        house.work()
    for _ in range(10):
        house.later(600)
    (turn,) = _done(house, *turns)
    assert turn.status is TurnStatus.COMPLETED
    assert {row.provider for row in _rows(house)} == {"fake"}
    _done(house, *house.say("next", "m2"))
    assert _rows(house)[-1].provider == "third"


def test_a_call_whose_worker_died_is_charged_in_full_and_says_unknown(house: House) -> None:
    _crab(house, HELLO)

    def die() -> None:
        house.provider.wrap = lambda model: model
        raise Killed

    house.interrupt(die)
    turns = house.say("hello")
    with pytest.raises(Killed):
        house.work()
    for _ in range(10):
        house.later(600)
    (turn,) = _done(house, *turns)
    lost, answered = _rows(house)
    assert (lost.state, lost.cost, lost.latency_ms) == (CallState.UNKNOWN, lost.reserved, None)
    assert turn.spent == lost.cost + answered.cost


def test_a_call_that_nobody_can_settle_any_more_is_in_header_journal_and_ledger(
    house: House,
) -> None:
    _crab(house, HELLO)

    def die() -> None:
        house.provider.wrap = lambda model: model
        raise Killed

    house.interrupt(die)
    turns = house.say("hello")
    with pytest.raises(Killed):
        house.work()
    house.lose_agent("crab")
    for _ in range(10):
        house.later(600)
    recorded = house.home.journal.load(turns[0].id)
    assert recorded.turn.status is TurnStatus.FAILED
    intent, result = recorded.records
    assert (intent.kind, result.kind) == ("model_intent", "model_result")
    assert recorded.turn.spent == _rows(house)[0].cost > 0
    assert _drawn(house) == {recorded.turn.spent}


def test_when_the_chain_becomes_shorter_in_the_middle_of_a_step_the_turn_ends_and_says_so(
    house: House,
) -> None:
    _crab(house, _failing(Fault.OVERLOADED))
    house.scripts["backup"] = _failing(Fault.RATE_LIMITED)
    turns = house.say("hello")
    _done(house, *turns)
    house.provider.routing = ROUTING.replaced(fallback=())
    (turn,) = _done(house, *turns, seconds=8)
    assert turn.status is TurnStatus.FAILED
    assert "was changed meanwhile" in house.lines(LineKind.SYSTEM)[-1].text


def test_limits_that_are_set_hold_from_the_next_call_on(house: House) -> None:
    _crab(house, HELLO, Language.JA)
    house.home.budgets.set_limits(Limits(agent_day_micro_usd=1))
    (turn,) = _done(house, *house.say("こんにちは"))
    assert turn.status is TurnStatus.EXHAUSTED
    told = house.lines(LineKind.SYSTEM)[-1].text
    assert "予算を使い切った" in told
    assert "agent:" not in told
    house.home.budgets.set_limits(None)
    (turn,) = _done(house, *house.say("もう一度", "m2"))
    assert turn.status is TurnStatus.COMPLETED


def test_a_session_has_a_budget_of_its_own_across_days(build: Build) -> None:
    house = build(Rules(limits=Limits(session_micro_usd=8_000, block_micro_usd=1_000)))
    _crab(house, HELLO)
    ends = []
    for place in range(12):
        (turn,) = _done(house, *house.say("hello", f"m{place}"))
        ends.append(turn.status)
        house.clock.advance(86_400)
    assert ends[0] is TurnStatus.COMPLETED
    assert ends[-1] is TurnStatus.EXHAUSTED
    spent = sum(row.cost for row in _rows(house))
    assert house.home.budgets.drawn(session_scope("s"), "whole") == spent <= 8_000


def test_one_of_the_public_cannot_spend_what_is_everybodys(build: Build) -> None:
    house = build(Rules(limits=Limits(public_user_day_micro_usd=8_000, block_micro_usd=1_000)))
    _crab(house, HELLO)
    ends = []
    for place in range(12):
        turns = house.say("hello", f"m{place}", authority=Authority.PUBLIC, principal_id="stranger")
        ends.append(_done(house, *turns)[0].status)
    assert (ends[0], ends[-1]) == (TurnStatus.COMPLETED, TurnStatus.EXHAUSTED)
    assert house.home.budgets.drawn(public_scope("stranger"), DAY) <= 8_000
    (turn,) = _done(house, *house.say("and me?", "owner"))
    assert turn.status is TurnStatus.COMPLETED


def test_preferences_that_changed_are_taken_over_before_the_next_call(house: House) -> None:
    _crab(house, HELLO)
    kept = house.home.preferences.save(Preferences(fallback=("other:backup",)), 0)
    _done(house, *house.say("hello"))
    assert house.provider.version == kept.version > 0


def test_a_ledger_row_tells_what_a_call_was_for_and_what_it_took(house: House) -> None:
    _crab(house, HELLO)
    (turn,) = _done(house, *house.say("この関数をリファクタリングして"))
    (row,) = _rows(house)
    assert (row.task_type, row.purpose, row.tier) == ("code", Use.CONVERSATION, 2)
    assert (row.turn_id, row.session_id, row.price) == (turn.id, "s", PRICE)
    assert row.cost == PRICE.cost(row.usage) > 0
    assert row.quality_score is None
    assert house.home.usage.row("crab", row.id) == row
    assert _asked(house) == ["crab"]
