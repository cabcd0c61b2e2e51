"""Calls of custom actions in whole turns: errors, time, what is returned, and who may call."""

import asyncio
import json
import logging
import threading
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from enum import Enum
from typing import Any, Literal

import pytest

from opencrab.actions.custom import ActionFailed, CallContext, OutcomeUnknown, action
from opencrab.actions.custom import call as custom_call
from opencrab.actions.custom.call import MOST_HANGING, RESULT_BYTES, CallTimedOut, run_bounded
from opencrab.actions.custom.declaration import declared_custom_action
from opencrab.domain.errors import Changed
from opencrab.testing import AgentHouse, HouseCall, agent_house, call
from opencrab.testing.crashes import _Explorer

TOKEN = "tok-5Zq"
RELEASE = threading.Event()
Kind = Literal[
    "key", "fails", "unknown", "breaks", "ours", "exits", "hangs", "slow", "cancelled", "group"
]
RAISED: dict[str, BaseException] = {
    "exits": SystemExit(TOKEN),
    "slow": TimeoutError(f"no answer to {TOKEN}"),
    "cancelled": asyncio.CancelledError(TOKEN),
    "group": BaseExceptionGroup(TOKEN, [KeyboardInterrupt()]),
}
done = list[str]()


class Lazy(Mapping[str, str]):
    """Rows of a connection that is closed meanwhile."""

    def __getitem__(self, _name: str) -> str:
        raise RuntimeError(TOKEN)

    def __iter__(self) -> Iterator[str]:
        return iter(("状態",))

    def __len__(self) -> int:
        return 1


class State(str, Enum):  # noqa: UP042 - what its name says
    """A choice as many write it, which Python shows as `State.OPEN`."""

    OPEN = "開"


ODD: dict[str, Any] = {
    "text": "海",
    "list": (1, {"二"}),
    "halves": {"a\ud83e": "b\udd80\x00c"},
    "numbers": {1: float("nan")},
    "deep": None,
    "object": object(),
    "large": {"words": "海" * RESULT_BYTES},
    "time": datetime(2026, 1, 5, tzinfo=UTC),
    "lazy": Lazy(),
    "choice": {"state": State.OPEN},
}
deep = ODD["deep"] = []
for _ in range(200):
    deep.append([])
    deep = deep[0]


def _do(kind: Kind, context: CallContext) -> dict[str, str]:
    match kind:
        case "fails":
            raise ActionFailed("the shop is closed", cure="come tomorrow")
        case "unknown":
            raise OutcomeUnknown("no answer from the shop")
        case "breaks":
            raise ValueError(f"bad token {context.setting('token')}")
        case "ours":
            done.append(context.key)
            raise Changed("an error of OpenCrab, which its engine would repeat the call for")
        case "exits" | "slow" | "cancelled" | "group":
            raise RAISED[kind]
        case "hangs":
            RELEASE.wait(20)
    return {"key": context.key, "agent": context.agent_name, "token": context.setting("token")}


@action(impact="self", effect="keyed", timeout_seconds=0.2)
def buy(kind: Kind, context: CallContext) -> dict[str, str]:
    """Buy something."""
    return _do(kind, context)


@action(impact="self", effect="once", timeout_seconds=0.2)
def ring(kind: Kind, context: CallContext) -> dict[str, str]:
    """Ring."""
    return _do(kind, context)


@action(impact="read", effect="pure", timeout_seconds=0.2)
def look(kind: Kind, context: CallContext) -> dict[str, str]:
    """Look."""
    return _do(kind, context)


@action(impact="read", effect="pure", taints=False, shared=True)
def tell(what: str, context: CallContext) -> Any:
    """Tell something odd."""
    if what == "refused":
        raise ActionFailed("")
    if what in ODD:
        return ODD[what]
    return context.setting(what) if what.startswith("setting_") else context.authority


@pytest.fixture(scope="module")
def house() -> Iterator[AgentHouse]:
    with agent_house(buy, ring, look, tell, values={"token": TOKEN}) as made:
        yield made
    RELEASE.set()


def called(house: AgentHouse, name: str, authority: str = "owner", **given: Any) -> HouseCall:
    turn = house.say("行って", call(name, **given), "はい", authority=authority)
    assert turn.status == "completed"
    assert turn.said == ("はい",)
    (made,) = turn.calls
    return made


def test_a_call_is_told_its_key_and_its_settings(house: AgentHouse) -> None:
    first, second = called(house, "buy", kind="key"), called(house, "buy", kind="key")
    assert first.state == second.state == "completed"
    assert first.data is not None
    assert second.data is not None
    assert (first.data["agent"], first.data["token"]) == ("Aki", TOKEN)
    assert first.data["key"] != second.data["key"]
    assert first.tainted


@pytest.mark.parametrize("name", ["buy", "ring"])
@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("unknown", "outcome unknown: NAME: no answer from the shop"),
        ("breaks", f"outcome unknown: NAME raised ValueError at {__file__.rpartition('/')[2]}:"),
        ("exits", "outcome unknown: NAME raised SystemExit at"),
        ("slow", "outcome unknown: NAME raised TimeoutError at"),
        ("cancelled", "outcome unknown: NAME raised CancelledError at"),
        ("group", "outcome unknown: NAME raised BaseExceptionGroup at"),
        ("ours", "outcome unknown: NAME raised Changed at"),
        ("hangs", "outcome unknown: NAME: it did not end within 0.2 seconds"),
    ],
)
def test_what_may_have_been_done_is_told_as_unknown(
    house: AgentHouse, name: str, kind: str, said: str
) -> None:
    done.clear()
    made = called(house, name, kind=kind)
    assert len(done) == (kind == "ours"), "and it is not made again"
    assert made.state == "unknown"
    assert said.replace("NAME", name) in made.error


@pytest.mark.parametrize("kind", ["unknown", "breaks", "ours", "exits", "hangs", "cancelled"])
def test_what_only_reads_has_failed(house: AgentHouse, kind: str) -> None:
    made = called(house, "look", kind=kind)
    assert made.state == "failed"
    assert "unknown:" not in made.error


@pytest.mark.parametrize("name", ["buy", "ring", "look"])
def test_a_refusal_is_a_failure_with_its_cure(house: AgentHouse, name: str) -> None:
    made = called(house, name, kind="fails")
    assert (made.state, made.error) == ("failed", "the shop is closed: come tomorrow")


def test_a_refusal_without_words_names_the_action(house: AgentHouse) -> None:
    assert called(house, "tell", what="refused").error == "tell failed"


def test_a_refusal_of_a_second_try_does_not_say_what_the_first_one_did() -> None:
    orders, tries = dict[str, int](), list[str]()

    @action(impact="external", effect="keyed")
    def order(context: CallContext) -> str:
        """Order."""
        tries.append(context.key)
        if len(tries) > 1:
            raise ActionFailed("店につながりません", cure="また明日")
        orders[context.key] = 1
        return "ok"

    def reset() -> None:
        orders.clear()
        tries.clear()

    explorer = _Explorer(declared_custom_action(order), {}, {}, lambda: orders, reset)
    ended = list[HouseCall]()
    for number in range(1, len(explorer.play()[0].seen) + 1):
        _, turn, _ = explorer.play(number)
        ended.extend(turn.calls if len(tries) > 1 else ())
    assert {each.state for each in ended} == {"unknown"}
    assert all("店につながりません: また明日" in each.error for each in ended)


def test_the_words_of_an_error_are_neither_logged_nor_told(
    house: AgentHouse, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        found = [called(house, "buy", kind=kind) for kind in ("breaks", "exits", "slow")]
    assert TOKEN not in caplog.text
    assert "custom action buy raised ValueError at test_call.py:" in caplog.text
    assert TOKEN not in json.dumps([each.error for each in found])


def test_a_setting_that_is_not_there_is_named(house: AgentHouse) -> None:
    made = called(house, "tell", what="setting_x")
    assert made.error == "there is no setting actions.values.setting_x: the owner can add it"


@pytest.mark.parametrize(
    ("what", "data"),
    [
        ("text", {"result": "海"}),
        ("list", {"result": [1, ["二"]]}),
        ("halves", {"a�": "b�c"}),
        ("numbers", {"note": "done, but what it returned is no JSON: ValueError"}),
        ("deep", {"note": "done, but what it returned is no JSON: ValueError"}),
        ("object", {"note": "done, but what it returned is no JSON: TypeError"}),
        ("lazy", {"note": "done, but what it returned is no JSON: RuntimeError"}),
        ("choice", {"state": "開"}),
        ("time", {"result": "2026-01-05T00:00:00+00:00"}),
        ("who", {"result": "owner"}),
    ],
)
def test_what_is_returned_is_json(house: AgentHouse, what: str, data: dict[str, Any]) -> None:
    made = called(house, "tell", what=what)
    assert (made.state, made.data, made.tainted) == ("completed", data, False)


def test_of_a_large_result_the_beginning_is_kept(house: AgentHouse) -> None:
    made = called(house, "tell", what="large")
    size = RESULT_BYTES * 3 + len('{"words": ""}')
    assert size > RESULT_BYTES
    assert made.data is not None
    told = json.dumps(made.data, ensure_ascii=False)
    assert f"the result has {size} bytes" in told
    assert len(told) < 5_000


@pytest.mark.parametrize("authority", ["user", "public", "peer"])
def test_turns_of_others_have_only_what_is_shared(house: AgentHouse, authority: str) -> None:
    assert called(house, "tell", authority, what="who").data == {"result": authority}
    found = house.say(
        "何ができる?", call("find_actions", group="custom"), "はい", authority=authority
    )
    assert found.calls[0].data is not None
    assert [each["name"] for each in found.calls[0].data["actions"]] == ["tell"]
    refused = called(house, "look", authority, kind="key")
    assert refused.state in {"failed", "refused"}
    assert TOKEN not in json.dumps(refused.data)


def test_calls_that_hang_do_not_pile_up() -> None:
    release = threading.Event()
    try:
        for _ in range(MOST_HANGING + 1):
            with pytest.raises((CallTimedOut, ActionFailed)):
                run_bounded(lambda: release.wait(20), 0.001)
        # Nothing was begun, so that it may be tried again.
        with pytest.raises(ActionFailed, match="earlier calls hang"):
            run_bounded(lambda: 1, 1)
    finally:
        release.set()
        RELEASE.set()
    for thread in custom_call._hanging:
        thread.join(10)
    assert run_bounded(lambda: 1, 5) == 1
    RELEASE.clear()
