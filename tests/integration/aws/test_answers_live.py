"""A worker on AWS while its model speaks: connections get the words, and a stop ends the call."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from opencrab import settings
from opencrab.adapters.aws_client import aws_service_client
from opencrab.adapters.websocket_push import ApiGatewayPush
from opencrab.bootstrap.aws.functions import rules_on_aws
from opencrab.domain.access.authority import Scope
from opencrab.domain.turn.turn import Stop, TurnStatus
from opencrab.gateways.websocket.answer_pushing import AnswerPusher
from tests.crash.outside import Reply
from tests.e2e.saying import WORD_MS, Saying, speak
from tests.integration.aws.test_websocket import Function, function
from tests.unit.gateways.websocket.client import Client
from tests.unit.gateways.websocket.pooled import Inline

__all__ = ["function"]

LONG = [
    ("Where is the key?", "It is in the blue box below the stairs 🦀 as it has always been there"),
    (
        "灯台の鍵はどこですか",
        "階段 の 下 の 青い 箱 の 中 に いつも ありました 👩‍👩‍👧 よ",
    ),
]


@pytest.fixture
def worker(function: Function) -> Function:
    """The function beside a worker that can reach its connections."""
    house, url = function.house, f"http://127.0.0.1:{function.api.server_address[1]}/prod"
    house.runtime = replace(house.runtime, rules=rules_on_aws(settings.load_settings({})))
    client = aws_service_client("apigatewaymanagementapi", endpoint_url=url)
    pusher = AnswerPusher(house.runtime, ApiGatewayPush(client), Inline(), end_seconds=0)
    house.runtime = replace(house.runtime, answers=pusher)
    return function


def subscribed(worker: Function, scope: Scope = Scope.READ) -> None:
    assert worker.connect("a", worker.key(scope)) == 200
    worker.ask("a", type="subscribe", session_id="s")


def one(worker: Function, answer: str, happens: Callable[[int], object]) -> list[Saying]:
    """An agent that says one answer word by word."""
    house = worker.house
    agent = house.agent("mika", (Reply(text=answer),))
    house.session(house.home.agents.save(agent.replaced(purpose="灯台を守る")))
    return speak(house, happens)


@pytest.mark.parametrize(("text", "answer"), LONG)
@pytest.mark.parametrize("scope", [Scope.OWNER, Scope.READ, Scope.CHAT])
def test_words_reach_a_connection_while_the_model_speaks(
    worker: Function, text: str, answer: str, scope: Scope
) -> None:
    one(worker, answer, lambda _word: None)
    subscribed(worker, scope)
    worker.house.say(text)
    worker.house.work()
    early = worker.api.seen("a")
    words = [event["delta"] for event in early if event["type"] == "TEXT_MESSAGE_CONTENT"]
    assert "".join(words) == answer
    assert 2 <= len(words) <= len(answer.split()) * WORD_MS / 250 + 2
    worker.push()
    late = worker.api.seen("a")
    assert "TEXT_MESSAGE_END" in [event["type"] for event in late]
    client = Client(lambda _number: "")
    client.take(early + late)
    assert list(client.lines.values()) == [text, answer]
    assert not client.saying


def test_nobody_watching_adds_no_write_and_a_short_answer_no_read(worker: Function) -> None:
    one(worker, "Hi there", lambda _word: None)
    worker.house.say("hello")
    before = worker.house.calls.copy()
    worker.house.work()
    short = worker.house.calls - before
    assert not short["facts.page"]
    speak(worker.house)
    worker.house.scripts["mika"] = (Reply(text=" ".join(["word"] * 40)),)
    worker.house.say("hello again", "m2")
    before = worker.house.calls.copy()
    worker.house.work()
    long = worker.house.calls - before
    assert 2 <= long["facts.page"] - short["facts.page"] <= 4
    assert long["facts.commit"] == short["facts.commit"]
    assert long["journal.commit"] == short["journal.commit"]
    assert not worker.api.posted


def test_another_session_hears_nothing_of_it(worker: Function) -> None:
    one(worker, LONG[0][1], lambda _word: None)
    worker.connect("a", worker.key(Scope.OWNER))
    worker.house.say("hello")
    worker.house.work()
    assert not worker.api.posted


@pytest.mark.parametrize("word", [3, 20, 30])
def test_a_stop_ends_the_call_within_two_seconds_and_what_was_said_stays(
    worker: Function, word: int
) -> None:
    answer = " ".join(f"言葉{number}" for number in range(200))
    turns: list[Any] = []
    asked = 0.0

    def stop(at: int) -> None:
        nonlocal asked
        if at == word:
            asked = worker.house.clock.monotonic_ms()
            for turn in turns:
                worker.house.home.journal.stop(
                    turn.id, Stop(by="owner", at=worker.house.clock.now())
                )

    one(worker, answer, stop)
    subscribed(worker)
    turns.extend(worker.house.say("話して"))
    worker.house.work()
    assert 0 < worker.house.clock.monotonic_ms() - asked <= 2_000
    (turn,) = (worker.house.home.journal.header(turn.id) for turn in turns)
    assert turn.status is TurnStatus.STOPPED
    worker.push()
    client = Client(lambda _number: "")
    client.take(worker.api.seen("a"))
    assert any(answer.startswith(text) for text in client.lines.values())
    assert not client.saying


def test_a_connection_that_is_gone_costs_the_turn_nothing(worker: Function) -> None:
    one(worker, LONG[0][1], lambda word: worker.api.gone.add("a") if word == 5 else None)
    subscribed(worker)
    (turn,) = worker.house.say("hello")
    worker.house.work()
    assert worker.house.home.journal.header(turn.id).status is TurnStatus.COMPLETED
