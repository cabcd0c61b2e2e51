"""An agent made with A2A's official Python SDK, in an environment of its own: it tells of tides.

Its argument is a port. It answers with the message, the number of agents that it passed through and
its id; "slow" takes three seconds, and "ask" wants input first.
"""

import asyncio
import sys
from typing import Any

import uvicorn
from a2a.helpers import new_task_from_user_message, new_text_message
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types.a2a_pb2 import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    Part,
)
from starlette.applications import Starlette

PORT = int(sys.argv[1])


class Tides(AgentExecutor):  # type: ignore[misc]  # not installed here
    """It says what it heard."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        message = context.message
        assert message is not None
        task = context.current_task
        if task is None:
            task = new_task_from_user_message(message)
            await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        await updater.start_work()
        text = context.get_user_input()
        if text == "ask":
            await updater.requires_input(new_text_message("どの港?"))
            return
        if text == "slow":
            await asyncio.sleep(3)
        hops: Any = message.metadata["urn:opencrab:hops"]
        await updater.add_artifact([Part(text=f"{text} {hops:g} {len(message.message_id)}")])
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        raise NotImplementedError


card = AgentCard(
    name="Tides",
    description="潮の時刻を知っている",
    version="1",
    capabilities=AgentCapabilities(streaming=True),
    default_input_modes=["text/plain"],
    default_output_modes=["text/plain"],
    skills=[AgentSkill(id="tides", name="潮", description="満潮と干潮", tags=["tides"])],
    supported_interfaces=[
        AgentInterface(
            url=f"http://127.0.0.1:{PORT}/rpc", protocol_binding="JSONRPC", protocol_version="1.0"
        )
    ],
)
handler = DefaultRequestHandler(
    agent_executor=Tides(), task_store=InMemoryTaskStore(), agent_card=card
)
routes = [*create_agent_card_routes(card), *create_jsonrpc_routes(handler, "/rpc")]
uvicorn.run(Starlette(routes=routes), host="127.0.0.1", port=PORT, log_level="error")
