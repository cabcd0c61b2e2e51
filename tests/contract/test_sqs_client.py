"""SQS in memory answers as moto's does, call by call, where the adapter can see it."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest
from botocore.exceptions import ClientError, ParamValidationError

from opencrab.adapters.system_clock import FakeClock
from tests.aws import MAX_RECEIVES, Services, account
from tests.aws_memory.account import MemoryAccount

MEBIBYTE = 2**20
Opens = Callable[[FakeClock], AbstractContextManager[Services]]


@contextmanager
def memory(clock: FakeClock) -> Iterator[Services]:
    yield MemoryAccount(clock)


ACCOUNTS: tuple[Opens, ...] = (account, memory)


class Line:
    """A queue as a client sees it."""

    def __init__(self, opened: Services, *, fifo: bool) -> None:
        self.sqs = opened.client("sqs")
        urls = opened.queue("q") if fifo else opened.standard_queue("q")
        self.url, self.dead_url = urls.url, urls.dead_url
        self._fifo = fifo

    def send(self, body: str, group: str = "g", **more: Any) -> dict[str, Any]:
        ordered = {"MessageGroupId": group, "MessageDeduplicationId": body} if self._fifo else {}
        found: dict[str, Any] = self.sqs.send_message(
            QueueUrl=self.url, MessageBody=body, **ordered, **more
        )
        return found

    def receive(self, most: int = 10, visible: int = 30, **more: Any) -> list[dict[str, Any]]:
        answer = self.sqs.receive_message(
            QueueUrl=self.url, MaxNumberOfMessages=most, VisibilityTimeout=visible, **more
        )
        found: list[dict[str, Any]] = answer.get("Messages", [])
        return found

    def bodies(self, most: int = 10) -> list[str]:
        return [each["Body"] for each in self.receive(most)]

    def counts(self) -> tuple[int, int, int]:
        """Messages that can be had, that are in flight, and that come later."""
        found = self.sqs.get_queue_attributes(QueueUrl=self.url, AttributeNames=["All"])
        name = "ApproximateNumberOfMessages"
        ready, hidden, late = (
            int(found["Attributes"][name + end]) for end in ("", "NotVisible", "Delayed")
        )
        return ready, hidden, late


@pytest.fixture(params=ACCOUNTS, ids=["moto", "memory"])
def opened(request: pytest.FixtureRequest, clock: FakeClock) -> Iterator[Services]:
    opens: Opens = request.param
    with opens(clock) as found:
        yield found


@pytest.fixture
def fifo(opened: Services) -> Line:
    return Line(opened, fifo=True)


@pytest.fixture
def standard(opened: Services) -> Line:
    return Line(opened, fifo=False)


def code_of(do: Callable[[], object]) -> str:
    """The code of the refusal, as adapters look at it."""
    with pytest.raises(ClientError) as raised:
        do()
    return str(raised.value.response["Error"]["Code"]).rpartition(".")[2]


def test_several_of_a_group_come_at_once_and_in_order(fifo: Line) -> None:
    for number in range(12):
        fifo.send(f"{number}番", "even" if number % 2 == 0 else "odd")
    assert fifo.bodies(4) == ["0番", "1番", "2番", "3番"]
    assert fifo.bodies(4) == []


def test_a_group_with_one_in_flight_waits_whole(fifo: Line) -> None:
    for body, group in (("一", "a"), ("二", "a"), ("三", "b")):
        fifo.send(body, group)
    assert fifo.bodies(1) == ["一"]
    assert fifo.bodies() == ["三"]


def test_a_message_is_told_as_it_was_sent(fifo: Line, clock: FakeClock) -> None:
    fifo.send("朝", MessageAttributes={"group": {"DataType": "String", "StringValue": '"夜"'}})
    names = ["ApproximateReceiveCount", "MessageGroupId", "SentTimestamp"]
    asked: dict[str, Any] = {
        "MessageSystemAttributeNames": names,
        "MessageAttributeNames": ["group"],
    }
    sent_at = int(clock.now().timestamp() * 1_000)
    (first,) = fifo.receive(visible=5, **asked)
    clock.advance(6)
    (again,) = fifo.receive(**asked)
    assert first["Body"] == again["Body"] == "朝"
    assert first["MD5OfBody"] == again["MD5OfBody"]
    assert first["MessageAttributes"]["group"]["StringValue"] == '"夜"'
    assert (first["MessageId"], first["ReceiptHandle"]) != (
        again["MessageId"],
        again["ReceiptHandle"],
    )
    assert [each["Attributes"]["ApproximateReceiveCount"] for each in (first, again)] == ["1", "2"]
    assert {each["Attributes"]["MessageGroupId"] for each in (first, again)} == {"g"}
    assert abs(int(first["Attributes"]["SentTimestamp"]) - sent_at) <= 1
    assert first["Attributes"].keys() == {*names}


def test_what_was_not_asked_for_is_not_told(fifo: Line) -> None:
    fifo.send("朝", MessageAttributes={"group": {"DataType": "String", "StringValue": "x"}})
    (found,) = fifo.receive()
    assert not found.keys() & {"Attributes", "MessageAttributes"}


def test_a_repeat_is_answered_as_the_first(fifo: Line) -> None:
    assert fifo.send("朝")["MessageId"] == fifo.send("朝")["MessageId"]
    assert fifo.counts() == (1, 0, 0)


def test_ids_are_remembered_for_each_queue_alone(opened: Services, fifo: Line) -> None:
    other = opened.queue("other")
    fifo.send("朝")
    fifo.sqs.send_message(
        QueueUrl=other.url, MessageBody="朝", MessageGroupId="g", MessageDeduplicationId="朝"
    )
    assert fifo.counts() == (1, 0, 0)
    assert fifo.sqs.receive_message(QueueUrl=other.url)["Messages"][0]["Body"] == "朝"


def test_a_standard_queue_keeps_repeats_and_no_groups(standard: Line) -> None:
    standard.send("朝")
    standard.send("朝")
    assert standard.bodies(1) == ["朝"]
    assert standard.bodies() == ["朝"]
    assert standard.counts() == (0, 2, 0)


def test_a_delayed_message_comes_later(standard: Line, clock: FakeClock) -> None:
    standard.send("後", DelaySeconds=10)
    assert standard.counts()[2] == 1
    clock.advance(9)
    assert standard.bodies() == []
    clock.advance(2)
    assert standard.bodies() == ["後"]


def test_a_batch_has_an_outcome_for_each_entry(fifo: Line) -> None:
    entries = [
        {
            "Id": str(number),
            "MessageBody": body,
            "MessageGroupId": "g",
            "MessageDeduplicationId": body,
        }
        for number, body in enumerate(("一", "二", "一"))
    ]
    answer = fifo.sqs.send_message_batch(QueueUrl=fifo.url, Entries=entries)
    assert [each["Id"] for each in answer["Successful"]] == ["0", "1", "2"]
    assert not answer.get("Failed")
    assert fifo.bodies() == ["一", "二"]


def test_a_batch_gives_several_back_and_says_which_it_cannot(fifo: Line) -> None:
    for body in ("一", "二"):
        fifo.send(body, group=body)
    receipts = [each["ReceiptHandle"] for each in fifo.receive()]
    answer = fifo.sqs.change_message_visibility_batch(
        QueueUrl=fifo.url,
        Entries=[
            {"Id": str(number), "ReceiptHandle": receipt, "VisibilityTimeout": 0}
            for number, receipt in enumerate((*receipts, "nowhere"))
        ],
    )
    assert [each["Id"] for each in answer["Successful"]] == ["0", "1"]
    assert [each["Id"] for each in answer["Failed"]] == ["2"]
    assert fifo.bodies() == ["一", "二"]


def test_batches_have_a_size_and_distinct_ids(fifo: Line) -> None:
    def send(*names: str) -> Callable[[], object]:
        entries = [
            {
                "Id": name,
                "MessageBody": "x",
                "MessageGroupId": "g",
                "MessageDeduplicationId": f"{place}",
            }
            for place, name in enumerate(names)
        ]
        return lambda: fifo.sqs.send_message_batch(QueueUrl=fifo.url, Entries=entries)

    eleven = [str(number) for number in range(11)]
    assert code_of(send(*eleven)) == "TooManyEntriesInBatchRequest"
    assert code_of(send("a", "a")) == "BatchEntryIdsNotDistinct"


def test_receipts_that_count_no_more_are_refused(fifo: Line, clock: FakeClock) -> None:
    fifo.send("一")
    (old,) = fifo.receive(visible=5)
    clock.advance(6)
    (new,) = fifo.receive()

    def delete(receipt: str) -> Callable[[], object]:
        return lambda: fifo.sqs.delete_message(QueueUrl=fifo.url, ReceiptHandle=receipt)

    def hide(receipt: str) -> Callable[[], object]:
        return lambda: fifo.sqs.change_message_visibility(
            QueueUrl=fifo.url, ReceiptHandle=receipt, VisibilityTimeout=5
        )

    for refused in (delete(old["ReceiptHandle"]), hide(old["ReceiptHandle"])):
        assert code_of(refused) == "InvalidParameterValue"
    for unknown in (delete("nowhere"), hide("nowhere")):
        assert code_of(unknown) == "ReceiptHandleIsInvalid"
    delete(new["ReceiptHandle"])()
    delete(new["ReceiptHandle"])()
    assert code_of(hide(new["ReceiptHandle"])) == "InvalidParameterValue"
    assert fifo.counts() == (0, 0, 0)


def test_nothing_is_hidden_for_longer_than_twelve_hours(fifo: Line) -> None:
    fifo.send("一")
    (found,) = fifo.receive()
    assert (
        code_of(
            lambda: fifo.sqs.change_message_visibility(
                QueueUrl=fifo.url,
                ReceiptHandle=found["ReceiptHandle"],
                VisibilityTimeout=43_201,
            )
        )
        == "InvalidParameterValue"
    )


def test_a_message_that_was_received_too_often_is_buried(clock: FakeClock) -> None:
    """In memory alone: moto takes seconds for so many receives."""
    fifo = Line(MemoryAccount(clock), fifo=True)
    fifo.send("毒")
    fifo.send("後", group="other")
    for _ in range(MAX_RECEIVES):
        (found,) = fifo.receive(1, visible=1)
        assert found["Body"] == "毒"
        clock.advance(2)
    assert fifo.bodies() == ["後"]
    (letter,) = fifo.sqs.receive_message(QueueUrl=fifo.dead_url)["Messages"]
    assert letter["Body"] == "毒"


def test_a_message_ends_after_a_fortnight(fifo: Line, clock: FakeClock) -> None:
    fifo.send("古")
    clock.advance(14 * 24 * 3_600 + 1)
    assert fifo.bodies() == []


def test_a_message_may_have_a_mebibyte(fifo: Line, standard: Line) -> None:
    assert fifo.send("x" * MEBIBYTE)["MessageId"]
    with pytest.raises(ClientError, match="must be shorter than"):
        standard.send("x" * (MEBIBYTE + 1))


def test_what_a_queue_of_its_kind_does_not_take_is_refused(fifo: Line) -> None:
    assert code_of(lambda: fifo.send("x", DelaySeconds=5)) == "InvalidParameterValue"
    plain = {"QueueUrl": fifo.url, "MessageBody": "x"}
    assert code_of(lambda: fifo.sqs.send_message(**plain)) == "MissingParameter"


def test_a_queue_that_is_not_there_is_missing(fifo: Line) -> None:
    url = fifo.url.replace("-q.fifo", "-nowhere.fifo")
    calls: list[Callable[[], object]] = [
        lambda: fifo.sqs.send_message(
            QueueUrl=url, MessageBody="x", MessageGroupId="g", MessageDeduplicationId="d"
        ),
        lambda: fifo.sqs.receive_message(QueueUrl=url),
        lambda: fifo.sqs.delete_message(QueueUrl=url, ReceiptHandle="r"),
    ]
    assert {code_of(call) for call in calls} <= {"NonExistentQueue", "QueueDoesNotExist"}


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"QueueUrl": "q", "MessageBody": b"bytes"},
        {"QueueUrl": "q", "MessageBody": "x", "DelaySeconds": "5"},
        {"QueueUrl": "q", "MessageBody": "x", "Body": "x"},
    ],
)
def test_a_call_that_botocore_refuses_is_refused(fifo: Line, wrong: dict[str, Any]) -> None:
    with pytest.raises(ParamValidationError):
        fifo.sqs.send_message(**wrong)
