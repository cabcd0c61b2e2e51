"""What A2A's official Python client does with a running OpenCrab, in an environment of its own.

Writes one JSON object for each step. Its arguments are an address and a key.
"""

import asyncio
import json
import sys
from typing import Any

import httpx
from a2a.client import Client, ClientConfig, ClientFactory
from a2a.client.card_resolver import A2ACardResolver
from a2a.types.a2a_pb2 import (
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    SubscribeToTaskRequest,
    Task,
    TaskState,
)
from a2a.utils.errors import A2AError

URL, KEY = sys.argv[1:3]


def tell(**step: Any) -> None:
    sys.stdout.write(f"{json.dumps(step, ensure_ascii=False)}\n")
    sys.stdout.flush()


def request(text: str, number: str, context: str = "", **wishes: Any) -> SendMessageRequest:
    message = Message(
        message_id=number, context_id=context, role=Role.ROLE_USER, parts=[Part(text=text)]
    )
    return SendMessageRequest(message=message, configuration=SendMessageConfiguration(**wishes))


def words(task: Task) -> str:
    return "".join(part.text for artifact in task.artifacts for part in artifact.parts)


async def only(client: Client, asked: SendMessageRequest) -> Task:
    """The task that answers a message as a whole."""
    (answer,) = [event async for event in client.send_message(asked)]
    return answer.task


async def stream(client: Client, context: str) -> None:
    said, states = "", []
    async for event in client.send_message(request("say 波🦀 and foam", "m2", context)):
        if event.HasField("artifact_update"):
            said += event.artifact_update.artifact.parts[0].text
        if event.HasField("status_update"):
            states.append(TaskState.Name(event.status_update.status.state))
    tell(streamed=said, states=states)


async def stop(whole: Client, streamed: Client) -> None:
    slow = (await only(whole, request("slow", "m3", return_immediately=True))).id
    following = streamed.subscribe(SubscribeToTaskRequest(id=slow))
    first = await anext(following)
    stopped = await whole.cancel_task(CancelTaskRequest(id=slow))
    rest = [event async for event in following]
    tell(
        subscribed=first.task.id == slow,
        stopped=TaskState.Name(stopped.status.state),
        told=TaskState.Name(rest[-1].status_update.status.state),
    )


async def look(client: Client, task: Task) -> None:
    found = await client.get_task(GetTaskRequest(id=task.id, history_length=1))
    listed = await client.list_tasks(ListTasksRequest(page_size=2))
    tell(found=words(found), history=len(found.history))
    tell(listed=len(listed.tasks), more=bool(listed.next_page_token))
    for wrong in (
        client.get_task(GetTaskRequest(id="none")),
        client.cancel_task(CancelTaskRequest(id=task.id)),
    ):
        try:
            await wrong
        except A2AError as error:
            tell(error=type(error).__name__)


async def main() -> None:
    async with httpx.AsyncClient() as keyless:
        card = await A2ACardResolver(keyless, URL).get_agent_card()
    version = card.supported_interfaces[0].protocol_version
    tell(card=card.name, description=card.description, version=version)
    async with httpx.AsyncClient(headers={"Authorization": f"Bearer {KEY}"}, timeout=60) as http:
        whole, streamed = (
            ClientFactory(ClientConfig(streaming=streaming, httpx_client=http)).create(card)
            for streaming in (False, True)
        )
        task = await only(whole, request("say 潮🦀", "m1"))
        state = TaskState.Name(task.status.state)
        tell(said=words(task), state=state, history=len(task.history))
        again = await only(whole, request("say 潮🦀", "m1"))
        tell(same=again.id == task.id)
        await stream(streamed, task.context_id)
        await stop(whole, streamed)
        await look(whole, task)


asyncio.run(main())
