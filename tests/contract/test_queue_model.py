"""Queues: whatever is done to one, it behaves like a list in memory."""

from collections import defaultdict
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from opencrab.adapters.system_clock import FakeClock
from tests.contract.example import NOW
from tests.contract.homes import OpenQueues, sqs, sqs_in_memory
from tests.soak import examples

VISIBLE_AFTER = 30
KNOWN_FOR = 300
TICK = 7
"""Neither 30 nor 300 is a multiple of it, so that nothing ever happens at the very moment."""

GROUPS = st.sampled_from(["朝", "昼", "night"])
NAMES = st.sampled_from(["一", "二", "three", "four", "五"])


@dataclass
class Waiting:
    """A message as the model has it, with its newest receipt.

    Given back, it is out of its worker's hands, though a queue may heed the receipt until the
    message is taken again: SQS does, since for it giving back only shortens the visibility.
    """

    body: str
    visible_at: float = 0
    receipt: str | None = None
    given_back: bool = False
    count: int = 0


class QueueMachine(RuleBasedStateMachine):
    """A fresh queue beside its model."""

    def __init__(self, opens: OpenQueues, folder: Path) -> None:
        super().__init__()
        self._open = ExitStack()
        self._clock = FakeClock(NOW)
        self._heeds_given_back = opens in {sqs, sqs_in_memory}
        self._queue, _ = self._open.enter_context(opens(folder, self._clock))
        self._groups: dict[str, list[Waiting]] = defaultdict(list)
        self._known_until: dict[str, float] = {}
        self._receipts: list[str] = []
        self._now = 0.0
        self._sent = count(1)

    def teardown(self) -> None:
        self._open.close()

    @initialize(group=GROUPS)
    def something_is_there(self, group: str) -> None:
        self.send(group, "最初")

    @rule(group=GROUPS, name=NAMES)
    def send(self, group: str, name: str) -> None:
        body = f"{name} {next(self._sent)}"
        self._queue.send(body, group=group, deduplication=name)
        if self._known_until.get(name, -1) < self._now:
            self._known_until[name] = self._now + KNOWN_FOR
            self._groups[group].append(Waiting(body, visible_at=self._now))

    @rule()
    def receive(self) -> None:
        found = self._queue.receive(visibility_seconds=VISIBLE_AFTER, wait_seconds=0)
        ready = {group for group, head in self._heads().items() if head.visible_at <= self._now}
        if found is None:
            assert not ready
            return
        assert found.group in ready
        head = self._heads()[found.group]
        head.count += 1
        head.given_back = False
        head.receipt, head.visible_at = found.receipt, self._now + VISIBLE_AFTER
        assert (found.body, found.count) == (head.body, head.count)
        assert found.receipt not in self._receipts
        self._receipts.append(found.receipt)

    @rule(data=st.data())
    def finish(self, data: st.DataObject) -> None:
        receipt = self._some_receipt(data)
        if receipt is None:
            return
        self._queue.acknowledge(receipt)
        for waiting in self._groups.values():
            if waiting and waiting[0].receipt == receipt:
                waiting.pop(0)

    @rule(data=st.data(), seconds=st.sampled_from([0, 5, 40]))
    def give_back(self, data: st.DataObject, seconds: int) -> None:
        receipt = self._some_receipt(data)
        if receipt is None:
            return
        held = [head for head in self._heads().values() if head.receipt == receipt]
        assert self._queue.continue_later(receipt, seconds) is bool(held)
        for head in held:
            head.given_back, head.visible_at = self._heeds_given_back, self._now + seconds
            if not self._heeds_given_back:
                head.receipt = None

    @rule(ticks=st.sampled_from([1, 5, 43]))
    def time_passes(self, ticks: int) -> None:
        self._clock.advance(ticks * TICK)
        self._now += ticks * TICK

    @invariant()
    def nothing_is_buried_by_itself(self) -> None:
        assert self._queue.list_dead_letters(1) == ()

    def _heads(self) -> dict[str, Waiting]:
        return {group: waiting[0] for group, waiting in self._groups.items() if waiting}

    def _some_receipt(self, data: st.DataObject) -> str | None:
        """Any receipt but one that is over and was not replaced: a queue may treat that freely."""
        free = {
            head.receipt
            for head in self._heads().values()
            if head.given_back or head.visible_at <= self._now
        }
        known = [receipt for receipt in self._receipts if receipt not in free]
        return data.draw(st.sampled_from(known)) if known else None


@pytest.mark.timeout(60)
def test_a_queue_behaves_like_its_model(opens_queues: OpenQueues, tmp_path: Path) -> None:
    folders = (tmp_path / str(number) for number in count())

    class Machine(QueueMachine):
        def __init__(self) -> None:
            super().__init__(opens_queues, next(folders))

    chosen = settings(max_examples=examples(30), stateful_step_count=40)
    run_state_machine_as_test(Machine, settings=chosen)
