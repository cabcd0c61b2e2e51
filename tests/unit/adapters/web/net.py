"""A made-up internet: names, numbers, and servers that answer, without a socket."""

import ssl
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpcore

from opencrab.adapters.system_clock import FakeClock
from opencrab.adapters.web.address import AllowList
from opencrab.adapters.web.fetch import HttpPages
from opencrab.adapters.web.files import HttpFiles
from opencrab.adapters.web.signed_post import HttpSignedPost
from opencrab.adapters.web.webhook_answers import WebhookAnswerChannel
from opencrab.ports.documents import Documents

PUBLIC = "93.184.215.14"
OTHER = "2606:2800:220:1:248:1893:25c8:1946"

Answer = Callable[[str], Iterable[bytes]]
"""What a server sends, in pieces, when it is asked for a URL."""


def reply(
    body: bytes = b"", kind: str = "text/plain", status: int = 200, **headers: str
) -> list[bytes]:
    """A whole reply in two pieces."""
    lines = [f"HTTP/1.1 {status} X", f"content-length: {len(body)}"]
    lines += [f"content-type: {kind}"] if kind else []
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return ["\r\n".join([*lines, "", ""]).encode(), body]


def moved(location: str, status: int = 302) -> list[bytes]:
    """A redirect."""
    return reply(status=status, location=location)


@dataclass
class Net(httpcore.NetworkBackend):
    """Knows numbers by name, and answers; remembers what was looked up, dialled and asked for."""

    answer: Answer
    numbers: Mapping[str, Sequence[str]] = field(default_factory=dict)
    down: frozenset[str] = frozenset()
    seconds_per_piece: float = 0.0
    now: float = 1000.0
    looked_up: list[str] = field(default_factory=list)
    dialled: list[tuple[str, int]] = field(default_factory=list)
    proved: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def pages(self, *allowed: str) -> HttpPages:
        """The product's fetching over this internet."""
        return HttpPages(AllowList(allowed), self, self.resolve, lambda: self.now, no_tls)

    def files(self, *allowed: str) -> HttpFiles:
        """The product's fetching of files over this internet."""
        return HttpFiles(AllowList(allowed), self, self.resolve, lambda: self.now, no_tls)

    def answers(self, facts: Documents, clock: FakeClock) -> WebhookAnswerChannel:
        """The product's sending of answers over this internet."""
        return WebhookAnswerChannel(
            facts,
            clock,
            self,
            resolve=self.resolve,
            seconds=lambda: self.now,
            new_tls=no_tls,
        )

    def posts(self, clock: FakeClock) -> HttpSignedPost:
        """The product's signed posts over this internet."""
        return HttpSignedPost(
            clock, self, resolve=self.resolve, seconds=lambda: self.now, new_tls=no_tls
        )

    def resolve(self, name: str, port: int) -> Sequence[str]:
        self.looked_up.append(name)
        return self.numbers.get(name, (PUBLIC,))

    def connect_tcp(self, host: str, port: int, *args: Any, **kwargs: Any) -> "Stream":
        self.dialled.append((host, port))
        if host in self.down:
            raise httpcore.ConnectError
        return Stream(self)


class Stream(httpcore.NetworkStream):
    """One connection to a made-up server."""

    def __init__(self, net: Net) -> None:
        self._net = net
        self._asked = ""
        self._scheme = "http"
        self._pieces: list[bytes] | None = None

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._asked += buffer.decode("latin-1")

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if self._pieces is None:
            self._net.requests.append(self._asked)
            target = self._asked.split(" ", 2)[1]
            host = self._asked[self._asked.lower().index("host: ") + 6 :].partition("\r\n")[0]
            self._pieces = [*self._net.answer(f"{self._scheme}://{host}{target}")]
        self._net.now += self._net.seconds_per_piece
        if timeout is not None and self._net.now >= timeout:
            raise httpcore.ReadTimeout
        if not self._pieces:
            return b""
        piece = self._pieces.pop(0)
        if len(piece) > max_bytes:
            self._pieces.insert(0, piece[max_bytes:])
        return piece[:max_bytes] or self.read(max_bytes, timeout)

    def start_tls(
        self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None
    ) -> "Stream":
        self._scheme = "https"
        self._net.proved.append(server_hostname or "")
        return self

    def close(self) -> None:
        pass

    def get_extra_info(self, info: str) -> Any:
        return None


def no_tls() -> ssl.SSLContext:
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
