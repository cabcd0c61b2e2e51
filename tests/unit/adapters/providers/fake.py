"""A Transport that hands out what it was given, and remembers what it was asked."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from opencrab.adapters.providers.transport import Reply
from opencrab.domain.errors import NeverSent


@dataclass(frozen=True)
class Sent:
    """What went out."""

    url: str
    headers: Mapping[str, str]
    body: bytes | None
    timeout_seconds: float


@dataclass
class Replying:
    """Answers every request in the same way."""

    body: bytes
    status: int = 200
    sent: list[Sent] = field(default_factory=list)

    def send(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes | None = None,
        timeout_seconds: float,
    ) -> Reply:
        self.sent.append(Sent(url, headers, body, timeout_seconds))
        return Reply(self.status, self.body)


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
            raise NeverSent(f"no connection to {url}")
        return page() if callable(page) else Reply(*page)
