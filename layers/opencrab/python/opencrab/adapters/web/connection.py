"""Connections to exactly those addresses that a name was looked up to, and that were judged."""

import socket
from collections.abc import Callable, Iterable, Sequence
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic

import httpcore

from opencrab.adapters.address import is_public_ip_address
from opencrab.domain.errors import Refused, Unavailable

Resolve = Callable[[str, int], Sequence[str]]
"""The numeric addresses of a name, in the order in which to try them; OSError if it has none."""

Clock = Callable[[], float]

LOOK_UP_SECONDS = 5.0
TRIED = 3
"""How many addresses of one name are dialled at most."""


def resolve_web_host(name: str, port: int) -> Sequence[str]:
    """Return a host's addresses from the system's resolver.

    The final dot keeps the resolver from trying its search domains.
    """
    found = socket.getaddrinfo(f"{name}.", port, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in found]


class PinnedBackend(httpcore.NetworkBackend):
    """An httpcore backend that connects to public addresses only.

    A name is resolved once per connection (no DNS rebinding). If any of its addresses is not
    public, the connection is refused. Timeouts are deadlines, as the connector expects.
    """

    def __init__(
        self, connector: httpcore.NetworkBackend, resolve: Resolve, clock: Clock = monotonic
    ) -> None:
        self._connector = connector
        self._resolve = resolve
        self._clock = clock

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        numbers = self._judged(host, port, timeout)
        for number in numbers[:-1]:
            try:
                return self._connector.connect_tcp(
                    number, port, timeout, local_address, socket_options
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        return self._connector.connect_tcp(
            numbers[-1], port, timeout, local_address, socket_options
        )

    def _judged(self, host: str, port: int, deadline: float | None) -> Sequence[str]:
        left = LOOK_UP_SECONDS if deadline is None else deadline - self._clock()
        numbers = _looked_up(self._resolve, host, port, min(left, LOOK_UP_SECONDS))
        if not numbers:
            raise Unavailable(f"host {host!r} cannot be resolved", cure="check the host's name")
        if not all(is_public_ip_address(number) for number in numbers):
            raise Refused(
                f"{host!r} is not on the public internet",
                cure="nothing was sent; use another address",
            )
        return numbers[:TRIED]


def _looked_up(resolve: Resolve, host: str, port: int, seconds: float) -> Sequence[str]:
    """Resolve a host in a thread, since a running look-up cannot be cancelled.

    Raises Unavailable after `seconds`; empty if the name cannot be resolved.
    """
    answers: SimpleQueue[Sequence[str]] = SimpleQueue()

    def look_up() -> None:
        try:
            answers.put(tuple(resolve(host, port)))
        except (OSError, UnicodeError):
            answers.put(())

    Thread(target=look_up, name="look-up", daemon=True).start()
    try:
        return answers.get(timeout=max(seconds, 0.0))
    except Empty:
        raise Unavailable(
            f"DNS look-up of {host!r} timed out", cure="try again later, or use another address"
        ) from None
