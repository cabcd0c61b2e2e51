"""Problem documents in the form of another protocol, for clients that do not read ours."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from starlette.types import Message, Send

from opencrab.gateways.rest.http.problem import MEDIA_TYPE

_OWN = {b"content-type", b"content-length"}


class ProblemForm(NamedTuple):
    """The JSON of an error in another form, and headers that go with it."""

    body: bytes
    headers: Iterable[tuple[bytes, bytes]] = ()


class ProblemFormSender:
    """A wrapper of `send` that turns a problem document into an error of another form."""

    def __init__(self, send: Send, rewrite: Callable[[bytes, int], ProblemForm]) -> None:
        self._send = send
        self._rewrite = rewrite
        self._start: Message | None = None
        self._body = b""

    async def send(self, message: Message) -> None:
        """Pass a part of a response on; that of a problem is kept until it is complete."""
        if message["type"] == "http.response.start" and _is_problem(message):
            self._start = message
            return
        if self._start is None:
            await self._send(message)
            return
        self._body += message.get("body", b"")
        if message.get("more_body", False):
            return
        body, added = self._rewrite(self._body, int(self._start["status"]))
        kept = [pair for pair in self._start["headers"] if pair[0] not in _OWN]
        headers = [
            *kept,
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            *added,
        ]
        await self._send({**self._start, "headers": headers})
        await self._send({**message, "body": body})


def _is_problem(start: Message) -> bool:
    return (b"content-type", MEDIA_TYPE.encode()) in [
        (name, value.partition(b";")[0]) for name, value in start["headers"]
    ]
