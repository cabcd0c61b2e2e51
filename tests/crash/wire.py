"""Between the adapters and AWS: every call is an I/O point, and goes wrong as AWS's calls do.

What a call did is told to the run's watch when AWS has done it, whether anybody hears of it or not.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

from botocore.exceptions import ClientError, ReadTimeoutError
from pynamodb.exceptions import CancellationReason, VerboseClientError

from opencrab.adapters.aws_client import AWS_ERRORS
from opencrab.adapters.dynamodb.table import PAUSES
from opencrab.adapters.dynamodb.turn import header as headers
from opencrab.ports.turn.journal import RecordedTurn
from tests.aws_memory.client import MemoryClient
from tests.crash.aws_state import AwsState
from tests.crash.ground import Answer, Arguments, Calls, Hands, Stage
from tests.crash.scheduling import Fault, Task

_SINGLE = {"PutItem", "UpdateItem", "DeleteItem"}
_CHANGES = {*_SINGLE, "TransactWriteItems"}
_TOLD = {"claim", "commit", "stop", "resume", "decide"}
_PAUSE_SECONDS = 0.25
_PREFIX = "agents/"


class Wire:
    """The calls of DynamoDB, SQS and S3 of one installation."""

    def __init__(self, state: AwsState, clock: Hands, stage: Stage) -> None:
        self._state = state
        self._clock = clock
        self._stage = stage
        self._conflicts: Counter[Task] = Counter()

    def around(self, service: str, ask: Calls) -> Calls:
        """The calls of one service with all that may happen to them."""
        real = self._from_replicas(ask) if service == "dynamodb" else ask
        return lambda operation, arguments: self._call(service, operation, arguments, real)

    def pause(self, _seconds: float) -> None:
        """A wait between two tries; always the same, so that a run can be repeated."""
        self._clock.advance(_PAUSE_SECONDS)

    def _call(self, service: str, operation: str, arguments: Arguments, ask: Calls) -> Answer:
        at = self._stage.scheduler
        if at.current is None:
            return self._done(operation, arguments, ask)
        fault = at.point(service, operation, "before", lambda: _too_busy(service, operation))
        self._meet(at.current, operation, arguments)
        try:
            answer = self._done(operation, arguments, ask)
            if fault is Fault.ECHO and operation != "TransactWriteItems":
                # A transaction carries a token, by which its repeat is known.
                at.hand_backs += 1
                answer = self._done(operation, arguments, ask)
        except AWS_ERRORS:
            at.point(service, operation, "after", _silence)
            raise
        at.point(service, operation, "after", _silence)
        return answer

    def _from_replicas(self, ask: Calls) -> Calls:
        """DynamoDB, which may answer from a replica unless it must not."""

        def read(operation: str, arguments: Arguments) -> Answer:
            weather, current = self._stage.weather, self._stage.scheduler.current
            cheap = operation in {"Query", "GetItem"} and not arguments.get("ConsistentRead")
            behind = weather.behind() if cheap and current is not None else 0
            weather.stale += behind > 0
            if not behind:
                return ask(operation, dict(arguments))
            return self._state.as_of(behind, self._clock.now())(operation, dict(arguments))

        return read

    def _meet(self, task: Task, operation: str, arguments: Arguments) -> None:
        """Perhaps another transaction is in the way."""
        conditional = operation == "PutObject" and {"IfMatch", "IfNoneMatch"} & arguments.keys()
        if not (operation in _CHANGES or conditional) or not self._stage.weather.conflict():
            self._conflicts[task] = 0
            return
        self._conflicts[task] += 1
        if self._conflicts[task] > len(PAUSES):
            self._conflicts[task] = 0
            self._stage.scheduler.outages += 1
        raise _conflict(operation, arguments, self._stage.weather.dice.randrange(25))

    def _done(self, operation: str, arguments: Arguments, ask: Calls) -> Answer:
        """What AWS answers; whoever watches learns what it did."""
        answer = ask(operation, arguments)
        if operation in _CHANGES:
            if self._stage.weather.lag:
                self._state.changed(self._clock.now())
            self._tell_of_turns(operation, arguments)
        elif operation == "PutObject" and arguments["Key"].startswith(_PREFIX):
            self._tell_of_file(arguments["Key"], arguments["Body"])
        elif "QueueUrl" in arguments:
            self._stage.watch.version += 1
        return answer

    def _tell_of_turns(self, operation: str, arguments: Arguments) -> None:
        task = self._stage.scheduler.current
        call = None if task is None else task.call
        if call is None or call.port != "journal" or call.method not in _TOLD:
            return
        for pk, sk in _keys(operation, arguments):
            item = self._state.item(pk, sk) if sk == headers.HEADER else None
            if item is not None:
                turn = headers.turn_from_dynamodb_item(item)
                answer = RecordedTurn(turn, ()) if call.method == "claim" else turn
                self._stage.watch.on_journal(call.method, call.arguments, call.named, answer)

    def _tell_of_file(self, key: str, content: bytes) -> None:
        """A file was written; it must have been counted before."""
        agent_id, _, path = key.removeprefix(_PREFIX).partition("/workspace/")
        self._stage.watch.written[agent_id, path].append(content)
        root = f"{_PREFIX}{agent_id}/"
        used = sum(map(len, self._state.objects(root).values()))
        item = self._state.item(f"WORKSPACE#{agent_id}", "U") or {"bytes": {"N": "0"}}
        if used > int(item["bytes"]["N"]):
            counted = item["bytes"]["N"]
            self._stage.watch.problems.append(f"{agent_id} has {used} bytes, {counted} counted")


class Client:
    """A client whose calls go through somebody's hands."""

    def __init__(self, client: MemoryClient, through: Callable[[Calls], Calls]) -> None:
        self._methods = client.operations
        by_operation = {operation: method for method, operation in self._methods.items()}

        def ask(operation: str, arguments: Arguments) -> Answer:
            answer: Answer = getattr(client, by_operation[operation])(**arguments)
            return answer

        self._calls = through(ask)

    def __getattr__(self, method: str) -> Callable[..., Answer]:
        operation = self._methods[method]
        return lambda **arguments: self._calls(operation, arguments)


def _keys(operation: str, arguments: Arguments) -> list[tuple[str, str]]:
    """Which items a call changed."""
    if operation == "TransactWriteItems":
        parts = [part for write in arguments["TransactItems"] for part in write.values()]
    else:
        parts = [arguments]
    keys = (part.get("Key") or part["Item"] for part in parts)
    return [(key["pk"]["S"], key["sk"]["S"]) for key in keys]


def _too_busy(service: str, operation: str) -> ClientError:
    """Throttled or broken for longer than the SDK is patient."""
    code = {"sqs": "InternalError", "s3": "SlowDown"}.get(service, "ThrottlingException")
    return _error(operation, code)


def _silence() -> ReadTimeoutError:
    """The answer is lost; so is that of each of the SDK's repeats."""
    return ReadTimeoutError(endpoint_url="https://made-up.example")


def _conflict(operation: str, arguments: Arguments, dice: int) -> ClientError:
    if operation == "PutObject":
        return _error(operation, "ConditionalRequestConflict")
    if operation in _SINGLE:
        return _error(operation, "TransactionConflictException")
    count = len(arguments["TransactItems"])
    reasons: list[CancellationReason | None] = [None] * count
    reasons[dice % count] = CancellationReason("TransactionConflict", "made up")
    return _error(operation, "TransactionCanceledException", reasons)


def _error(
    operation: str, code: str, reasons: list[CancellationReason | None] | None = None
) -> ClientError:
    answer: Any = {"Error": {"Code": code, "Message": "made up"}}
    return VerboseClientError(answer, operation, {}, cancellation_reasons=reasons or [])
