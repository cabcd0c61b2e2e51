"""The demo world's rules: currency is constant, each refusal costs nothing, and a seed repeats."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencrab.domain.world.binding import WorldRole
from opencrab.domain.world.demo.rules import (
    admit_demo_world_citizens,
    answer_demo_world_citizen,
    begin_next_hour_of_demo_world,
)
from opencrab.domain.world.demo.state import (
    BOUNTY_CYCLES,
    CURRENCY,
    UNITS,
    WELCOME,
    DemoCitizen,
    DemoMessage,
    DemoState,
)

A, B, C = ("a" * 64, "b" * 64, "c" * 64)


def populated(seed: int = 1) -> DemoState:
    people = [
        DemoCitizen(key_id=each, public_key=each, role=WorldRole.EXPLORER) for each in (A, B, C)
    ]
    state, _ = admit_demo_world_citizens(DemoState(world_id="demo", seed=seed), people)
    return begin_next_hour_of_demo_world(state)[0]


def ask(state: DemoState, who: str, name: str, **body: Any) -> tuple[DemoState, dict[str, Any]]:
    after, messages = answer_demo_world_citizen(state, who, "0" * 32, name, body)
    assert messages[0].reply_to == "0" * 32
    return after, messages[0].body


def test_a_citizen_is_let_in_once_with_an_account() -> None:
    state = DemoState(world_id="demo", seed=1)
    person = DemoCitizen(key_id=A, public_key=A, role=WorldRole.LIBRARIAN)
    state, told = admit_demo_world_citizens(state, [person, person])
    assert [each.name for each in told] == ["AGENT_SPAWN_ACK"]
    assert told[0].body["account"] == {"entry": 1, "change": WELCOME, "balance": WELCOME}
    assert admit_demo_world_citizens(state, [person]) == (state, [])
    assert state.total == CURRENCY


def test_an_hour_brings_units_prices_and_a_bounty() -> None:
    state, told = begin_next_hour_of_demo_world(populated())
    kinds = [each.name for each in told]
    assert (kinds.count("TICK_ALLOC"), kinds.count("WORLD_STATE"), kinds.count("EVENT")) == (
        3,
        3,
        3,
    )
    assert {each.body["budget"] for each in told if each.name == "TICK_ALLOC"} == {UNITS}
    assert {each.body["cycle"] for each in told if each.name == "WORLD_STATE"} == {2}
    assert state.total == CURRENCY


def test_the_same_seed_brings_the_same_and_another_another() -> None:
    def told(seed: int) -> list[DemoMessage]:
        state, messages = populated(seed), list[DemoMessage]()
        for _ in range(8):
            state, more = begin_next_hour_of_demo_world(state)
            messages += more
        return messages

    assert told(1) == told(1)
    assert told(1) != told(2)


def test_a_bounty_is_paid_once_to_who_claimed_it() -> None:
    state = populated()
    reward = state.bounties["b1"].reward
    state, refused = ask(state, A, "BOUNTY_SUBMIT", bounty_id="b1", submission_snap="x")
    assert not refused["ok"]
    state, _ = ask(state, A, "BOUNTY_CLAIM", bounty_id="b1", claimer=A)
    assert not ask(state, B, "BOUNTY_CLAIM", bounty_id="b1", claimer=B)[1]["ok"]
    state, paid = ask(state, A, "BOUNTY_SUBMIT", bounty_id="b1", submission_snap="成果")
    assert paid["balance"] == WELCOME + reward
    assert paid["account"] == {"entry": 2, "change": reward, "balance": WELCOME + reward}
    assert paid["reputation"] > 0.5
    again, refused = ask(state, A, "BOUNTY_SUBMIT", bounty_id="b1", submission_snap="成果")
    assert (again, refused["ok"]) == (state, False)


def test_a_citizens_bounty_is_reviewed_and_one_that_nobody_does_goes_back() -> None:
    state = populated()
    state, made = ask(state, A, "BOUNTY_CREATE", title="help", reward=7)
    assert made["balance"] == WELCOME - 8
    wanted = made["bounty_id"]
    assert not ask(state, A, "BOUNTY_CLAIM", bounty_id=wanted)[1]["ok"]
    done, _ = ask(state, B, "BOUNTY_CLAIM", bounty_id=wanted)
    done, _ = ask(done, B, "BOUNTY_SUBMIT", bounty_id=wanted, submission_snap="x")
    assert not ask(done, B, "BOUNTY_REVIEW", bounty_id=wanted, verdict="accept")[1]["ok"]
    done, _ = ask(done, A, "BOUNTY_REVIEW", bounty_id=wanted, verdict="accept", comments="")
    assert done.citizens[B].balance == WELCOME + 7
    for _ in range(BOUNTY_CYCLES):
        state, _ = begin_next_hour_of_demo_world(state)
    assert state.citizens[A].balance == WELCOME - 1
    assert state.total == CURRENCY


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("TRANSFER", {"to": B, "amount": WELCOME + 1}),
        ("TRANSFER", {"to": A, "amount": 1}),
        ("TRANSFER", {"to": "nobody", "amount": 1}),
        ("TRANSFER", {"to": B, "amount": -1}),
        ("TRANSFER", {"to": B, "amount": True}),
        ("TRANSFER", {"to": B}),
        ("BOUNTY_CREATE", {"title": "x", "reward": 0}),
        ("SERVICE_CALL", {"service_id": "market", "endpoint": "sell"}),
        ("SERVICE_CALL", {"service_id": "bank", "endpoint": "buy"}),
        ("MSG_POST", {"text": "  "}),
        ("REPO_CREATE", {"owner": "x"}),
    ],
)
def test_what_cannot_be_done_changes_nothing_and_says_why(name: str, body: dict[str, Any]) -> None:
    state = populated()
    after, answer = ask(state, A, name, **body)
    assert (after, answer["ok"]) == (state, False)
    assert answer["error"]


_ACTS = st.tuples(
    st.sampled_from([A, B, C]),
    st.sampled_from(
        [
            "TRANSFER",
            "BOUNTY_CREATE",
            "BOUNTY_CLAIM",
            "BOUNTY_SUBMIT",
            "BOUNTY_REVIEW",
            "SERVICE_CALL",
        ]
    ),
    st.integers(0, 60),
)


@settings(max_examples=30, deadline=None)
@given(st.lists(_ACTS, max_size=60))
def test_currency_is_constant_whatever_is_asked(acts: list[tuple[str, str, int]]) -> None:
    state = populated()
    for number, (who, name, amount) in enumerate(acts):
        open_bounties = [*state.bounties, "none"]
        body = {
            "to": (A, B, C)[amount % 3],
            "amount": amount,
            "reward": amount,
            "bounty_id": open_bounties[amount % len(open_bounties)],
            "submission_snap": "x",
            "verdict": "accept" if amount % 2 else "reject",
            "service_id": "market",
            "endpoint": "buy" if amount % 3 else "sell",
        }
        state, _ = ask(state, who, name, **body)
        if number % 7 == 6:
            state, _ = begin_next_hour_of_demo_world(state)
        assert state.total == CURRENCY
        assert all(each.balance >= 0 and each.parts >= 0 for each in state.citizens.values())
