"""What budgets allow, and what the ledger says of every call of a model."""

from typing import cast

import pytest

from opencrab.domain.access.authority import Authority
from opencrab.domain.conversation.message import LineKind
from opencrab.domain.models.fault import Fault
from opencrab.domain.models.routing import Use
from opencrab.domain.money.budget import (
    FREE,
    Limits,
    Usage,
    public_budget_scope,
    session_budget_scope,
)
from opencrab.domain.turn.record import CallState
from opencrab.domain.turn.turn import TurnStatus
from opencrab.domain.value import Language
from opencrab.engine.runtime import Rules
from opencrab.ports.models.model import ChatMessage, ChatModel
from tests.crash.outside import PRICE
from tests.crash.scheduling import Killed
from tests.e2e.conftest import Build
from tests.e2e.house import House
from tests.e2e.talking import Telling
from tests.e2e.thinking import DAY, HELLO, crab, done, drawn, failing, rows


def test_a_call_whose_worker_died_is_charged_in_full_and_says_unknown(house: House) -> None:
    crab(house, HELLO)

    def die() -> None:
        house.provider.wrap = lambda model: model
        raise Killed

    house.interrupt(die)
    turns = house.say("hello")
    with pytest.raises(Killed):
        house.work()
    for _ in range(10):
        house.later(600)
    (turn,) = done(house, *turns)
    lost, answered = rows(house)
    assert (lost.state, lost.cost, lost.latency_ms) == (CallState.UNKNOWN, lost.reserved, None)
    assert turn.spent == lost.cost + answered.cost


def test_a_call_that_nobody_can_settle_any_more_is_in_header_journal_and_ledger(
    house: House,
) -> None:
    crab(house, HELLO)

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
    assert recorded.turn.spent == rows(house)[0].cost > 0
    assert drawn(house) == {recorded.turn.spent}


def test_limits_that_are_set_hold_from_the_next_call_on(house: House) -> None:
    crab(house, HELLO, Language.JA)
    house.home.budgets.change_limits({"agent_day_micro_usd": 1})
    (turn,) = done(house, *house.say("こんにちは"))
    assert turn.status is TurnStatus.EXHAUSTED
    told = house.lines(LineKind.SYSTEM)[-1].text
    assert "予算を使い切った" in told
    assert "agent:" not in told
    house.home.budgets.change_limits({"agent_day_micro_usd": None})
    (turn,) = done(house, *house.say("もう一度", "m2"))
    assert turn.status is TurnStatus.COMPLETED


def test_a_limit_that_was_not_changed_follows_the_configuration(build: Build) -> None:
    house = build(Rules(limits=Limits(agent_day_micro_usd=1)))
    crab(house, HELLO)
    house.home.budgets.change_limits({"turn_micro_usd": 400_000})
    (turn,) = done(house, *house.say("hello"))
    assert turn.status is TurnStatus.EXHAUSTED


def test_a_session_of_no_limit_is_one_without_a_limit(build: Build) -> None:
    house = build(Rules(limits=Limits(session_micro_usd=1)))
    crab(house, HELLO)
    (turn,) = done(house, *house.say("hello"))
    assert turn.status is TurnStatus.EXHAUSTED
    house.home.budgets.change_limits({"session_micro_usd": 0})
    (turn,) = done(house, *house.say("hello", "m2"))
    assert turn.status is TurnStatus.COMPLETED


def test_a_session_has_a_budget_of_its_own_across_days(build: Build) -> None:
    house = build(Rules(limits=Limits(session_micro_usd=8_000, block_micro_usd=1_000)))
    crab(house, HELLO)
    ends = []
    for place in range(12):
        (turn,) = done(house, *house.say("hello", f"m{place}"))
        ends.append(turn.status)
        house.clock.advance(86_400)
    assert ends[0] is TurnStatus.COMPLETED
    assert ends[-1] is TurnStatus.EXHAUSTED
    spent = sum(row.cost for row in rows(house))
    assert house.home.budgets.drawn_micro_usd(session_budget_scope("s"), "whole") == spent <= 8_000


def test_one_of_the_public_cannot_spend_what_is_everybodys(build: Build) -> None:
    house = build(Rules(limits=Limits(public_user_day_micro_usd=8_000, block_micro_usd=1_000)))
    crab(house, HELLO)
    ends = []
    for place in range(12):
        turns = house.say("hello", f"m{place}", authority=Authority.PUBLIC, principal_id="stranger")
        ends.append(done(house, *turns)[0].status)
    assert (ends[0], ends[-1]) == (TurnStatus.COMPLETED, TurnStatus.EXHAUSTED)
    assert house.home.budgets.drawn_micro_usd(public_budget_scope("stranger"), DAY) <= 8_000
    (turn,) = done(house, *house.say("and me?", "owner"))
    assert turn.status is TurnStatus.COMPLETED


def test_what_a_vendor_charges_for_a_free_model_is_in_the_days_budget(house: House) -> None:
    agent = crab(house, HELLO)
    house.provider.prices["free:crab"] = FREE
    house.home.agents.save(agent.replaced(model="free:crab"))
    dear = Usage(input_tokens=9, output_tokens=9, reported_micro_usd=700_000)
    house.provider.wrap = lambda model: cast(ChatModel, Telling(model, dear))
    ends = [done(house, *house.say("hello", f"m{n}"))[0].status for n in range(3)]
    assert ends == [TurnStatus.COMPLETED] * 3
    assert drawn(house) == {2_100_000}


def test_who_has_no_money_leaves_the_try_to_others(house: House) -> None:
    crab(house, failing(Fault.OVERLOADED, 3))
    for place in range(3):
        done(house, *house.say("hello", f"m{place}"))
    house.clock.advance(40)
    house.home.budgets.change_limits({"public_user_day_micro_usd": 0})
    poor = house.say("me?", "p", authority=Authority.PUBLIC, principal_id="stranger")
    assert done(house, *poor)[0].status is TurnStatus.EXHAUSTED
    done(house, *house.say("and me?", "rich"))
    assert rows(house)[-1].provider == "fake"


def test_a_long_conversation_is_shown_shorter_rather_than_not_at_all(house: House) -> None:
    crab(house, HELLO)
    for place in range(6):
        done(house, *house.say("長い話です。" * 300, f"m{place}"))
    house.home.budgets.change_limits({"turn_micro_usd": 25_000})
    (turn,) = done(house, *house.say("要するに?", "last"))
    assert turn.status is TurnStatus.COMPLETED
    shown = "".join(
        turn.text for turn in house.provider.seen[-1].turns if isinstance(turn, ChatMessage)
    )
    assert "lines are not shown" in shown


def test_words_that_nobody_counted_cost_their_reservation(house: House) -> None:
    crab(house, HELLO)
    halved = Usage(input_tokens=10, output_tokens=0)
    house.provider.wrap = lambda model: cast(ChatModel, Telling(model, halved))
    done(house, *house.say("hello"))
    (row,) = rows(house)
    assert row.cost == row.reserved


def test_a_ledger_row_tells_what_a_call_was_for_and_what_it_took(house: House) -> None:
    crab(house, HELLO)
    (turn,) = done(house, *house.say("この関数をリファクタリングして"))
    (row,) = rows(house)
    assert (row.task_type, row.purpose, row.tier) == ("code", Use.CONVERSATION, 2)
    assert (row.turn_id, row.session_id, row.price) == (turn.id, "s", PRICE)
    assert row.cost == PRICE.cost(row.usage) > 0
    assert row.quality_score is None
    assert house.home.usage.row("crab", row.id) == row
    assert [request.model for request in house.provider.seen] == ["crab"]
