"""A Transport that hands out what it was given, and remembers what it was asked."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from opencrab.adapters.providers.transport.exchange import (
    IsStopped,
    OpenReply,
    Reply,
    provider_exchange_never_stopped,
)
from opencrab.domain.models.fault import Fault, ModelCallFailed


@dataclass(frozen=True)
class Sent:
    """What went out."""

    url: str
    headers: Mapping[str, str]
    body: bytes | None
    timeout_seconds: float


@dataclass
class Replying:
    """Answers every request in the same way, in one piece or in `chunks`; `trouble` comes last."""

    body: bytes = b""
    status: int = 200
    sent: list[Sent] = field(default_factory=list)
    headers: Mapping[str, str] = field(default_factory=dict)
    chunks: Iterable[bytes] = ()
    trouble: ModelCallFailed | None = None

    def send(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes | None = None,
        timeout_seconds: float,
    ) -> Reply:
        self.sent.append(Sent(url, headers, body, timeout_seconds))
        return Reply(self.status, b"".join(self._coming()), self.headers)

    @contextmanager
    def open(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes,
        timeout_seconds: float,
        is_stopped: IsStopped = provider_exchange_never_stopped,
    ) -> Iterator[OpenReply]:
        self.sent.append(Sent(url, headers, body, timeout_seconds))
        yield OpenReply(self.status, self.headers, self._coming())

    def _coming(self) -> Iterator[bytes]:
        yield from self.chunks or (self.body,)
        if self.trouble is not None:
            raise self.trouble


@dataclass
class Pages:
    """Answers by address; everywhere else nobody listens."""

    pages: Mapping[str, tuple[int, bytes] | Callable[[], Reply]]
    asked: list[str] = field(default_factory=list)

    def send(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes | None = None,
        timeout_seconds: float,
    ) -> Reply:
        self.asked.append(url)
        page = self.pages.get(url)
        if page is None:
            raise ModelCallFailed(f"no connection to {url}", Fault.UNREACHABLE)
        return page() if callable(page) else Reply(*page)

    @contextmanager
    def open(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes,
        timeout_seconds: float,
        is_stopped: IsStopped = provider_exchange_never_stopped,
    ) -> Iterator[OpenReply]:
        reply = self.send(url, headers=headers, body=body, timeout_seconds=timeout_seconds)
        yield OpenReply(reply.status, reply.headers, iter((reply.body,)))
