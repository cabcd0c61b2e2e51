"""What MCP's official Python client does with a running OpenCrab, in an environment of its own.

Writes one JSON object for each step. The first argument says how it connects: `http` with an
address and a key, or `stdio` with a command.
"""

import asyncio
import json
import sys
from contextlib import AsyncExitStack
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

HOW, *WHERE = sys.argv[1:]


def tell(**step: Any) -> None:
    sys.stdout.write(f"{json.dumps(step, ensure_ascii=False)}\n")
    sys.stdout.flush()


async def connect(stack: AsyncExitStack) -> Client:
    if HOW == "stdio":
        server: Any = StdioServerParameters(command=WHERE[0], args=WHERE[1:])
    else:
        headers = {"Authorization": f"Bearer {WHERE[1]}"}
        http = await stack.enter_async_context(httpx2.AsyncClient(headers=headers, timeout=60))
        server = streamable_http_client(f"{WHERE[0]}/mcp", http_client=http)
    return await stack.enter_async_context(Client(server))


async def look(client: Client, session: str) -> None:
    tell(server=client.server_info.name, revision=client.protocol_version)
    tell(tools=[tool.name for tool in (await client.list_tools()).tools])
    resources = (await client.list_resources()).resources
    uri = next(str(each.uri) for each in resources if str(each.uri).endswith(session))
    (content,) = (await client.read_resource(uri)).contents
    tell(resource=getattr(content, "text", ""))
    templates = await client.list_resource_templates()
    tell(templates=[each.uri_template for each in templates.resource_templates])
    prompt = (await client.list_prompts()).prompts[0]
    got = await client.get_prompt(prompt.name, {"task": "潮"})
    tell(prompt=getattr(got.messages[0].content, "text", "")[-1:])


async def ask(client: Client, message: str, **more: Any) -> Any:
    return await client.call_tool("ask_agent", {"agent": "蟹", "message": message, **more})


async def main() -> None:
    async with AsyncExitStack() as stack:
        client = await connect(stack)
        first, second = await ask(client, "満潮は?"), await ask(client, "And now?")
        content = first.structured_content
        tell(
            said=content["replies"][0]["text"],
            again=second.structured_content["replies"][0]["text"],
        )
        tell(same=content["session_id"] == second.structured_content["session_id"])
        await look(client, content["session_id"])
        heard: list[str] = []

        async def progress(_done: float, _total: float | None, message: str | None) -> None:
            heard.append(message or "")

        pending = {"agent": "蟹", "message": "slow", "wait_seconds": 4, "new_session": True}
        slow = await client.call_tool("ask_agent", pending, progress_callback=progress)
        tell(progress=heard, pending=len(slow.structured_content["pending"]))
        stopped = {"turn_id": slow.structured_content["pending"][0]}
        tell(stopped=(await client.call_tool("cancel_turn", stopped)).structured_content["id"])
        several = await asyncio.gather(*(ask(client, f"{n}?", new_session=True) for n in range(4)))
        tell(several=[each.structured_content["replies"][0]["text"] for each in several])
        wrong = await client.call_tool("read_file", {"agent": "蟹", "path": "none"})
        tell(wrong=wrong.is_error, why=getattr(wrong.content[0], "text", ""))


asyncio.run(main())
