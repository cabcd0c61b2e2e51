"""Summaries on AWS: a function asks for those that wait, and takes what a batch brings it."""

import pytest

from opencrab.domain.errors import Unavailable
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.run import Pace
from opencrab.ports.turn.queue import Delivery, MessageOutcome
from tests.unit.gateways.aws.test_functions import SHORT, function, logging_as_it_was
from tests.unit.gateways.function import Call, Function

__all__ = ["function", "logging_as_it_was"]


@pytest.mark.parametrize("outcome", MessageOutcome)
def test_a_batch_of_summaries_is_worked_on_as_far_as_the_time_allows(
    function: Function, outcome: MessageOutcome
) -> None:
    seen: list[tuple[str, bool]] = []

    def run(_runtime: Runtime, delivery: Delivery, pace: Pace) -> MessageOutcome:
        seen.append((delivery.body, pace.allows(60)))
        return outcome

    record = function.record("a wish", group="s1")
    event = {"Records": [record]}
    answer = function.worker.run_compactions(event, Call(SHORT), run)
    again = [{"itemIdentifier": record["messageId"]}] if outcome is MessageOutcome.CONTINUE else []
    assert answer == {"batchItemFailures": again}
    assert seen == [("a wish", False)]


def test_each_minute_the_summaries_that_wait_are_made_until_none_is_left(
    function: Function,
) -> None:
    queue, seen = function.house.home.compactions, list[str]()
    for number in range(4):
        queue.send(f"wish {number}", group=f"s{number}", deduplication=str(number))

    def run(_runtime: Runtime, delivery: Delivery, _pace: Pace) -> MessageOutcome:
        seen.append(delivery.body)
        if delivery.body == "wish 1":
            raise Unavailable("the table does not answer")
        if delivery.body == "wish 2":
            queue.continue_later(delivery.receipt, 5)
            return MessageOutcome.CONTINUE
        return MessageOutcome.FINISHED

    minute = {"source": "aws.events"}
    assert function.worker.run_compactions(minute, Call(SHORT), run) == {}
    assert seen == [], "there is no time for a model call"
    assert function.worker.run_compactions(minute, Call(), run) == {}
    assert sorted(seen) == [f"wish {number}" for number in range(4)]
    function.house.clock.advance(60)
    assert function.worker.run_compactions(minute, Call(), run) == {}
    assert sorted(seen[4:]) == ["wish 1", "wish 2"]
