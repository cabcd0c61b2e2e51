"""A deployed installation when turns take long, messages are lost, or queues hold poison.

The order matters for the time it takes: a message is lost first, and the schedule finds its turn
while the long turn is under way.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from opencrab.adapters.dynamodb.money.board import DynamoSwitches
from opencrab.adapters.dynamodb.table import Table
from opencrab.domain.money.budget import INSTALLATION
from tests.deployed.emulator import rest
from tests.deployed.stack import ANSWER_SECONDS, Stack

pytest_plugins = ["tests.deployed.fixture"]
pytestmark = [pytest.mark.deployed, pytest.mark.timeout(600)]

STEPS = 22
STEP_MS = 1_100
SHORT_SECONDS = 136
"""A second more than a model call may take with what the engine keeps for itself."""

Lost = tuple[str, str]


@pytest.fixture(scope="module", autouse=True)
def lost(stack: Stack) -> Lost:
    """A session and its turn, stored and acknowledged, whose message vanished from the queue."""
    session = stack.session(stack.agent("Kani", "ja"))
    with_listener(stack, enabled=False)
    sent = stack.say(session, "「忘れられていません」と言って", prefer="")
    vanish(stack, sent["turn_ids"][0])
    with_listener(stack, enabled=True)
    return session, sent["turn_ids"][0]


@pytest.fixture
def walking(stack: Stack, tmp_path: Path) -> Iterator[str]:
    """A model that walks step by step; the time of a call of the function suffices for one."""
    walk = tmp_path / "walk.json"
    walk.write_text(json.dumps(script(STEPS)), encoding="utf-8")
    model = {
        "OPENCRAB_AGENT__MAX_STEPS": str(STEPS + 1),
        "OPENCRAB_LLM__PROVIDERS__WALK__KIND": "scripted",
        "OPENCRAB_LLM__PROVIDERS__WALK__SCRIPT": str(walk),
    }
    with (
        configured(stack, "rest-gateway", model),
        configured(stack, "agent-turn", model, timeout=SHORT_SECONDS),
    ):
        yield "walk:steps"


@contextmanager
def configured(
    stack: Stack, function: str, added: dict[str, str], *, timeout: int | None = None
) -> Iterator[None]:
    """Another configuration of a function for a while, set as its owner would."""
    client, name = stack.emulator.client("lambda"), stack.function(function)
    known = client.get_function_configuration(FunctionName=name)
    variables, seconds = known["Environment"]["Variables"], known["Timeout"]

    def configure(values: dict[str, str], limit: int) -> None:
        client.update_function_configuration(
            FunctionName=name, Timeout=limit, Environment={"Variables": values}
        )

    configure(variables | added, timeout or seconds)
    try:
        yield
    finally:
        configure(variables, seconds)


def script(steps: int) -> Sequence[Any]:
    """Answers that write one file each, and one that speaks."""
    files = [{"path": f"steps/{n:02}.txt", "content": f"第{n}歩"} for n in range(steps)]
    calls = [[{"name": "ws_write", "arguments": file}] for file in files]
    return [
        *({"calls": call, "delay_ms": STEP_MS} for call in calls),
        {"text": "着きました。", "delay_ms": STEP_MS},
    ]


def with_listener(stack: Stack, *, enabled: bool) -> None:
    """Have Lambda listen to the queue of turns, or not."""
    functions = stack.emulator.client("lambda")
    name = stack.function("agent-turn")
    (mapping,) = functions.list_event_source_mappings(FunctionName=name)["EventSourceMappings"]
    functions.update_event_source_mapping(UUID=mapping["UUID"], Enabled=enabled)


def vanish(stack: Stack, turn_id: str) -> None:
    """Take the message of a turn out of the queue, as if it had never been sent."""
    sqs, url = stack.emulator.client("sqs"), stack.outputs["TurnsQueueUrl"]
    for _ in range(10):
        for message in sqs.receive_message(QueueUrl=url, WaitTimeSeconds=1).get("Messages", []):
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
            if json.loads(message["Body"])["turn"] == turn_id:
                return
    pytest.fail("the message is not in the queue")


def send(stack: Stack, body: str, group: str) -> None:
    """Put a message into the queue of turns, past all doors."""
    stack.emulator.client("sqs").send_message(
        QueueUrl=stack.outputs["TurnsQueueUrl"],
        MessageBody=body,
        MessageGroupId=group,
        MessageDeduplicationId=str(abs(hash(body))),
    )


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ('{"v":2,"turn":"from the future"}', "malformed"),
        ('{"v":1,"turn":"00000000000000000000000000"}', "no turn"),
        ("これは何でしょう", "malformed"),
    ],
    ids=["another version", "no such turn", "no JSON"],
)
def test_poison_ends_in_the_dead_letters_and_all_sessions_go_on(
    stack: Stack, body: str, why: str
) -> None:
    agent = stack.agent("Rin")
    poisoned, other = stack.session(agent), stack.session(agent)
    send(stack, body, poisoned)
    letter = stack.dead_letter("TurnsDeadQueueUrl", body)
    assert letter is not None
    assert why in letter["MessageAttributes"]["reason"]["StringValue"]
    for session in (other, poisoned):
        said = stack.say(session, "say still here")
        assert [reply["text"] for reply in said["replies"]] == ["still here"]


def test_a_frozen_installation_answers_that_it_is_frozen(stack: Stack) -> None:
    dynamodb = stack.emulator.client("dynamodb")

    def dispatch(operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        assert operation == "UpdateItem"
        answer: dict[str, Any] = dynamodb.update_item(**arguments)
        return answer

    switches = DynamoSwitches(Table(stack.outputs["TableName"], dispatch))
    session = stack.session(stack.agent("凛", "ja"))
    switches.set(INSTALLATION, frozen=True)
    try:
        stopped = stack.say(session, "「やあ」と言って")
    finally:
        switches.set(INSTALLATION, frozen=False)
    assert "凍結" in stopped["replies"][0]["text"]
    assert stack.told("GET", f"/turns/{stopped['turn_ids'][0]}")["status"] == "stopped"
    again = stack.say(session, "「やあ」と言って")
    assert [reply["text"] for reply in again["replies"]] == ["やあ"]


def test_a_turn_that_outlasts_many_calls_of_the_function_completes_and_repeats_nothing(
    stack: Stack, walking: str
) -> None:
    agent = stack.agent("Aruki", "ja", model=walking)
    said = stack.say(stack.session(agent), "歩いて", prefer="")
    story = stack.ended(said["turn_ids"][0], 2 * ANSWER_SECONDS)
    assert story["status"] == "completed", story
    assert story["model_calls"] == STEPS + 1
    header = stack.item(f"TURN#{story['id']}", "H")
    assert int(header["epoch"]["N"]) - 1 > 20, "it was given back and continued that often"
    versions = stack.emulator.client("s3").list_object_versions(
        Bucket=stack.outputs["BucketName"], Prefix=f"agents/{agent}/"
    )["Versions"]
    assert len(versions) == STEPS
    assert len({version["Key"] for version in versions}) == STEPS
    assert dead_letters(stack) == "0"


def test_a_turn_whose_message_was_lost_is_found_by_the_schedule(stack: Stack, lost: Lost) -> None:
    session, turn_id = lost
    story = stack.ended(turn_id, ANSWER_SECONDS)
    assert story["status"] == "completed", story
    lines = stack.told("GET", f"/sessions/{session}/messages")["items"]
    assert lines[-1]["text"] == "忘れられていません"


def test_a_beat_with_nothing_to_do_says_so(stack: Stack) -> None:
    answer = stack.emulator.client("lambda").invoke(FunctionName=stack.function("heartbeat"))
    assert "FunctionError" not in answer
    told = json.loads(answer["Payload"].read())
    parts = {"requeued", "freed", "resent", "admitted", "approvals", "beats", "queued", "returned"}
    assert set(told) == parts


def test_a_beat_of_nobody_is_taken_at_its_second_and_leaves_no_letter(stack: Stack) -> None:
    body = '{"v":1,"agent":"nobody","slot":0}'
    url = stack.outputs["BeatsQueueUrl"]
    stack.emulator.client("sqs").send_message(QueueUrl=url, MessageBody=body, DelaySeconds=2)
    for _ in range(ANSWER_SECONDS):
        if not waiting(stack, "BeatsQueueUrl"):
            break
        rest(1)
    assert waiting(stack, "BeatsQueueUrl") == waiting(stack, "BackgroundDeadQueueUrl") == 0


def waiting(stack: Stack, output: str) -> int:
    """How many messages a queue has, also those that are in flight or kept back."""
    given = {"QueueUrl": stack.outputs[output], "AttributeNames": ["All"]}
    attributes = stack.emulator.client("sqs").get_queue_attributes(**given)["Attributes"]
    name = "ApproximateNumberOfMessages"
    kinds = (name, f"{name}NotVisible", f"{name}Delayed")
    return sum(int(attributes.get(kind, 0)) for kind in kinds)


def dead_letters(stack: Stack) -> str:
    """How many letters of turns are dead."""
    rest(1)
    name = "ApproximateNumberOfMessages"
    given = {"QueueUrl": stack.outputs["TurnsDeadQueueUrl"], "AttributeNames": [name]}
    attributes = stack.emulator.client("sqs").get_queue_attributes(**given)["Attributes"]
    return str(attributes[name])
