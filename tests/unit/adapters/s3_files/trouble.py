"""An S3 client and a ledger that fail, or let somebody else in, at the n-th call."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from botocore.exceptions import ClientError, ReadTimeoutError

from opencrab.adapters.s3_files import S3Files
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.errors import Unavailable
from opencrab.ports.workspace.ledger import WorkspaceLedger
from tests.aws import account
from tests.ledgers import MemoryLedger

NOW = datetime(2026, 2, 17, 9, 0, tzinfo=UTC)
QUOTA, LARGEST = 1_000, 600


class Trouble:
    """What happens at the calls that pass through here: of S3 and of the ledger alike."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.failed = ""
        self._at = -1
        self._happens: Callable[[], object] = lambda: None
        self._afterwards = False

    def arm(self, at: int, *, afterwards: bool = False) -> None:
        """Let the n-th call from now on fail, before or after it took place."""
        self.calls.clear()
        self.failed = ""
        self._at, self._afterwards = at, afterwards
        self._happens = self._fail

    def between(self, at: int, act: Callable[[], object]) -> None:
        """Let somebody else act just before the n-th call from now on."""
        self.calls.clear()
        self._at, self._afterwards = at, False
        self._happens = act

    def disarm(self) -> None:
        """Let all go well again."""
        self.arm(-1)

    def passing(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """A call that passes through here."""

        def passed(*arguments: Any, **named: Any) -> Any:
            self.calls.append(name)
            happens = len(self.calls) - 1 == self._at
            if happens and not self._afterwards:
                self._happen(name)
            try:
                return call(*arguments, **named)
            finally:
                if happens and self._afterwards:
                    self._happen(name)

        return passed

    def _happen(self, name: str) -> None:
        self.failed, self._at = name, -1
        self._happens()

    def _fail(self) -> None:
        if self.failed.startswith("ledger"):
            raise Unavailable("the ledger does not answer")
        raise ReadTimeoutError(endpoint_url="s3")


class Client:
    """An S3 client whose calls all pass through trouble."""

    def __init__(self, real: Any, trouble: Trouble) -> None:
        for name in ("head_object", "get_object", "put_object", "delete_object"):
            setattr(self, name, trouble.passing(name, getattr(real, name)))
        # Two at a time, so that every list has pages.
        paged = trouble.passing("list_objects_v2", _two_at_a_time(real))
        self.list_objects_v2 = paged


class Troubled:
    """A ledger whose calls all pass through trouble."""

    def __init__(self, real: WorkspaceLedger, trouble: Trouble) -> None:
        self.entry = trouble.passing("ledger.entry", real.entry)
        self.entries = trouble.passing("ledger.entries", real.entries)
        self.save = trouble.passing("ledger.save", real.save)


class World:
    """Workspaces with everything behind them at hand."""

    def __init__(self, s3: Any, bucket: str, clock: FakeClock) -> None:
        self.s3, self.bucket, self.clock = s3, bucket, clock
        self.trouble = Trouble()
        self.ledger = MemoryLedger()
        self.files = self.opened(Client(s3, self.trouble), Troubled(self.ledger, self.trouble))
        self.calm = self.opened(s3, self.ledger)

    def opened(self, client: Any, ledger: WorkspaceLedger) -> S3Files:
        """The same workspaces through another client and another look at the ledger."""
        return S3Files(
            client,
            self.bucket,
            quota_bytes=QUOTA,
            file_bytes=LARGEST,
            ledger=ledger,
            clock=self.clock,
        )

    def put_by_hand(self, path: str, content: bytes, **more: Any) -> None:
        """What an operator does in the console."""
        self.s3.put_object(Bucket=self.bucket, Key=key(path), Body=content, **more)

    def delete_by_hand(self, path: str) -> None:
        """What an operator does in the console."""
        self.s3.delete_object(Bucket=self.bucket, Key=key(path))

    def versions(self, path: str) -> int:
        """How many versions of a file the bucket keeps."""
        listed = self.s3.list_object_versions(Bucket=self.bucket, Prefix=key(path))
        return len(listed.get("Versions", ()))

    def sizes(self) -> dict[str, int]:
        """Every object of Mika's with its size, as the bucket says."""
        listed = self.s3.list_objects_v2(Bucket=self.bucket, Prefix=key(""))
        return {item["Key"]: item["Size"] for item in listed.get("Contents", ())}

    def check_counted(self) -> None:
        """Never too little is counted, and never more than the quota."""
        assert sum(self.sizes().values()) <= self.ledger.usage("mika") <= QUOTA

    def check_exact(self) -> None:
        """What is counted is what is there."""
        assert sum(self.sizes().values()) == self.ledger.usage("mika")


@contextmanager
def world() -> Iterator[World]:
    """An empty bucket and an empty ledger."""
    clock = FakeClock(NOW)
    with account(clock) as opened:
        yield World(opened.client("s3"), opened.bucket(), clock)


def key(path: str) -> str:
    """Where a file of Mika's lies."""
    return f"agents/mika/workspace/{path}"


def refusal(code: str, operation: str = "PutObject") -> ClientError:
    """An error as S3 answers it."""
    return ClientError({"Error": {"Code": code, "Message": "no"}}, operation)


def _two_at_a_time(real: Any) -> Callable[..., Any]:
    def listed(**arguments: Any) -> Any:
        return real.list_objects_v2(**{"MaxKeys": 2, **arguments})

    return listed
