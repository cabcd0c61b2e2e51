"""Connections to exactly those addresses that a name was looked up to, and that were judged."""

import socket
from collections.abc import Callable, Iterable, Sequence
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic

import httpcore

from opencrab.adapters.address import is_public_address
from opencrab.domain.errors import Refused, Unavailable

Resolve = Callable[[str, int], Sequence[str]]
"""The numeric addresses of a name, in the order in which to try them; OSError if it has none."""

Clock = Callable[[], float]

LOOK_UP_SECONDS = 5.0
TRIED = 3
"""How many addresses of one name are dialled at most."""


def resolve_web_host(name: str, port: int) -> Sequence[str]:
    """Ask the system; the final dot keeps it from adding a domain of its own to the name."""
    found = socket.getaddrinfo(f"{name}.", port, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in found]


class PinnedBackend(httpcore.NetworkBackend):
    """Connects to public addresses only.

    A name is looked up once for each connection. If any of its addresses is not public, none is
    dialled: whoever mixes them is up to something. Timeouts are points in time, as the connector
    has them.
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
            raise Unavailable(f"host {host!r} cannot be resolved")
        if not all(is_public_address(number) for number in numbers):
            raise Refused(
                f"{host!r} is not on the public internet",
                cure="nothing was sent; use another address",
            )
        return numbers[:TRIED]


def _looked_up(resolve: Resolve, host: str, port: int, seconds: float) -> Sequence[str]:
    """What a look-up says; it cannot be told to hurry, so somebody else waits for its end."""
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
        raise Unavailable(f"the look-up of {host!r} took too long") from None
