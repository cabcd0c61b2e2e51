"""Updates, going back, removal and a new deployment of what holds data: no queue is in the way.

Only `infra/data.yaml`, which has all that is retained: it needs no build, and takes seconds.
"""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.deployed import emulator as ministack
from tests.deployed.emulator import Emulator, rest

pytestmark = [pytest.mark.deployed, pytest.mark.timeout(300)]

NAME = "opencrab-test-Data"
USUAL = {
    "Stage": "test",
    "Table": "",
    "Bucket": "",
    "TableStream": "",
    "Discord": "off",
    "DeletedVersionsDays": "30",
}


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulator]:
    if reason := ministack.why_not():
        pytest.skip(reason)
    with ministack.emulator(tmp_path_factory.mktemp("updates")) as made:
        yield made


def template(without: str = "") -> str:
    """The template; without a queue it is that of a release before the queue was there."""
    text = (ROOT / "infra" / "data.yaml").read_text(encoding="utf-8")
    if without:
        text, count = re.subn(
            rf"^  {without}(Url|Arn)?:\n(    .*\n)+", "", text, flags=re.MULTILINE
        )
        assert count == 3, count
    return text


def bring(emulator: Emulator, verb: str, body: str, **parameters: str) -> dict[str, str]:
    """Create or update the stack, and return its outputs."""
    client = emulator.client("cloudformation")
    given = [
        {"ParameterKey": key, "ParameterValue": each} for key, each in (USUAL | parameters).items()
    ]
    named: dict[str, Any] = {"StackName": NAME, "TemplateBody": body, "Parameters": given}
    getattr(client, f"{verb}_stack")(**named)
    (stack,) = client.describe_stacks(StackName=NAME)["Stacks"]
    while stack["StackStatus"].endswith("IN_PROGRESS"):
        rest(0.25)
        (stack,) = client.describe_stacks(StackName=NAME)["Stacks"]
    assert stack["StackStatus"] == f"{verb.upper()}_COMPLETE", stack
    return {each["OutputKey"]: each["OutputValue"] for each in stack["Outputs"]}


def queue_names(emulator: Emulator) -> set[str]:
    urls = emulator.client("sqs").list_queues(QueueNamePrefix=NAME).get("QueueUrls", [])
    return {str(url).rpartition("/")[2] for url in urls}


def attributes(emulator: Emulator, url: str) -> dict[str, str]:
    found = emulator.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=["All"])
    wanted = ("VisibilityTimeout", "MessageRetentionPeriod", "FifoQueue", "RedrivePolicy")
    return {name: found["Attributes"][name] for name in wanted}


def test_a_stack_is_updated_taken_back_removed_and_deployed_again(emulator: Emulator) -> None:
    first = bring(emulator, "create", template())
    turns = first["TurnsQueueUrl"]
    assert turns.endswith(".fifo")
    before = attributes(emulator, turns)
    assert before["VisibilityTimeout"] == "1800"
    sqs = emulator.client("sqs")
    sqs.send_message(
        QueueUrl=turns, MessageBody="潮", MessageGroupId="s", MessageDeduplicationId="1"
    )

    for number in range(2):  # on and off, twice: the queues that stay are not in the way
        on = bring(emulator, "update", template(), Interactions="on")
        assert on["InteractionsDeadQueueName"] in queue_names(emulator), number
        off = bring(emulator, "update", template())
        assert "InteractionsQueueUrl" not in off

    # Back to a release that did not have a queue yet, and up again.
    older = bring(emulator, "update", template(without="NightsQueue"))
    assert "NightsQueueUrl" not in older
    again = bring(emulator, "update", template())
    assert again["NightsQueueUrl"]

    assert again["TurnsQueueUrl"] == turns
    assert attributes(emulator, turns) == before
    (kept,) = sqs.receive_message(QueueUrl=turns, WaitTimeSeconds=2)["Messages"]
    assert kept["Body"] == "潮"

    client = emulator.client("cloudformation")
    client.delete_stack(StackName=NAME)
    rest(2)
    anew = bring(
        emulator,
        "create",
        template(),
        Table=first["TableName"],
        Bucket=first["BucketName"],
    )
    assert anew["TableName"] == first["TableName"]
    # The emulator makes names of stack and resource alone; AWS adds random letters.
    assert queue_names(emulator) >= {anew["TurnsQueueUrl"].rpartition("/")[2]}
