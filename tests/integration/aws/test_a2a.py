"""A2A on the home on AWS, behind the HTTP API: each request is a function of its own."""

import json
from pathlib import Path
from typing import Any

from opencrab.domain.access.authority import Scope
from opencrab.engine.access.api_keys import create_api_key
from opencrab.engine.runtime import Rules
from opencrab.gateways.rest.app import create_rest_app, offer_a2a_to_rest_app
from opencrab.gateways.rest.http.lambda_entry import http_request_handler
from opencrab.gateways.rest.http.polling import PollingWatch
from tests.contract.homes import aws
from tests.crash.outside import Reply
from tests.e2e.house import House

CARD = "/.well-known/agent-card.json"


def asked(house: House, method: str, path: str, key: str = "", said: Any = None) -> Any:
    """The answer of a function that serves one request."""
    app = create_rest_app(
        house.runtime, watch=PollingWatch(0.02), setup=lambda _: {}, longest_seconds=1
    )
    offer_a2a_to_rest_app(app, "kani")
    headers = {"content-type": "application/json", "a2a-version": "1.0", "host": "crab.test"}
    event = {
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": path,
        "rawQueryString": "",
        "headers": headers | ({"authorization": f"Bearer {key}"} if key else {}),
        "requestContext": {
            "stage": "$default",
            "http": {"method": method, "path": path, "sourceIp": "192.0.2.1"},
        },
        "isBase64Encoded": False,
        "body": json.dumps(said),
    }
    answer = http_request_handler(app)(event, None)
    assert answer["statusCode"] == 200, answer
    return answer["body"]


def test_a_task_on_aws_is_sent_once_and_got_later(tmp_path: Path) -> None:
    house = House(aws, tmp_path, Rules())
    house.agent("kani", (Reply(text="満潮です"),))
    key, _ = create_api_key(house.runtime, name="潮", scope=Scope.CHAT)
    card = json.loads(asked(house, "GET", CARD))
    (interface,) = card["supportedInterfaces"]
    path = interface["url"].removeprefix("https://crab.test")
    message = {"role": "ROLE_USER", "messageId": "1", "parts": [{"text": "潮は?"}]}
    request = {"jsonrpc": "2.0", "id": 1, "params": {"message": message}}
    first, again = (
        json.loads(asked(house, "POST", path, key, {**request, "method": "SendMessage"}))
        for _ in range(2)
    )
    task = first["result"]["task"]
    assert task["status"]["state"] == "TASK_STATE_SUBMITTED"
    assert again["result"]["task"]["id"] == task["id"]
    house.work()
    streamed = asked(house, "POST", path, key, {**request, "method": "SendStreamingMessage"})
    rows = [row.removeprefix("data: ") for row in streamed.splitlines() if row]
    begun, words, ended = (json.loads(row)["result"] for row in rows)
    assert begun["task"]["id"] == task["id"]
    assert words["artifactUpdate"]["artifact"]["parts"][0]["text"] == "満潮です"
    assert ended["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"
    house.close()
