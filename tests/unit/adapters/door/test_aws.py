"""AWS in plain: botocore's signer agrees with ours, and SQS and DynamoDB understand it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as BotoCredentials
from botocore.exceptions import ClientError
from hypothesis import given
from hypothesis import strategies as st

from opencrab.adapters.door.aws import (
    DYNAMODB,
    SQS,
    Credentials,
    PlainAws,
    PlainDynamoFacts,
    PlainSqsQueue,
    Signer,
)
from opencrab.adapters.dynamodb.document import DynamoFacts
from opencrab.adapters.dynamodb.table import Table
from opencrab.adapters.sqs import SqsQueue
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.document import INSTALLATION_FACTS, Document
from opencrab.domain.errors import Unavailable
from tests.aws import Account, account
from tests.aws_home import create_table, dispatch_in
from tests.contract.example import JAPANESE, NOW
from tests.unit.adapters.listening import Heard, Listening, Reply, answer, listening

EPOCH = 1_795_000_000.25
MINE = Credentials("AKIDEXAMPLE", "wJalr/EXAMPLE+KEY", "")
LENT = Credentials("ASIAEXAMPLE", "wJalr/EXAMPLE+KEY", "a/session+token==" * 20)

credentials = st.sampled_from([MINE, LENT])


def as_botocore_signs(headers: dict[str, str], body: bytes, service: str, who: Credentials) -> str:
    """The Authorization that botocore gives the same request."""
    url = f"https://{headers['host']}/"
    request = AWSRequest("POST", url, headers=dict(headers), data=body)
    del request.headers["authorization"]
    request.context["timestamp"] = headers["x-amz-date"]
    theirs = SigV4Auth(BotoCredentials(who.key_id, who.secret, who.token or None), service, "r-1")
    canonical = theirs.canonical_request(request)
    signature = theirs.signature(theirs.string_to_sign(request, canonical), request)
    theirs._inject_signature_to_request(request, signature)
    return str(request.headers["Authorization"])


@given(
    body=st.binary(max_size=300),
    epoch=st.floats(0, 4e9),
    who=credentials,
    service=st.sampled_from([SQS, DYNAMODB]),
)
def test_it_signs_as_botocore_does(
    body: bytes, epoch: float, who: Credentials, service: str
) -> None:
    headers = Signer(service, "r-1", who).headers("host.example:8443", "A_1.Do", body, epoch)
    assert headers["authorization"] == as_botocore_signs(headers, body, service, who)
    assert ("x-amz-security-token" in headers) == bool(who.token)


def test_the_time_of_a_signature_is_utc() -> None:
    headers = Signer(SQS, "r-1", MINE).headers("h", "t", b"", EPOCH)
    assert headers["x-amz-date"] == "20261118T110640Z"


class Served:
    """An account of AWS behind HTTP, as its JSON protocols have it."""

    def __init__(self, aws: Account) -> None:
        self._aws = aws

    def __call__(self, heard: Heard) -> bytes:
        service, operation = {
            "AmazonSQS.SendMessage": ("sqs", "send_message"),
            "DynamoDB_20120810.GetItem": ("dynamodb", "get_item"),
        }[heard.headers["x-amz-target"]]
        unsigned = {"content-length"}
        headers = {name: text for name, text in heard.headers.items() if name not in unsigned}
        signed = as_botocore_signs(headers, heard.body, service, LENT)
        assert headers["authorization"] == signed
        try:
            told = getattr(self._aws.client(service), operation)(**json.loads(heard.body))
        except ClientError as error:
            named = {"__type": f"com.amazonaws#{error.response['Error']['Code']}"}
            return answer(400, json.dumps(named).encode())
        told.pop("ResponseMetadata")
        return answer(200, json.dumps(told).encode())


def plain(server: Listening, service: str) -> PlainAws:
    """Calls of a service that listens here."""
    return PlainAws(Signer(service, "r-1", LENT), server.client(), lambda: EPOCH)


@pytest.fixture
def aws() -> Iterator[Account]:
    with account(FakeClock(NOW)) as opened:
        yield opened


def test_what_it_sends_is_received_as_by_the_sdk_and_once(aws: Account) -> None:
    urls = aws.queue("interactions")
    queue = SqsQueue(aws.client("sqs"), urls.url, urls.dead_url)
    with listening(Served(aws)) as server:
        plainly = PlainSqsQueue(plain(server, SQS), urls.url, seconds=5)
        for _ in range(2):
            plainly.send(JAPANESE, group="150", deduplication="140")
        queue.send(JAPANESE, group="150", deduplication="140")
    delivery = queue.receive(visibility_seconds=30, wait_seconds=0)
    assert delivery is not None
    assert (delivery.body, delivery.group) == (JAPANESE, "150")
    queue.acknowledge(delivery.receipt)
    assert queue.receive(visibility_seconds=30, wait_seconds=0) is None


def test_a_queue_that_is_not_there_is_unavailable(aws: Account) -> None:
    with listening(Served(aws)) as server:
        queue = PlainSqsQueue(plain(server, SQS), "https://x/1/none.fifo", seconds=5)
        with pytest.raises(Unavailable, match=r"SendMessage failed: .*NonExistent|DoesNotExist"):
            queue.send("x", group="g", deduplication="d")


def test_it_reads_facts_as_the_table_has_them(aws: Account) -> None:
    body: Any = {"agents": [{"id": "01mika", "name": "ミカ"}], "models": []}
    name = create_table(aws)
    table = Table(name, dispatch_in(aws))
    kept = Document(owner=INSTALLATION_FACTS, kind="discord_choices", id="current", body=body)
    DynamoFacts(table).commit(kept)
    with listening(Served(aws)) as server:
        facts = PlainDynamoFacts(plain(server, DYNAMODB), name, seconds=5)
        assert facts.body("installation", "discord_choices", "current") == body
        assert facts.body("installation", "discord_choices", "other") is None


@contextmanager
def failing(*said: bytes | None) -> Iterator[tuple[Listening, PlainSqsQueue]]:
    """A queue that answers so, one request after another, and at last well."""
    left = list(said)

    def reply(_: Heard) -> bytes | None:
        return left.pop(0) if left else answer(200, b"{}")

    serving: Reply = reply
    with listening(serving) as server:
        yield server, PlainSqsQueue(plain(server, SQS), "https://x/1/q.fifo", seconds=5)


@pytest.mark.parametrize("said", [answer(500), answer(503, b"busy"), None])
def test_what_fails_once_is_sent_once_more(said: bytes | None) -> None:
    with failing(said) as (server, queue):
        queue.send("x", group="g", deduplication="d")
    assert len(server.heard) == 2
    assert server.heard[0].body == server.heard[1].body


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ((answer(500), answer(502)), "502"),
        ((None, None), "no response from"),
        ((answer(403, b'{"__type": "a.b#AccessDenied", "message": "no"}'),), "AccessDenied"),
        ((answer(400, b"{}"),), "400"),
        ((answer(400, b"[]"),), "400"),
        ((answer(200, b"<html>"),), "not JSON"),
    ],
)
def test_what_fails_for_good_is_unavailable_and_says_why(
    said: tuple[bytes | None, ...], why: str
) -> None:
    with failing(*said) as (server, queue), pytest.raises(Unavailable, match=why):
        queue.send("x", group="g", deduplication="d")
    assert len(server.heard) == len(said)


def test_both_tries_share_one_time() -> None:
    with listening(lambda _: b"") as server:
        queue = PlainSqsQueue(plain(server, SQS), "https://x/1/q.fifo", seconds=0.1)
        with pytest.raises(Unavailable):
            queue.send("x", group="g", deduplication="d")
    assert len(server.heard) == 1
