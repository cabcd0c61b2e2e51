"""The built functions answer AWS's own sample events under AWS's own runtime.

They run with the environment and the permissions that the deployed template gives them.
"""

import base64
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.deployed.stack import Stack
from tests.emulated import runtime
from tests.emulated.runtime import Runtime

pytest_plugins = ["tests.deployed.fixture"]
pytestmark = [pytest.mark.deployed, pytest.mark.timeout(600)]

Start = Callable[[str], Runtime]

REQUESTS = (
    "powertools-apiGatewayProxyV2Event.json",
    "powertools-apiGatewayProxyV2Event_GET.json",
    "powertools-apiGatewayProxyV2IamEvent.json",
    "powertools-apiGatewayProxyV2LambdaAuthorizerEvent.json",
    "sam-apigateway-http-api-proxy.json",
)
SOCKETS = {
    "powertools-apiGatewayWebSocketApiConnect.json": 401,
    "powertools-apiGatewayWebSocketApiMessage.json": 200,
    "powertools-apiGatewayWebSocketApiDisconnect.json": 200,
}
MESSAGES = (
    "sam-sqs-receive-message.json",
    "powertools-sqsEvent.json",
    "powertools-snsSqsFifoEvent.json",
    "powertools-sqsDlqTriggerEvent.json",
)
CHANGES = ("powertools-dynamoStreamEvent.json", "sam-dynamodb-update.json")
BEATS = ("sam-cloudwatch-scheduled-event.json", "powertools-eventBridgeSchedulerEvent.json")


@pytest.fixture(scope="module")
def start(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """Starts a function by the name of its folder; it runs until the last test has ended."""
    reason = runtime.why_not()
    if reason:
        pytest.skip(reason)
    scratch = tmp_path_factory.mktemp("rie")
    started: dict[str, Runtime] = {}
    with ExitStack() as ending:

        def of(name: str) -> Runtime:
            if name not in started:
                settings = environment(stack, name)
                started[name] = ending.enter_context(runtime.running(scratch, settings))
            return started[name]

        yield of


def environment(stack: Stack, name: str) -> dict[str, str]:
    """What the deployed function of this name has in its environment."""
    client = stack.emulator.client("lambda")
    known = client.get_function_configuration(FunctionName=stack.function(name.replace("_", "-")))
    role = next(role for role, arn in stack.roles.items() if arn == known["Role"])
    variables = {
        **stack.emulator.environment(stack.acting_as(role)),
        **known["Environment"]["Variables"],
    }
    return runtime.environment(stack.built, ROOT / "functions" / name, variables)


def sample(wire: Path, name: str) -> Any:
    """An official sample event, as it was published."""
    return json.loads((wire / "aws-events" / name).read_text(encoding="utf-8"))


def body(answer: Any) -> Any:
    """The JSON of an answer, as API Gateway passes it on."""
    content = answer["body"]
    return json.loads(base64.b64decode(content) if answer["isBase64Encoded"] else content)


@pytest.mark.parametrize("name", REQUESTS)
def test_a_sample_request_is_answered_with_a_problem(start: Start, wire: Path, name: str) -> None:
    answer = start("rest_gateway").invoke(sample(wire, name))
    assert answer["statusCode"] in {401, 404}
    assert answer["headers"]["content-type"] == "application/problem+json"
    assert body(answer)["status"] == answer["statusCode"]


@pytest.mark.parametrize("name", REQUESTS)
def test_a_sample_request_for_health_is_answered(start: Start, wire: Path, name: str) -> None:
    event = sample(wire, name)
    event["rawPath"] = event["requestContext"]["http"]["path"] = "/api/health"
    event["requestContext"]["http"]["method"] = "GET"
    answer = start("rest_gateway").invoke(event)
    assert answer["statusCode"] == 200
    assert body(answer)["status"] == "ok"


@pytest.mark.parametrize("name", REQUESTS)
def test_a_sample_request_brings_no_key(start: Start, wire: Path, name: str) -> None:
    assert start("rest_authorizer").invoke(sample(wire, name)) == {"isAuthorized": False}


@pytest.mark.parametrize("name", MESSAGES)
def test_a_sample_message_is_no_turn_and_ends_in_the_dead_letters(
    stack: Stack, start: Start, wire: Path, name: str
) -> None:
    event = sample(wire, name)
    assert start("agent_turn").invoke(event) == {"batchItemFailures": []}
    for record in event["Records"]:
        assert stack.dead_letter("TurnsDeadQueueUrl", record["body"]) is not None


@pytest.mark.parametrize("name", MESSAGES)
def test_a_sample_message_names_no_utterance_and_is_done_with(
    start: Start, wire: Path, name: str
) -> None:
    assert start("delivery").invoke(sample(wire, name)) == {"batchItemFailures": []}


@pytest.mark.parametrize("name", REQUESTS)
def test_a_sample_request_is_not_signed_by_discord(start: Start, wire: Path, name: str) -> None:
    assert start("discord_gateway").invoke(sample(wire, name))["statusCode"] == 401


@pytest.mark.parametrize("name", MESSAGES)
def test_a_sample_message_is_no_interaction_and_is_done_with(
    start: Start, wire: Path, name: str
) -> None:
    assert start("discord_interactions").invoke(sample(wire, name)) == {"batchItemFailures": []}


@pytest.mark.parametrize(("name", "status"), SOCKETS.items())
def test_a_sample_of_a_socket_opens_none(start: Start, wire: Path, name: str, status: int) -> None:
    assert start("websocket_gateway").invoke(sample(wire, name))["statusCode"] == status


@pytest.mark.parametrize("name", CHANGES)
def test_a_sample_of_a_change_tells_nobody(start: Start, wire: Path, name: str) -> None:
    assert start("websocket_gateway").invoke(sample(wire, name)) is None


@pytest.mark.parametrize("name", BEATS)
def test_a_sample_hour_finds_no_night_of_anybody_without_turns(
    start: Start, wire: Path, name: str
) -> None:
    told = start("meta_analysis").invoke(sample(wire, name))
    assert set(told) == {"sent", "reviews", "prices", "done", "later", "failed"}
    assert told["failed"] == 0


@pytest.mark.parametrize("name", BEATS)
def test_a_sample_beat_finds_nothing_to_do(start: Start, wire: Path, name: str) -> None:
    told = start("heartbeat").invoke(sample(wire, name))
    parts = {"requeued", "freed", "resent", "admitted", "approvals", "beats", "queued", "returned"}
    assert set(told) == parts
