"""An HTTP API that nobody made for agents, as FastAPI describes it."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import uvicorn
from fastapi import FastAPI, Header, HTTPException, Query
from fastapi.responses import PlainTextResponse, RedirectResponse, Response
from pydantic import BaseModel

from tests.running import free_port


class Note(BaseModel):
    """What is noted."""

    text: str
    tags: list[str] = []


def api() -> FastAPI:
    """An API as its author would write it, and what it received."""
    app = FastAPI()
    app.state.seen = []

    @app.get("/tides/{place}", operation_id="getTides")
    def tides(
        place: str, days: Annotated[list[int] | None, Query()] = None, *, high: bool = False
    ) -> dict[str, Any]:
        """Tides at a place. 潮の満ち引き。"""
        return {"place": place, "days": days, "high": high, "潮": "干潮"}

    @app.post("/notes", operation_id="addNote", status_code=201)
    def add(note: Note, authorization: Annotated[str, Header()] = "") -> dict[str, Any]:
        app.state.seen.append(authorization)
        return {"stored": note.text, "tags": note.tags}

    @app.get("/plain", operation_id="plain", response_class=PlainTextResponse)
    def plain() -> str:
        return "満潮"

    @app.get("/picture", operation_id="picture")
    def picture() -> Response:
        return Response(b"\x89PNG" * 9, media_type="image/png")

    @app.get("/broken", operation_id="broken")
    def broken() -> None:
        raise HTTPException(422, "その場所はありません")

    @app.get("/elsewhere", operation_id="elsewhere")
    def elsewhere() -> RedirectResponse:
        return RedirectResponse("https://example.org/")

    @app.get("/secret", operation_id="needsHeader")
    def needs(x_scope: Annotated[str, Header()]) -> str:
        return x_scope

    _add_failures(app)
    return app


def _add_failures(app: FastAPI) -> None:
    @app.post("/unclear", operation_id="unclear")
    def unclear(status: int) -> Response:
        app.state.seen.append(status)
        return Response(status_code=status, headers={"location": "/notes/1"})

    @app.get("/failing", operation_id="failing")
    def failing() -> None:
        raise HTTPException(503, "嵐")


@contextmanager
def serving() -> Iterator[tuple[FastAPI, str]]:
    """The API, and its address."""
    app, port = api(), free_port()
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until = time.monotonic() + 20
    while not server.started and time.monotonic() < until:
        time.sleep(0.01)  # noqa: TID251 - another thread starts
    yield app, f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(10)
