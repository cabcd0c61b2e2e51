"""A client of A2A in this process, which sends what tests want and reads what comes."""

import asyncio
import itertools
import json
from typing import Any

import httpx

from opencrab.gateways.rest.app import create_rest_app, offer_a2a_to_rest_app
from opencrab.gateways.rest.http.polling import PollingWatch
from tests.integration.rest.house import SETUP, House

CARD = "/.well-known/agent-card.json"
_NUMBERS = itertools.count(1)


def serve_a2a(house: House, agent: str = "", longest_seconds: int | None = None) -> House:
    """Let a house serve A2A; with a limit as a function does."""
    house.app = create_rest_app(
        house.runtime,
        watch=PollingWatch(0.02),
        setup=lambda _: SETUP,
        longest_seconds=longest_seconds,
    )
    offer_a2a_to_rest_app(house.app, agent)
    return house


def get(house: House, path: str, key: str = "", **headers: str) -> httpx.Response:
    """The answer to a GET, without a key unless one is given."""
    sent = {"Authorization": f"Bearer {key}"} if key else {}

    async def ask() -> httpx.Response:
        async with house.client() as client:
            return await client.get(path, headers=sent | headers)

    return asyncio.run(ask())


class A2aClient:
    """A client of one agent, with the owner's key or another, and its version of the protocol."""

    def __init__(
        self, house: House, agent: str, key: str = "", version: str | None = "1.0", **headers: str
    ) -> None:
        self._house = house
        self._path = f"/a2a/{agent}"
        self._headers = {"Authorization": f"Bearer {key or house.owner}", **headers}
        if version is not None:
            self._headers["A2A-Version"] = version

    def post(self, content: Any, query: str = "") -> httpx.Response:
        """The answer to a body, as it is or as JSON."""
        body = content if isinstance(content, bytes) else json.dumps(content).encode()

        async def ask() -> httpx.Response:
            async with self._house.client() as client:
                sent = {**self._headers, "Content-Type": "application/json"}
                return await client.post(self._path + query, content=body, headers=sent)

        return asyncio.run(ask())

    def answer(self, method: str, **params: Any) -> Any:
        """The JSON-RPC answer to a request."""
        number = next(_NUMBERS)
        asked = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        answer = self.post(asked).json()
        assert (answer["jsonrpc"], answer["id"]) == ("2.0", number)
        assert ("result" in answer) != ("error" in answer)
        return answer

    def ask(self, method: str, **params: Any) -> Any:
        """The result of a request."""
        answer = self.answer(method, **params)
        assert "result" in answer, answer
        return answer["result"]

    def refused(self, method: str, code: int, **params: Any) -> str:
        """The message of the error of this code that answers a request."""
        answer = self.answer(method, **params)
        error = answer.get("error", answer)
        assert error.get("code") == code, answer
        (info,) = error["data"]
        assert info["@type"] == "type.googleapis.com/google.rpc.ErrorInfo"
        assert info["domain"] == "a2a-protocol.org"
        return str(error["message"])

    def send(self, text: str, message_id: str = "", **more: Any) -> Any:
        """The task that a message begins."""
        return self.ask("SendMessage", **sending(text, message_id, **more))["task"]

    def stream(self, method: str, **params: Any) -> list[dict[str, Any]]:
        """The results in the events of a stream."""
        asked = {"jsonrpc": "2.0", "id": "s", "method": method, "params": params}
        answer = self.post(asked)
        assert answer.headers["content-type"].startswith("text/event-stream"), answer.text
        rows = [
            row.removeprefix("data: ") for row in answer.text.splitlines() if row[:5] == "data:"
        ]
        events = [json.loads(row) for row in rows]
        assert {event["id"] for event in events} == {"s"}
        return [event["result"] for event in events]


def sending(text: str, message_id: str = "", **more: Any) -> dict[str, Any]:
    """The parameters of a message with a text; `configuration` and fields of the message."""
    configuration = more.pop("configuration", {})
    number = message_id or f"message-{next(_NUMBERS)}"
    parts = more.pop("parts", [{"text": text}])
    message = {"role": "ROLE_USER", "messageId": number, "parts": parts, **more}
    return {"message": message, "configuration": configuration}


def words(task: dict[str, Any]) -> str:
    """What a task says in its artifact `answer`."""
    return "".join(
        part["text"]
        for artifact in task.get("artifacts", ())
        if artifact["artifactId"] == "answer"
        for part in artifact["parts"]
    )
