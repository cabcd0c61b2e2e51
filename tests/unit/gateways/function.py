"""A deployed worker in this process, whose queue, journal and log a test can look into."""

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import Any

import pytest

from opencrab.domain.errors import Unavailable
from opencrab.domain.turn.turn import Turn
from opencrab.engine.runtime import Runtime
from opencrab.gateways.aws.functions import Worker
from opencrab.gateways.aws.lambda_log import LambdaLog
from opencrab.ports.turn.journal import RecordedTurn
from tests.e2e.house import House

SERVICE = "opencrab-dev"
ENOUGH = 290_000


@contextmanager
def own_log() -> Iterator[None]:
    """Within the block, whoever takes the process's log takes it from nobody."""
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    levels = {name: logging.getLogger(name).level for name in ("botocore", "pynamodb")}
    try:
        yield
    finally:
        root.handlers = handlers
        root.setLevel(level)
        for name, before in levels.items():
            logging.getLogger(name).setLevel(before)


class Call:
    """Lambda's context."""

    def __init__(self, milliseconds: int = ENOUGH) -> None:
        self._milliseconds = milliseconds

    def get_remaining_time_in_millis(self) -> int:
        """How long this call may still take."""
        return self._milliseconds


class GivenBack:
    """A queue that notes what is given back and what is buried, and may not answer."""

    def __init__(self) -> None:
        self.given: list[tuple[str, int]] = []
        self.buried: list[tuple[str, str, str]] = []
        self.sent: list[str] = []
        self.silent = False

    def continue_later(self, receipt: str, seconds: int) -> bool:
        self.given.append((receipt, seconds))
        if self.silent:
            raise Unavailable("the queue does not answer")
        return True

    def dead_letter(self, body: str, *, group: str, reason: str) -> None:
        self.buried.append((body, group, reason))

    def send(self, body: str, *, group: str, deduplication: str) -> None:
        self.sent.append(body)


class Troubled:
    """A journal in which claiming some turns goes wrong."""

    def __init__(self, journal: Any) -> None:
        self._journal = journal
        self.trouble: dict[str, Exception] = {}
        self.claims: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._journal, name)

    def claim(self, turn_id: str, **given: Any) -> RecordedTurn | None:
        self.claims.append(turn_id)
        if turn_id in self.trouble:
            raise self.trouble[turn_id]
        claimed: RecordedTurn | None = self._journal.claim(turn_id, **given)
        return claimed


class Telling:
    """A journal that tells of headers as the one on AWS does."""

    def __init__(self, journal: Any, on_turn: Callable[[Turn], None]) -> None:
        self._journal = journal
        self._on_turn = on_turn

    def __getattr__(self, name: str) -> Any:
        return getattr(self._journal, name)

    def claim(self, turn_id: str, **given: Any) -> RecordedTurn | None:
        claimed: RecordedTurn | None = self._journal.claim(turn_id, **given)
        if claimed is not None:
            self._on_turn(claimed.turn)
        return claimed

    def commit(self, change: Any) -> Turn:
        after: Turn = self._journal.commit(change)
        self._on_turn(after)
        return after


class Function:
    """A deployed worker on a home in this process, its queue, and its log."""

    def __init__(self, house: House, capsys: pytest.CaptureFixture[str]) -> None:
        self.house = house
        self.queue = GivenBack()
        self.level = logging.INFO
        self.journal = Troubled(Telling(house.home.journal, self._tell))
        self._capsys = capsys
        self._numbers = iter(range(1, 1_000))

    @cached_property
    def lambda_log(self) -> LambdaLog:
        """It writes to where the test looks, which pytest makes only when the test begins."""
        return LambdaLog(SERVICE, self.level)

    @property
    def worker(self) -> Worker:
        """The worker, as its function would build it."""
        runtime: Runtime = self.house.runtime
        queue: Any = self.queue
        journal: Any = self.journal
        home = replace(runtime.home, journal=journal, turns=queue, deliveries=queue)
        return Worker(replace(runtime, home=home), self.lambda_log)

    def turns(self, *records: dict[str, Any], milliseconds: int = ENOUGH) -> list[str]:
        """Which messages come again after a batch."""
        answer = self.worker.run_turns({"Records": list(records)}, Call(milliseconds))
        assert set(answer) == {"batchItemFailures"}
        return [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]

    def record(self, body: str, group: str = "s", count: int = 1) -> dict[str, Any]:
        """A message as SQS hands it over."""
        number = next(self._numbers)
        attributes = {"ApproximateReceiveCount": str(count), "MessageGroupId": group}
        named = {"messageId": f"id{number}", "receiptHandle": f"receipt{number}"}
        return {**named, "body": body, "attributes": attributes}

    def said(self, text: str, source_id: str = "m1", **given: Any) -> dict[str, Any]:
        """The message of the turn that these words start."""
        (turn,) = self.house.say(text, source_id)
        return self.record(body_of(turn.id), **given)

    def _tell(self, turn: Turn) -> None:
        self.lambda_log.on_turn(turn)

    def log(self) -> list[dict[str, Any]]:
        """Each line of the log since the last look: every one must be JSON."""
        return [json.loads(row) for row in self._capsys.readouterr().out.splitlines()]


def body_of(turn_id: str) -> str:
    return json.dumps({"v": 1, "turn": turn_id})
