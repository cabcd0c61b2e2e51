"""Interactions reach what handles them in both homes, and no log repeats what they hold."""

import json
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from opencrab.bootstrap.channels.interactions import handle_queued_interaction, has_interactions
from opencrab.engine.runtime import Runtime
from opencrab.gateways.aws.functions import Worker
from opencrab.gateways.aws.lambda_log import LambdaLog
from opencrab.gateways.discord.interactions.worker import handle_interaction
from opencrab.gateways.local.consumer import Consumer, InteractionHandler, interactions_consumer
from opencrab.ports.turn.queue import Delivery, MessageOutcome
from opencrab.settings import load_settings
from tests.unit.gateways.discord.stage import Stage, staged
from tests.unit.gateways.function import SERVICE, Call, own_log

PATIENCE = 50.0


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with staged(tmp_path) as made:
        made.agent("crab")
        yield made


@contextmanager
def worker(runtime: Runtime) -> Iterator[Worker]:
    with own_log():
        yield Worker(runtime, LambdaLog(SERVICE))


def event(*bodies: str) -> dict[str, Any]:
    attributes = {"ApproximateReceiveCount": "1", "MessageGroupId": "g"}
    return {
        "Records": [
            {"messageId": f"m{n}", "receiptHandle": f"r{n}", "body": body, "attributes": attributes}
            for n, body in enumerate(bodies)
        ]
    }


def test_a_batch_of_interactions_is_handled(stage: Stage) -> None:
    asked = stage.door.command("ask", agent="crab", text="元気?")
    with worker(stage.runtime) as function:
        answer = function.run_interactions(
            event(json.dumps(asked), "no json"), Call(), handle_interaction
        )
    assert answer == {"batchItemFailures": []}
    stage.works()
    assert stage.said == ["はい、元気です。"]


def test_an_interaction_that_breaks_comes_again_and_holds_up_its_channel(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(_runtime: Runtime, _delivery: Delivery) -> MessageOutcome:
        raise RuntimeError("nobody expected this")

    with worker(stage.runtime) as function:
        answer = function.run_interactions(event("one-secret", "two"), Call(), broken)
    assert [each["itemIdentifier"] for each in answer["batchItemFailures"]] == ["m0", "m1"]
    assert "one-secret" not in capsys.readouterr().out


def test_without_a_queue_of_interactions_none_are_handled(stage: Stage) -> None:
    runtime = stage.replaced(home=replace(stage.runtime.home, interactions=None))
    with worker(runtime) as function:
        assert function.run_interactions(event("x"), Call(), handle_interaction) == {
            "batchItemFailures": []
        }
    assert interactions_consumer(runtime, InteractionHandler(handle_queued_interaction)) is None


def test_the_local_process_handles_interactions_where_discord_is_on(stage: Stage) -> None:
    on = load_settings({"gateway.discord.enabled": True, "gateway.discord.token": "x"})
    assert has_interactions(on, stage.runtime)
    assert not has_interactions(load_settings({}), stage.runtime)
    asked = json.dumps(stage.door.command("ask", agent="crab", text="元気?"))
    delivery = Delivery(body=asked, group="g", receipt="r", count=1)
    assert handle_queued_interaction(stage.runtime, delivery) is MessageOutcome.FINISHED
    stage.works()
    assert stage.said == ["はい、元気です。"]


def test_a_queue_that_nobody_uses_is_not_asked_until_somebody_does(stage: Stage) -> None:
    handled, queue = threading.Event(), stage.house.home.interactions
    assert queue is not None

    def handle(_runtime: Runtime, _delivery: Delivery) -> MessageOutcome:
        handled.set()
        return MessageOutcome.FINISHED

    consumer = interactions_consumer(stage.runtime, InteractionHandler(handle, lambda: False))
    assert consumer is not None
    queue.send("a", group="g", deduplication="1")
    consumer.wake()  # nothing runs before the start
    consumer.start()
    assert not handled.wait(0.2)
    consumer.wake()
    consumer.wake()
    assert handled.wait(PATIENCE)
    consumer.stop()
    consumer.join()


def test_the_log_of_a_private_message_that_breaks_does_not_repeat_it(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    enough = threading.Event()

    def once_broken(delivery: Delivery) -> MessageOutcome:
        if delivery.count == 1:
            raise RuntimeError("nobody expected this")
        enough.set()
        return MessageOutcome.FINISHED

    queue = stage.house.home.turns
    consumer = Consumer("interactions", queue, once_broken, workers=1, visibility=60, private=True)
    queue.send("a-secret-token", group="g", deduplication="1")
    with caplog.at_level(logging.WARNING):
        consumer.start()
        for _ in range(int(PATIENCE / 0.05)):
            if enough.wait(0.05):
                break
            if caplog.records:
                stage.house.clock.advance(60)
        assert enough.is_set()
        consumer.stop()
        consumer.join()
    assert "nobody expected this" in caplog.text
    assert "a-secret-token" not in caplog.text
