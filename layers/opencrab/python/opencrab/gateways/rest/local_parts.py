"""What a server on the owner's computer adds to an application; its routes load when used."""

import logging
from typing import TYPE_CHECKING

from fastapi import FastAPI

if TYPE_CHECKING:
    from opencrab.engine.installation.findings import Look
    from opencrab.gateways.rest.conversation.websocket import Talk
    from opencrab.gateways.rest.webhooks.door import AnswersRequests
    from opencrab.gateways.rest.world.connection import WorldEntrance


def offer_conversation_websocket(app: FastAPI, talk: "Talk | None") -> None:
    """Enable the WebSocket of an application, which has none otherwise."""
    app.state.talk = talk
    logging.getLogger("uvicorn.error").addFilter(no_refusal)


def no_refusal(record: logging.LogRecord) -> bool:
    """Filter out uvicorn's error about a WebSocket that was refused with an HTTP response."""
    return record.msg != "ASGI callable returned without completing handshake."


def offer_world_connections(app: FastAPI, gate: "WorldEntrance") -> None:
    """Let worlds connect to an application; otherwise none can."""
    app.state.worlds = gate
    app.state.world_connections = 0


def offer_channel_door(app: FastAPI, answer: "AnswersRequests") -> None:
    """Let an application take signed requests; otherwise it takes none."""
    app.state.channel_door = answer


def offer_installation_machine_checks(app: FastAPI, look: "Look") -> None:
    """Add checks of the computer that serves an application; without it there are none."""
    app.state.machine_checks = look
