"""A deployed installation remembers: the stream wakes the indexer, and what was said is found."""

import sqlite3
from contextlib import closing

import pytest
from botocore.exceptions import ClientError

from tests.deployed.stack import Stack
from tests.deployed.test_tasks import awaited
from tests.deployed.vendor import Vendor

pytest_plugins = ["tests.deployed.fixture"]
pytestmark = [pytest.mark.deployed, pytest.mark.timeout(600)]

LANGUAGES = pytest.mark.parametrize(
    ("language", "asked", "answer", "question"),
    [
        ("ja", "「灯台の鍵は青い箱です」と言って", "灯台の鍵は青い箱です", "灯台の鍵はどこですか"),
        (
            "en",
            "say the lighthouse key is in the blue box",
            "the lighthouse key is in the blue box",
            "Where is the key of the lighthouse?",
        ),
    ],
)


def snapshot(stack: Stack, agent: str) -> bytes | None:
    """The published index of an agent, if there is one; increments may have come upon it."""
    s3, bucket, key = stack.emulator.client("s3"), stack.outputs["BucketName"], f"search/{agent}/"
    for each in s3.list_object_versions(Bucket=bucket, Prefix=key).get("Versions", ()):
        try:
            which = {"Key": each["Key"], "VersionId": each["VersionId"]}
            content = bytes(s3.get_object(Bucket=bucket, **which)["Body"].read())
        except ClientError:
            continue
        if content.startswith(b"SQLite format 3"):
            return content
    return None


def rows(content: bytes) -> int:
    """How many rows a snapshot holds; it must be a sound database."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(content)
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return int(connection.execute("SELECT count(*) FROM row").fetchone()[0])


def vectors(content: bytes | None) -> set[str]:
    """The texts of a snapshot that have a vector; each may come with a publication of its own."""
    if content is None or b"CREATE TABLE vector" not in content:
        return set()
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(content)
        found = connection.execute("SELECT text FROM row JOIN vector ON vector.row = row.id")
        return {text for (text,) in found}


@LANGUAGES
def test_what_was_said_is_found_and_the_indexer_publishes_it(
    stack: Stack, language: str, asked: str, answer: str, question: str
) -> None:
    agent = stack.agent("Rin", language)
    said = stack.say(stack.session(agent), asked)
    assert [reply["text"] for reply in said["replies"]] == [answer]
    found = stack.told("POST", f"/agents/{agent}/memory/search", {"query": question})
    assert answer in [each["text"] for each in found["items"]], "before anything was published"
    content = awaited(lambda: snapshot(stack, agent))
    assert rows(content) >= 1
    again = stack.told("POST", f"/agents/{agent}/memory/search", {"query": question})
    assert [each["text"] for each in again["items"]] == [each["text"] for each in found["items"]]


def test_nothing_of_the_indexer_is_dead(stack: Stack) -> None:
    name = "ApproximateNumberOfMessages"
    given = {"QueueUrl": stack.outputs["BackgroundDeadQueueUrl"], "AttributeNames": [name]}
    attributes = stack.emulator.client("sqs").get_queue_attributes(**given)["Attributes"]
    assert attributes[name] == "0"


def test_what_waits_for_a_summary_is_taken_by_the_schedule(stack: Stack) -> None:
    # Of a turn that nobody knows: it is buried with its reason, which needs no model.
    body = '{"v":1,"turn":"no-such-turn"}'
    stack.emulator.client("sqs").send_message(
        QueueUrl=stack.outputs["CompactionsQueueUrl"],
        MessageBody=body,
        MessageGroupId="g",
        MessageDeduplicationId="d",
    )
    letter = stack.dead_letter("CompactionsDeadQueueUrl", body)
    assert "no-such-turn" in str(letter["MessageAttributes"])


@pytest.mark.parametrize(
    ("said", "answer", "asked"),
    [
        ("「公園で犬が走った」と言って", "公園で犬が走った", "puppy"),
        ("say a dog ran in the park", "a dog ran in the park", "わんこ"),
    ],
    ids=["en to ja", "ja to en"],
)
def test_what_means_the_same_in_other_words_is_found_with_vectors(
    stack: Stack, vendor: Vendor, said: str, answer: str, asked: str
) -> None:
    agent = stack.agent("Rin")
    stack.say(stack.session(agent), said)
    # Before that no copy is made, which would be asked for news once in a minute.
    awaited(lambda: vectors(snapshot(stack, agent)) == {said, answer})
    found = stack.told("POST", f"/agents/{agent}/memory/search", {"query": asked})["items"]
    assert {said, answer} == {each["text"] for each in found}
    assert all("meaning" in each["why"] for each in found)
    assert asked in vendor.embedded
