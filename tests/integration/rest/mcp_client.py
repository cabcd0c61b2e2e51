"""An MCP client of the tests' own, which sends what a good one would not, too."""

import json
from typing import Any

import httpx

from tests.integration.rest.house import House

INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "潮", "version": "1"},
}


class McpClient:
    """A client with one key, in a session once it has begun one."""

    def __init__(self, house: House, key: str | None = None, **headers: str) -> None:
        self._house = house
        self._number = 0
        self.headers = {
            "Authorization": f"Bearer {house.owner if key is None else key}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            **headers,
        }

    def begin(self) -> "McpClient":
        """Begin a session."""
        answer = self.post(self.message("initialize", INITIALIZE))
        self.headers |= {
            "Mcp-Session-Id": answer.headers["mcp-session-id"],
            "MCP-Protocol-Version": answer.json()["result"]["protocolVersion"],
        }
        assert self.notify("notifications/initialized").status_code == 202
        return self

    def message(self, method: str, params: Any = None, number: Any = None) -> dict[str, Any]:
        """A request, with the next number unless one is given."""
        self._number += 1
        said = {"jsonrpc": "2.0", "id": self._number if number is None else number}
        return {**said, "method": method, **({} if params is None else {"params": params})}

    def post(self, content: Any, **headers: str) -> httpx.Response:
        """Whatever is sent, as JSON unless it is bytes."""
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        sent = {**self.headers, **headers}
        raw = [(name.encode(), text.encode()) for name, text in sent.items()]

        async def one(client: httpx.AsyncClient) -> httpx.Response:
            return await client.post("/mcp", content=body, headers=raw)

        (answer,) = self._house.many(one)
        return answer  # type: ignore[no-any-return]

    def notify(self, method: str, **params: Any) -> httpx.Response:
        """A notification."""
        return self.post({"jsonrpc": "2.0", "method": method, "params": params})

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """The result of a request."""
        answer = self.post(self.message(method, params))
        assert answer.status_code == 200, answer.text
        result: dict[str, Any] = answer.json()["result"]
        return result

    def error(self, method: str, **params: Any) -> dict[str, Any]:
        """The error of the protocol that a request brings."""
        answer = self.post(self.message(method, params))
        assert answer.status_code == 200, answer.text
        error: dict[str, Any] = answer.json()["error"]
        assert set(error) == {"code", "message"}
        return error

    def call(self, tool: str, number: Any = None, **arguments: Any) -> dict[str, Any]:
        """The result of a call."""
        params = {"name": tool, "arguments": arguments}
        answer = self.post(self.message("tools/call", params, number))
        assert answer.status_code == 200, answer.text
        result: dict[str, Any] = answer.json()["result"]
        return result

    def found(self, tool: str, number: Any = None, **arguments: Any) -> dict[str, Any]:
        """The structured content of a call that worked."""
        result = self.call(tool, number, **arguments)
        assert "isError" not in result, result
        content: dict[str, Any] = result["structuredContent"]
        return content

    def failed(self, tool: str, **arguments: Any) -> str:
        """What a call says that did not work."""
        result = self.call(tool, **arguments)
        assert result["isError"] is True
        return told(result)


def told(result: dict[str, Any]) -> str:
    """The text of a result."""
    (part,) = result["content"]
    text: str = part["text"]
    return text
