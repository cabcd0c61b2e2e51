"""`/mcp` on the home on AWS, behind the HTTP API: each message is a function of its own."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from opencrab.domain.access.authority import Scope
from opencrab.engine.access.api_keys import create_api_key
from opencrab.engine.runtime import Rules
from opencrab.gateways.rest.app import create_rest_app
from opencrab.gateways.rest.http.lambda_entry import http_request_handler
from opencrab.gateways.rest.http.polling import PollingWatch
from tests.contract.homes import aws
from tests.crash.outside import Reply
from tests.e2e.house import House


class Deployed:
    """A client of an installation on AWS; each request meets a new application."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.key, _ = create_api_key(house.runtime, name="潮", scope=Scope.OWNER)
        self.headers = dict[str, str]()

    def post(self, said: Any) -> dict[str, Any]:
        """The answer of the function to a message."""
        app = create_rest_app(
            self.house.runtime, watch=PollingWatch(0.02), setup=lambda _: {}, longest_seconds=20
        )
        headers = {"authorization": f"Bearer {self.key}", "content-type": "application/json"}
        accepts = {"accept": "application/json, text/event-stream"}
        event = {
            "version": "2.0",
            "routeKey": "$default",
            "rawPath": "/mcp",
            "rawQueryString": "",
            "headers": headers | accepts | self.headers,
            "requestContext": {
                "stage": "$default",
                "http": {"method": "POST", "path": "/mcp", "sourceIp": "192.0.2.1"},
            },
            "isBase64Encoded": False,
            "body": json.dumps({"jsonrpc": "2.0", **said}),
        }
        return http_request_handler(app)(event, None)

    def ask(self, number: Any, method: str, **params: Any) -> Any:
        """The result of a request."""
        answer = self.post({"id": number, "method": method, "params": params})
        assert answer["statusCode"] == 200, answer
        session = answer["headers"].get("mcp-session-id")
        if session is not None:
            self.headers = {"mcp-session-id": session}
        return json.loads(answer["body"])["result"]

    def call(self, number: Any, tool: str, **arguments: Any) -> Any:
        """What a call brought."""
        meta = {"progressToken": "p"}
        result = self.ask(number, "tools/call", name=tool, arguments=arguments, _meta=meta)
        assert "isError" not in result, result
        return result["structuredContent"]


@pytest.fixture
def deployed(tmp_path: Path) -> Iterator[Deployed]:
    house = House(aws, tmp_path, Rules())
    yield Deployed(house)
    house.close()


def test_an_agent_on_aws_is_asked_once_followed_and_stopped(deployed: Deployed) -> None:
    house = deployed.house
    house.agent("kani", (Reply(text="満潮です"), Reply(text="late")))
    begun = deployed.ask(0, "initialize", protocolVersion="2025-06-18")
    assert begun["protocolVersion"] == "2025-06-18"
    asked = {"agent": "kani", "message": "潮は?", "wait_seconds": 0}
    first, again = (deployed.call(1, "ask_agent", **asked) for _ in range(2))
    assert first["pending"] == again["pending"]
    house.work()
    told = deployed.call(2, "follow_turn", turn_id=first["pending"][0], wait_seconds=1)
    assert [reply["text"] for reply in told["replies"]] == ["満潮です"]
    second = deployed.call(3, "ask_agent", **asked)
    assert second["session_id"] == first["session_id"]
    cancelled = {"method": "notifications/cancelled", "params": {"requestId": 3}}
    assert deployed.post(cancelled)["statusCode"] == 202
    house.work()
    (ended,) = deployed.ask(
        4, "tools/call", name="follow_turn", arguments={"turn_id": second["pending"][0]}
    )["structuredContent"]["turns"]
    assert ended["status"] == "stopped"
    (session,) = deployed.ask(5, "resources/list")["resources"]
    (content,) = deployed.ask(6, "resources/read", uri=session["uri"])["contents"]
    assert "kani: 満潮です" in content["text"]
