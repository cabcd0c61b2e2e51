"""What a warm `agent_turn` costs in CPU: our code and the SDK, without AWS behind it.

Moto would cost more than what is to be measured. So a run of turns is recorded once with moto, and
then repeated with the recorded answers, given where botocore would send the request. The clock and
all ids are made up and the same every time, hence so are the requests, which is checked. What is
not in it: the connection, its encryption, and waiting.
"""

import gc
import logging
import re
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any

from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from moto import mock_aws
from moto.core.models import botocore_stubber

from opencrab.adapters.aws_client import aws_service_client
from opencrab.adapters.dynamodb.table import Dispatch, Table, item_key, open_dynamodb_connection
from opencrab.adapters.local_files import LocalBlobs, LocalFiles
from opencrab.adapters.providers.registry import ProviderModels
from opencrab.adapters.providers.transport.http_connections import HttpConnections
from opencrab.adapters.providers.transport.http_transport import HttpTransport
from opencrab.adapters.sqlite.home import open_sqlite_home
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.turn.turn import TurnStatus
from opencrab.gateways.aws.functions import Worker
from opencrab.gateways.aws.lambda_log import LambdaLog
from opencrab.ports.models.model import Models
from tests.aws import REGION, Account
from tests.aws_faults import response_of
from tests.aws_home import create_table, home_on
from tests.bench.standard import NOWHERE, START, Thinking, event_of, worker_home
from tests.bench.world import World, models_at, runtime_with

TURNS = 25
WARM_UP = 5
ROUNDS = 5
HISTORY = 10
CALLS = 300
MOTO: Any = {"core": {"mock_credentials": False, "reset_boto3_session": False}}
_MADE_UP = re.compile(
    rb'"ClientRequestToken": ?"[^"]*"|(?<="S": ")(LEASE#)?([0-9a-f]{8}){1,2}(?=")'
)
"""The token of a transaction, and names of slices of the budget and who holds them: always new."""


class Lambda:
    """The context of an invocation with time enough."""

    def get_remaining_time_in_millis(self) -> int:
        """Milliseconds."""
        return 300_000


@dataclass(frozen=True)
class Exchange:
    """A request and its answer."""

    operation: str
    body: bytes
    status: int
    headers: dict[str, str]
    content: bytes


@dataclass
class Tape:
    """What was asked of AWS, and answered, in order."""

    exchanges: list[Exchange] = field(default_factory=list)
    position: int = 0
    asked: list[Any] = field(default_factory=list)

    def answer(self, event_name: str, request: AWSPreparedRequest, **_: Any) -> AWSResponse:
        """The next answer on the tape."""
        said = self.exchanges[self.position]
        self.position += 1
        self.asked.append(request.body)
        return response_of(request, said.status, said.content, said.headers)

    def rewind(self) -> None:
        """To the beginning; what was asked must be what is on the tape."""
        for exchange, body in zip(self.exchanges, self.asked, strict=True):
            assert _plain(body) == exchange.body, exchange.operation
        self.position, self.asked = 0, []


class Configured(Account):
    """An account whose clients are made as in production."""

    def client(self, service: str) -> Any:
        if service not in self._clients:
            made = aws_service_client(
                service,
                region_name=REGION,
                aws_access_key_id="made-up",
                aws_secret_access_key="made-up",
            )
            self._clients[service] = self.served(made)
        return self._clients[service]

    def dispatch(self) -> Dispatch:
        """Calls of DynamoDB."""
        made_up = {"aws_access_key_id": "made-up", "aws_secret_access_key": "made-up"}
        dispatch: Any = open_dynamodb_connection(REGION, **made_up)
        self.served(dispatch.__self__.client)
        made: Dispatch = dispatch
        return made


class Recorded(Configured):
    """An account that writes down what it is asked and what it answers."""

    def __init__(self, clock: FakeClock, tape: Tape) -> None:
        super().__init__(clock)
        self._tape = tape

    def _answer(self, event_name: str, request: AWSPreparedRequest, **_: Any) -> AWSResponse | None:
        asked = _plain(request.body)
        said = super()._answer(event_name, request)
        assert said is not None
        content, headers = said.content, {str(k): str(v) for k, v in said.headers.items()}
        self._tape.exchanges.append(Exchange(event_name, asked, said.status_code, headers, content))
        return response_of(request, said.status_code, content, headers)


class Replayed(Configured):
    """The same account again, as the tape remembers it."""

    def __init__(self, clock: FakeClock, tape: Tape, stage: str) -> None:
        super().__init__(clock)
        self.stage = stage
        self._tape = tape

    def served(self, client: Any) -> Any:
        client.meta.events.unregister("before-send", botocore_stubber)
        client.meta.events.register("before-send", self._tape.answer)
        return client

    def bucket(self, purpose: str = "data") -> str:
        """The bucket that is there since the recording."""
        return f"opencrab-{self.stage}-{purpose}"


@dataclass(frozen=True)
class Figures:
    """Milliseconds of CPU: one warm turn in each home, one call of AWS; and calls in a turn."""

    sqlite_ms: float
    aws_ms: float
    call_ms: float
    calls: int

    @property
    def ratio(self) -> float:
        """How much more the home on AWS costs."""
        return self.aws_ms / self.sqlite_ms


@dataclass(frozen=True)
class Counted:
    """What one turn asks of AWS, its admission first, and what its function logs."""

    admission: Counter[str]
    worker: Counter[str]
    log: str


def counted() -> Counted:
    """The last of a few turns."""
    tape, clock = Tape(), FakeClock(START)
    models = ProviderModels(lambda: models_at(NOWHERE), lambda: Thinking(clock))
    with mock_aws(config=MOTO):
        return _recorded(tape, clock, models, WARM_UP + 1)[1]


def figures(directory: Path, model_url: str, rounds: int = ROUNDS, turns: int = TURNS) -> Figures:
    """Both homes in turn, so that a busy machine disturbs both alike; the median pair of rounds."""
    http = HttpConnections()
    models = ProviderModels(lambda: models_at(model_url), lambda: HttpTransport(http))
    tape = Tape()
    pairs: list[tuple[float, float]] = []
    with mock_aws(config=MOTO):
        opened, one = _recorded(tape, FakeClock(START), models, turns)
        # What the recording left behind is none of the collector's business.
        gc.collect()
        gc.freeze()
        for number in range(rounds):
            local = _on_sqlite(directory / str(number), models, turns)
            again = FakeClock(START)
            deployed = _on_aws(Replayed(again, tape, opened.stage), again, models, turns, logs=[])
            tape.rewind()
            pairs.append((statistics.median(local), statistics.median(deployed)))
        gc.unfreeze()
        call = _call_ms(tape, opened)
    http.close()
    pairs.sort(key=lambda pair: pair[1] / pair[0])
    return Figures(*pairs[len(pairs) // 2], call, sum(one.worker.values()))


def _recorded(
    tape: Tape, clock: FakeClock, models: Models, turns: int
) -> tuple[Configured, Counted]:
    """The account that was recorded, and the last turn."""
    opened, marks = Recorded(clock, tape), list[int]()

    def mark() -> None:
        marks.append(len(tape.exchanges))

    logs: list[str] = []
    _on_aws(opened, clock, models, turns, logs=logs, mark=mark)
    admitted, begun, ended = marks[-3:]
    called = [" ".join(exchange.operation.split(".")[1:]) for exchange in tape.exchanges]
    one = Counted(Counter(called[admitted:begun]), Counter(called[begun:ended]), logs[-1])
    return opened, one


def _on_aws(
    opened: Configured,
    clock: FakeClock,
    models: Models,
    turns: int,
    *,
    logs: list[str],
    mark: Callable[[], None] = lambda: None,
) -> list[float]:
    """What each turn took on the home of AWS, after some to warm up."""
    table = Table(create_table(opened), opened.dispatch(), pause=clock.advance)
    home = home_on(table, opened, clock)
    with _journal() as (lambda_log, output):
        working = worker_home(home, table, clock, lambda_log.on_turn)
        worker = Worker(runtime_with(working, clock, models), lambda_log)
        taken = []
        for one in _turns(World(runtime_with(home, clock, models)), worker, clock, turns, mark):
            taken.append(one)
            logs.append(output.getvalue())
            output.seek(0)
            output.truncate()
    return taken[WARM_UP:]


def _on_sqlite(directory: Path, models: Models, turns: int) -> list[float]:
    """What the same turns take on the local home."""
    clock = FakeClock(START)
    files, blobs = LocalFiles(directory), LocalBlobs(directory)
    home, database = open_sqlite_home(directory, clock, files=files, blobs=blobs)
    runtime = runtime_with(home, clock, models)
    with _journal() as (lambda_log, _):
        taken = list(_turns(World(runtime), Worker(runtime, lambda_log), clock, turns))
    database.close()
    return taken[WARM_UP:]


def _turns(
    rest: World,
    worker: Worker,
    clock: FakeClock,
    turns: int,
    mark: Callable[[], None] = lambda: None,
) -> Iterator[float]:
    """Milliseconds of each turn; `mark` is called before and after its two parts."""
    session_id = rest.session(rest.agent("蟹"), HISTORY)
    context = Lambda()
    for _ in range(turns):
        mark()
        (turn,) = rest.say(session_id)
        event = event_of(turn)
        mark()
        started = time.process_time()
        answer = worker.run_turns(event, context)
        took = (time.process_time() - started) * 1_000
        mark()
        assert answer == {"batchItemFailures": []}
        assert rest.runtime.home.journal.header(turn.id).status is TurnStatus.COMPLETED
        clock.advance(60)
        yield took


def _call_ms(tape: Tape, opened: Configured) -> float:
    """CPU of the SDK alone for one small read."""
    said = next(each for each in tape.exchanges if each.operation.endswith("GetItem"))
    again = Replayed(FakeClock(START), Tape([said] * CALLS), opened.stage)
    dispatch = again.dispatch()
    read = {"TableName": "t", "Key": item_key("SWITCH", "S"), "ConsistentRead": True}
    started = time.process_time()
    for _ in range(CALLS):
        dispatch("GetItem", read)
    return (time.process_time() - started) * 1_000 / CALLS


@contextmanager
def _journal() -> Iterator[tuple[LambdaLog, StringIO]]:
    """Logs as a function writes them, into memory; afterwards logging is as it was."""
    root, output = logging.getLogger(), StringIO()
    handlers, level = root.handlers, root.level
    with redirect_stdout(output):
        try:
            yield LambdaLog("opencrab-bench"), output
        finally:
            root.handlers = handlers
            root.setLevel(level)


def _plain(body: Any) -> bytes:
    """A request's body without what is made up anew for each."""
    content = body.read() if hasattr(body, "read") else body or b""
    if hasattr(body, "seek"):
        body.seek(0)
    raw = content.encode() if isinstance(content, str) else bytes(content)
    return _MADE_UP.sub(b"", raw)
