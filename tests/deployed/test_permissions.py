"""What each function's role may not do, asked of the deployed roles with IAM enforced.

The emulator does not tell its judge of `dynamodb:LeadingKeys`, so that for single partitions the
judge is asked directly about the policies as they were deployed.
"""

import json
import subprocess
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.deployed.emulator import ENVIRONMENT, Credentials
from tests.deployed.stack import NAME, ROLES, Stack

pytest_plugins = ["tests.deployed.fixture"]
pytestmark = [pytest.mark.deployed, pytest.mark.timeout(600)]

JUDGE = Path(__file__).with_name("judge.py")
DENIED = {"AccessDenied", "AccessDeniedException", "AuthorizationError"}
TURN = {"pk": {"S": "TURN#x"}, "sk": {"S": "H"}}
KEY = {"pk": {"S": "KEY#x"}, "sk": {"S": "K"}}

Call = tuple[str, str, dict[str, str | dict[str, Any]]]

DELETE_TURN: Call = ("dynamodb", "delete_item", {"TableName": "TableName", "Key": TURN})
PUT_KEY: Call = ("dynamodb", "put_item", {"TableName": "TableName", "Item": KEY})
READ_KEY: Call = ("dynamodb", "get_item", {"TableName": "TableName", "Key": KEY})
SCAN: Call = ("dynamodb", "scan", {"TableName": "TableName"})
READ_TURNS: Call = ("sqs", "receive_message", {"QueueUrl": "TurnsQueueUrl"})
READ_DEAD: Call = ("sqs", "receive_message", {"QueueUrl": "TurnsDeadQueueUrl"})
READ_DELIVERIES: Call = ("sqs", "receive_message", {"QueueUrl": "DeliveriesQueueUrl"})
MESSAGE = {"MessageBody": "=x", "MessageGroupId": "=x", "MessageDeduplicationId": "=x"}
SEND_TURN: Call = ("sqs", "send_message", {"QueueUrl": "TurnsQueueUrl", **MESSAGE})
SEND_DELIVERY: Call = ("sqs", "send_message", {"QueueUrl": "DeliveriesQueueUrl", **MESSAGE})
READ_SECRET: Call = ("secretsmanager", "get_secret_value", {"SecretId": f"={NAME}-keys"})
DROP_SECRET: Call = ("secretsmanager", "delete_secret", {"SecretId": f"={NAME}-keys"})
WRITE_BLOB: Call = ("s3", "put_object", {"Bucket": "BucketName", "Key": "=blobs/aa/x"})
WRITE_FILE: Call = ("s3", "put_object", {"Bucket": "BucketName", "Key": "=agents/a/workspace/x"})
WRITE_ELSEWHERE: Call = ("s3", "put_object", {"Bucket": "BucketName", "Key": "=elsewhere/x"})
WRITE_INDEX: Call = ("s3", "put_object", {"Bucket": "BucketName", "Key": "=search/a/index.db"})
READ_SUMMARIES: Call = ("sqs", "receive_message", {"QueueUrl": "CompactionsQueueUrl"})
SEND_SUMMARY: Call = ("sqs", "send_message", {"QueueUrl": "CompactionsQueueUrl", **MESSAGE})
LIST_VERSIONS: Call = ("s3", "list_object_versions", {"Bucket": "BucketName"})
LIST_FILES: Call = ("s3", "list_objects_v2", {"Bucket": "BucketName"})
READ_BEATS: Call = ("sqs", "receive_message", {"QueueUrl": "BeatsQueueUrl"})
OF_NOBODY = '={"v":1,"agent":"nobody","slot":0}'
SEND_BEAT: Call = ("sqs", "send_message", {"QueueUrl": "BeatsQueueUrl", "MessageBody": OF_NOBODY})
READ_NIGHTS: Call = ("sqs", "receive_message", {"QueueUrl": "NightsQueueUrl"})
OF_NO_NIGHT = '={"v":1,"agent":"nobody","period":"daily-2026-01-01"}'
SEND_NIGHT: Call = (
    "sqs",
    "send_message",
    {"QueueUrl": "NightsQueueUrl", "MessageBody": OF_NO_NIGHT},
)
WRITE_REPORT: Call = (
    "s3",
    "put_object",
    {"Bucket": "BucketName", "Key": "=agents/a/workspace/reports/learning/x.md"},
)
READ_INTERACTIONS: Call = ("sqs", "receive_message", {"QueueUrl": "InteractionsQueueUrl"})
SEND_INTERACTION: Call = ("sqs", "send_message", {"QueueUrl": "InteractionsQueueUrl", **MESSAGE})
OWNER_HASH: Call = (
    "lambda",
    "get_function_configuration",
    {"FunctionName": f"={NAME}-rest-gateway"},
)

CALL_NIGHT: Call = (
    "lambda",
    "invoke",
    {"FunctionName": f"={NAME}-meta-analysis", "InvocationType": "=Event"},
)
CALL_WORKER: Call = (
    "lambda",
    "invoke",
    {"FunctionName": f"={NAME}-agent-turn", "InvocationType": "=Event"},
)

FORBIDDEN = [
    ("RestAuthorizer", [PUT_KEY, DELETE_TURN, LIST_FILES, SEND_TURN, READ_SECRET]),
    ("RestGateway", [READ_TURNS, READ_DELIVERIES, DROP_SECRET, WRITE_BLOB]),
    ("RestGateway", [WRITE_ELSEWHERE]),
    ("AgentTurn", [SEND_TURN, READ_DEAD, READ_DELIVERIES, WRITE_ELSEWHERE, LIST_VERSIONS]),
    ("Delivery", [DELETE_TURN, READ_TURNS, SEND_TURN, LIST_FILES, WRITE_FILE]),
    ("AgentTurn", [WRITE_INDEX, READ_SUMMARIES]),
    ("Heartbeat", [READ_TURNS, READ_SECRET, LIST_FILES]),
    *((role, [SEND_BEAT, READ_BEATS]) for role in ("RestGateway", "AgentTurn", "Delivery")),
    ("MetaAnalysis", [READ_SECRET, SEND_TURN, SEND_DELIVERY, READ_TURNS]),
    ("MetaAnalysis", [WRITE_FILE, WRITE_BLOB, WRITE_INDEX, LIST_VERSIONS, CALL_WORKER]),
    ("Heartbeat", [CALL_NIGHT]),
    *((role, [SEND_NIGHT, READ_NIGHTS]) for role in ("RestGateway", "AgentTurn", "Heartbeat")),
    ("Compaction", [SEND_TURN, SEND_DELIVERY, READ_TURNS, DELETE_TURN, WRITE_FILE, WRITE_INDEX]),
    ("SearchIndexer", [DELETE_TURN, SEND_TURN, SEND_SUMMARY, WRITE_FILE]),
    ("DiscordGateway", [PUT_KEY, DELETE_TURN, LIST_FILES, READ_SECRET, READ_INTERACTIONS]),
    ("DiscordGateway", [SEND_TURN, SEND_DELIVERY]),
    ("DiscordInteractions", [READ_TURNS, READ_DELIVERIES, SEND_INTERACTION, DROP_SECRET]),
    ("DiscordInteractions", [WRITE_FILE, WRITE_BLOB, WRITE_ELSEWHERE]),
    ("WebsocketGateway", [READ_SECRET, LIST_FILES, READ_TURNS, READ_DELIVERIES, SEND_SUMMARY]),
    *((role, [SCAN, OWNER_HASH]) for role in ROLES),
]
ALLOWED = [
    ("RestAuthorizer", [READ_KEY]),
    ("RestGateway", [PUT_KEY, LIST_FILES, LIST_VERSIONS, READ_SECRET, SEND_DELIVERY]),
    ("AgentTurn", [READ_SECRET, LIST_FILES, WRITE_BLOB]),
    ("Delivery", [READ_KEY, READ_SECRET]),
    ("AgentTurn", [SEND_SUMMARY]),
    ("Heartbeat", [READ_KEY, READ_BEATS, SEND_BEAT]),
    ("MetaAnalysis", [SEND_NIGHT, READ_NIGHTS, SEND_SUMMARY, WRITE_REPORT, LIST_FILES, CALL_NIGHT]),
    ("Compaction", [READ_KEY, READ_SECRET, READ_SUMMARIES, WRITE_BLOB, WRITE_REPORT]),
    ("SearchIndexer", [READ_KEY, WRITE_INDEX, READ_SECRET]),
    ("DiscordGateway", [SEND_INTERACTION]),
    ("DiscordInteractions", [READ_KEY, READ_SECRET, LIST_FILES, READ_INTERACTIONS]),
    ("WebsocketGateway", [READ_KEY, PUT_KEY, SEND_DELIVERY]),
]


PARTITIONS = [
    ("AgentTurn", "DeleteItem", "TURN#x", "Deny"),
    ("AgentTurn", "DeleteItem", "SESSION#x", "Deny"),
    ("AgentTurn", "BatchWriteItem", "TURN#x", "Deny"),
    ("AgentTurn", "DeleteItem", "AGENT#x", "ImplicitDeny"),
    ("AgentTurn", "DeleteItem", "DUE#x", "ImplicitDeny"),
    ("AgentTurn", "DeleteItem", "FACT#x", "Allow"),
    ("AgentTurn", "DeleteItem", "WORKSPACE#x", "Allow"),
    ("AgentTurn", "PutItem", "TURN#x", "Allow"),
    ("RestGateway", "DeleteItem", "TURN#x", "Allow"),
    ("RestGateway", "DeleteItem", "OUT#x", "Allow"),
    ("RestGateway", "DeleteItem", "SESSION#x", "ImplicitDeny"),
    ("RestGateway", "DeleteItem", "AGENT#x", "ImplicitDeny"),
    ("RestGateway", "DeleteItem", "KEY#x", "ImplicitDeny"),
    ("RestGateway", "DeleteItem", "DUE#x", "Allow"),
    ("RestGateway", "DeleteItem", "FACT#x", "Allow"),
    ("RestGateway", "DeleteItem", "WORKSPACE#x", "Allow"),
    ("Delivery", "DeleteItem", "OUT#x", "ImplicitDeny"),
    ("Delivery", "DeleteItem", "FACT#x", "ImplicitDeny"),
    ("Compaction", "DeleteItem", "TURN#x", "ImplicitDeny"),
    ("SearchIndexer", "PutItem", "FACT#x", "ImplicitDeny"),
    ("SearchIndexer", "PutItem", "KEY#x", "ImplicitDeny"),
    ("SearchIndexer", "PutItem", "TURN#x", "Allow"),
    ("SearchIndexer", "DeleteItem", "TURN#x", "ImplicitDeny"),
    ("Heartbeat", "DeleteItem", "TURN#x", "ImplicitDeny"),
    ("Heartbeat", "DeleteItem", "DUE#x", "Allow"),
    ("Heartbeat", "DeleteItem", "FACT#x", "Allow"),
    ("Heartbeat", "DeleteItem", "WORKSPACE#x", "ImplicitDeny"),
    ("MetaAnalysis", "PutItem", "FACT#x", "Allow"),
    ("MetaAnalysis", "DeleteItem", "FACT#x", "Allow"),
    ("MetaAnalysis", "DeleteItem", "TALLY#x", "ImplicitDeny"),
    ("MetaAnalysis", "DeleteItem", "TURN#x", "ImplicitDeny"),
    ("MetaAnalysis", "PutItem", "TURN#x", "Deny"),
    ("MetaAnalysis", "UpdateItem", "KEY#x", "Deny"),
    ("DiscordGateway", "GetItem", "FACT#installation", "Allow"),
    ("DiscordGateway", "GetItem", "FACT#x", "ImplicitDeny"),
    ("DiscordGateway", "GetItem", "KEY#x", "ImplicitDeny"),
    ("DiscordInteractions", "DeleteItem", "TURN#x", "Allow"),
    ("DiscordInteractions", "DeleteItem", "SESSION#x", "ImplicitDeny"),
    ("DiscordInteractions", "DeleteItem", "KEY#x", "ImplicitDeny"),
    ("WebsocketGateway", "DeleteItem", "FACT#x", "Allow"),
    ("WebsocketGateway", "DeleteItem", "TURN#x", "ImplicitDeny"),
    ("WebsocketGateway", "DeleteItem", "SESSION#x", "ImplicitDeny"),
    ("RestAuthorizer", "GetItem", "TURN#x", "ImplicitDeny"),
    ("RestAuthorizer", "GetItem", "KEY#x", "Allow"),
]
"""Who may do what in which partition, and what the judge says of it."""


def pairs(listed: list[tuple[str, list[Call]]]) -> list[Any]:
    """One case for each role and call."""
    return [
        pytest.param(role, call, id=f"{role} {call[1]} {next(iter(call[2].values()))}")
        for role, calls in listed
        for call in calls
    ]


@pytest.fixture(scope="module")
def acting(stack: Stack) -> Callable[[str], Credentials]:
    """Credentials with the permissions of each function; once for all questions."""
    return cache(stack.acting_as)


def attempt(stack: Stack, credentials: Credentials, call: Call) -> str:
    """Do it as the function would; the code of the refusal, empty when there is none."""
    service, operation, named = call
    given = {
        name: value
        if isinstance(value, dict)
        else value[1:]
        if value.startswith("=")
        else stack.outputs[value]
        for name, value in named.items()
    }
    client = stack.emulator.client(service, credentials)
    try:
        getattr(client, operation)(**given)
    except ClientError as error:
        return str(error.response["Error"]["Code"])
    return ""


def policies(stack: Stack, role: str) -> list[Any]:
    """The policies of a role as they were deployed."""
    iam, name = stack.emulator.client("iam"), stack.roles[role].rpartition("/")[2]
    held = iam.list_role_policies(RoleName=name)["PolicyNames"]
    return [iam.get_role_policy(RoleName=name, PolicyName=each)["PolicyDocument"] for each in held]


@pytest.fixture(scope="module")
def decisions(stack: Stack) -> Mapping[tuple[str, str, str], str]:
    """What the judge says of each call that is about one partition; asked once about all."""
    documents = {role: policies(stack, role) for role in ROLES}
    questions = []
    for role, action, partition, _ in PARTITIONS:
        arn = stack.roles[role]
        table = f"arn:aws:dynamodb:us-east-1:{arn.split(':')[4]}:table/{stack.outputs['TableName']}"
        asked = {"role": arn, "action": f"dynamodb:{action}", "resource": table}
        questions.append({**asked, "partitions": [partition], "documents": documents[role]})
    run = subprocess.run(
        [ENVIRONMENT / "bin" / "python", JUDGE],
        input=json.dumps(questions),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert run.returncode == 0, run.stderr
    asked_of = [(role, action, partition) for role, action, partition, _ in PARTITIONS]
    return dict(zip(asked_of, json.loads(run.stdout), strict=True))


@pytest.mark.parametrize(("role", "action", "partition", "decision"), PARTITIONS)
def test_a_role_deletes_and_reads_in_its_own_partitions_only(
    decisions: Mapping[tuple[str, str, str], str],
    role: str,
    action: str,
    partition: str,
    decision: str,
) -> None:
    assert decisions[role, action, partition] == decision


@pytest.mark.parametrize(("role", "call"), pairs(FORBIDDEN))
def test_a_role_may_do_nothing_that_its_function_does_not(
    stack: Stack, acting: Callable[[str], Credentials], role: str, call: Call
) -> None:
    assert attempt(stack, acting(role), call) in DENIED


@pytest.mark.parametrize(("role", "call"), pairs(ALLOWED))
def test_the_same_question_is_not_refused_where_the_template_allows_it(
    stack: Stack, acting: Callable[[str], Credentials], role: str, call: Call
) -> None:
    assert attempt(stack, acting(role), call) == ""


def test_the_hash_of_the_owners_key_is_with_functions_that_ask_for_it_alone(stack: Stack) -> None:
    """Those of the API, and the worker, which sends words to connections of the owner."""
    functions = stack.emulator.client("lambda").list_functions()["Functions"]
    knowing = {
        function["FunctionName"]
        for function in functions
        if "OPENCRAB_AWS__OWNER_KEY_HASH" in function["Environment"]["Variables"]
    }
    named = ("rest-gateway", "rest-authorizer", "websocket-gateway", "agent-turn")
    assert knowing == {f"{NAME}-{name}" for name in named}
