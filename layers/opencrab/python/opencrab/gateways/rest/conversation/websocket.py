"""Live: the local home's WebSocket at /ws, and the tickets with which browsers come to one.

What is said over it is the conversation's business; here its frames are bounded, and whoever takes
nothing, says too much or may not stay is cut. Nobody is sent anything before they proved who they
are.
"""

import asyncio
import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import islice
from typing import Any, Protocol

from fastapi import Request, Response, WebSocket, WebSocketDisconnect
from fastapi.concurrency import run_in_threadpool
from pydantic import Field

from opencrab.domain.errors import (
    NotFound,
    OpenCrabError,
    Unavailable,
)
from opencrab.domain.identifier import content_hash
from opencrab.domain.value import Language, Value
from opencrab.engine.websocket.connections import issue_websocket_ticket
from opencrab.gateways.language.accept_language import language_of_http_request
from opencrab.gateways.language.error_texts import error_text_in
from opencrab.gateways.rest.http.access import Reader, secret_of_http_request
from opencrab.gateways.rest.http.body import http_routes_below
from opencrab.gateways.rest.http.dependencies import Api
from opencrab.gateways.rest.http.idempotency import Repeatable
from opencrab.gateways.rest.http.polling import EVERY, Watch
from opencrab.gateways.rest.http.problem_form import http_problem_in

FRAME_BYTES = 32_768
TAKE_SECONDS = 10.0
"""A client that does not take a frame within so long is cut."""

CLOSE_SECONDS = 1.0
LOOK_SECONDS = 15.0
"""Between two looks at a client's key when nothing happens."""

CHECK_SECONDS = 5.0
"""Between two looks at a client's access while it takes events: 45 s of cache, this and one frame
are a minute."""

_BATCH = 50
_REASON = 120
_BYTES, _LARGE, _REFUSED, _RESTART, _LATER = 1003, 1009, 1008, 1012, 1013

router = http_routes_below("", "messages")


class SocketConversation(Protocol):
    """One client over one connection; its methods are called by one thread at a time.

    Errors that end it are told in `language`.
    """

    language: Language

    def handle_frame(self, text: str) -> Iterator[dict[str, Any]]:
        """Return the answers to a frame; an OpenCrabError ends the connection."""

    def new_events(self) -> Iterator[dict[str, Any]]:
        """Return the new events; an OpenCrabError ends the connection."""

    def check_access(self) -> None:
        """Raise OpenCrabError if what was returned may no longer be sent."""


class Talk(Protocol):
    """The factory of conversations."""

    def enter(self, headers: Mapping[str, str], query: str) -> SocketConversation:
        """Begin a conversation with the caller; raises Refused, Unauthenticated."""


class TicketView(Value):
    """A ticket that opens one WebSocket as `?ticket=`, once, within a minute."""

    ticket: str | None = Field(description="shown only once; null in a repeated response")
    expires_at: datetime


@router.post(
    "/api/tickets",
    status_code=201,
    response_model=TicketView,
    operation_id="create_ticket",
)
def create_conversation_ticket(
    api: Api, request: Request, _caller: Reader, once: Repeatable
) -> Response:
    """Get a ticket that opens one WebSocket with this key's scope.

    For web pages, whose WebSockets cannot send a header.
    """
    key = content_hash(secret_of_http_request(request.scope["headers"]).encode())

    def make() -> TicketView:
        ticket, expires_at = issue_websocket_ticket(api.runtime, key)
        return TicketView(ticket=ticket, expires_at=expires_at)

    return once.answer(None, make, status=201, remembered=lambda made: made.replaced(ticket=None))


@router.websocket("/ws")
async def talk_in_session(websocket: WebSocket) -> None:
    """Answer a client's frames and push events to it until the connection ends."""
    try:
        conversation = await run_in_threadpool(_enter, websocket)
    except OpenCrabError as error:
        language = language_of_http_request(websocket.headers.get("accept-language", ""))
        await websocket.send_denial_response(http_problem_in(language, error))
        return
    await websocket.accept()
    await OpenSocket(websocket, conversation).serve(websocket.app.state.rest.watch)


class OpenSocket:
    """An open connection, which sends one event at a time."""

    def __init__(
        self,
        websocket: WebSocket,
        conversation: SocketConversation,
        *,
        take_seconds: float = TAKE_SECONDS,
        close_seconds: float = CLOSE_SECONDS,
        check_seconds: float = CHECK_SECONDS,
    ) -> None:
        self._take_seconds = take_seconds
        self._close_seconds = close_seconds
        self._check_seconds = check_seconds
        self._websocket = websocket
        self._conversation = conversation
        self._speaking = asyncio.Lock()

    async def serve(self, watch: Watch) -> None:
        """Receive frames and push events until one side closes the connection."""
        tasks = {asyncio.create_task(self._hear()), asyncio.create_task(self._tell(watch))}
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        for task in done:
            code, reason = task.result()
            if code is not None:
                await self._close(code, reason)

    async def _hear(self) -> tuple[int | None, str]:
        """Answer frames until the connection ends; returns the close code, None if it is closed."""
        while True:
            message = await self._websocket.receive()
            if message["type"] == "websocket.disconnect":
                return None, ""
            text = message.get("text")
            if text is None:
                return _BYTES, "binary frames are not supported"
            if len(text.encode(errors="replace")) > FRAME_BYTES:
                return _LARGE, f"a frame has at most {FRAME_BYTES} bytes"
            ended = await self._speak(lambda said=text: self._conversation.handle_frame(said))
            if ended is not None:
                return ended

    async def _tell(self, watch: Watch) -> tuple[int | None, str]:
        """Push events as they happen."""
        async with watch.watching(EVERY) as next_change:
            while True:
                ended = await self._speak(self._conversation.new_events)
                if ended is not None:
                    return ended
                if await next_change(LOOK_SECONDS):
                    return _RESTART, "the server ends"

    async def _speak(self, ask: Any) -> tuple[int | None, str] | None:
        """Send all events of a call; returns the close code if the connection must end.

        A client that takes them slowly is asked about meanwhile: its key may have been revoked.
        """
        try:
            async with self._speaking:
                events = await run_in_threadpool(ask)
                loop = asyncio.get_running_loop()
                checked = loop.time()
                while batch := await run_in_threadpool(lambda: list(islice(events, _BATCH))):
                    for event in batch:
                        if loop.time() - checked >= self._check_seconds:
                            await run_in_threadpool(self._conversation.check_access)
                            checked = loop.time()
                        await self._send(event)
        except OpenCrabError as error:
            code = _LATER if isinstance(error, Unavailable) else _REFUSED
            return code, f"{error.code}: {error.message}"
        except TimeoutError:
            return _LATER, "the client does not read its messages"
        except WebSocketDisconnect:
            return None, ""
        return None

    async def _send(self, event: dict[str, Any]) -> None:
        async with asyncio.timeout(self._take_seconds):
            await self._websocket.send_text(
                json.dumps(event, ensure_ascii=False, separators=(",", ":"))
            )

    async def _close(self, code: int, reason: str) -> None:
        """Close the connection with a reason, if the client still listens."""
        told = error_text_in(self._conversation.language, reason)
        cut = told.encode()[:_REASON].decode(errors="ignore")
        try:
            async with asyncio.timeout(self._close_seconds):
                await self._websocket.close(code, cut)
        except (TimeoutError, RuntimeError, WebSocketDisconnect):
            return


def _enter(websocket: WebSocket) -> SocketConversation:
    found: Talk | None = getattr(websocket.app.state, "talk", None)
    if found is None:
        raise NotFound("WebSocket is disabled", cure="set gateway.websocket.enabled to true")
    headers: dict[str, str] = {}
    for name, text in websocket.headers.items():
        # A header that came twice is neither the one nor the other.
        headers[name] = f"{headers[name]}, {text}" if name in headers else text
    query = websocket.scope["query_string"].decode("latin-1")
    return found.enter(headers, query)
