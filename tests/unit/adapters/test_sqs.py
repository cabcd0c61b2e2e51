"""Queues on SQS: what SQS would refuse, and what becomes of its errors."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from opencrab.adapters.aws_client import aws_service_client
from opencrab.adapters.sqs import MOVED_BY_SQS, SqsQueue
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.errors import Invalid, OpenCrabError, TooLarge, Unavailable
from opencrab.ports.turn.queue import Delivery
from tests.aws import REGION, Account, QueueUrls, account
from tests.aws_faults import Fault, answer_is_lost, never_arrives, refuses
from tests.contract.example import JAPANESE, NOW

LEGAL = "".join(chr(code) for code in range(0x21, 0x7F))
ODD_NAMES = ["朝の会", "two words", "g" * 129, "", "tab\t", "🦀", "\ud800", '{"a":1}' * 30]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(NOW)


@pytest.fixture
def aws(clock: FakeClock) -> Iterator[Account]:
    with account(clock) as opened:
        yield opened


@pytest.fixture
def urls(aws: Account) -> QueueUrls:
    return aws.queue("turns")


@pytest.fixture
def queue(aws: Account, urls: QueueUrls) -> SqsQueue:
    return SqsQueue(aws.client("sqs"), urls.url, urls.dead_url)


@pytest.fixture
def standard(aws: Account) -> SqsQueue:
    urls = aws.standard_queue("due")
    return SqsQueue(aws.client("sqs"), urls.url, urls.dead_url)


def taken(queue: SqsQueue) -> Delivery:
    delivery = queue.receive(visibility_seconds=30, wait_seconds=0)
    assert delivery is not None
    return delivery


def on_the_wire(aws: Account, url: str) -> dict[str, Any]:
    """The next message as AWS has it."""
    answer = aws.client("sqs").receive_message(
        QueueUrl=url, MessageSystemAttributeNames=["All"], MessageAttributeNames=["All"]
    )
    found: dict[str, Any] = answer["Messages"][0]
    return found


@pytest.mark.parametrize("group", ODD_NAMES)
def test_a_group_that_sqs_would_refuse_comes_back_as_it_was(queue: SqsQueue, group: str) -> None:
    queue.send("一", group=group, deduplication=group or "d")
    assert taken(queue).group == group


@pytest.mark.parametrize("name", ODD_NAMES)
def test_what_sqs_sees_is_always_legal_and_the_same(
    aws: Account, queue: SqsQueue, urls: QueueUrls, name: str
) -> None:
    queue.send("一", group=name, deduplication=name)
    queue.send("again", group=name, deduplication=name)
    seen = on_the_wire(aws, urls.url)["Attributes"]
    assert set(seen["MessageGroupId"] + seen["MessageDeduplicationId"]) <= set(LEGAL)
    assert len(seen["MessageGroupId"]) <= 128
    assert queue.receive(visibility_seconds=30, wait_seconds=0) is None


def test_an_ordinary_name_travels_as_it_is(aws: Account, queue: SqsQueue, urls: QueueUrls) -> None:
    queue.send("一", group=LEGAL, deduplication="01J-0-17")
    message = on_the_wire(aws, urls.url)
    assert message["Attributes"]["MessageGroupId"] == LEGAL
    assert message["Attributes"]["MessageDeduplicationId"] == "01J-0-17"
    assert "MessageAttributes" not in message


@pytest.mark.parametrize("body", [JAPANESE, "👩‍👩‍👧 𠮷野家", "a\tb\r\nc", "\ufffd\ue000\U0010ffff"])
def test_any_text_travels_unchanged(queue: SqsQueue, standard: SqsQueue, body: str) -> None:
    for each in (queue, standard):
        each.send(body, group="g", deduplication="d")
        assert taken(each).body == body


@pytest.mark.parametrize("bad", ["\ufffe", "\uffff", "\x00", "\x0b", "\x1f", "\ud800"])
def test_what_sqs_would_silently_replace_is_refused(queue: SqsQueue, bad: str) -> None:
    with pytest.raises(Invalid, match=r"turns\.fifo") as raised:
        queue.send(f"朝{bad}", group="g", deduplication="d")
    assert repr(bad) in raised.value.message
    with pytest.raises(Invalid, match=r"turns-dead\.fifo"):
        queue.dead_letter(f"朝{bad}", group="g", reason="broken")


def test_an_empty_message_is_refused(queue: SqsQueue) -> None:
    with pytest.raises(Invalid, match="is empty"):
        queue.send("", group="g", deduplication="d")


def test_a_message_over_the_limit_is_too_large(queue: SqsQueue) -> None:
    with pytest.raises(TooLarge, match=r"turns\.fifo"):
        queue.send("x" * 1_048_577, group="g", deduplication="d")


@pytest.mark.parametrize(
    ("fault", "told", "cure"),
    [
        (refuses(400, "RequestThrottled"), "RequestThrottled", "wait"),
        (refuses(400, "ThrottlingException"), "ThrottlingException", "wait"),
        (refuses(503, "ServiceUnavailable"), "ServiceUnavailable", "wait"),
        (refuses(500, "InternalFailure"), "InternalFailure", "wait"),
        (never_arrives, "ConnectTimeoutError", "wait"),
        (answer_is_lost, "ReadTimeoutError", "wait"),
        (refuses(403, "AccessDenied"), "AccessDenied", "allow sqs:"),
        (refuses(400, "KMS.AccessDeniedException"), "AccessDeniedException", "allow sqs:"),
        (refuses(403, "ExpiredToken"), "ExpiredToken", "credentials"),
        (
            refuses(400, "AWS.SimpleQueueService.NonExistentQueue"),
            "does not exist",
            "deploy",
        ),
        (refuses(400, "QueueDoesNotExist"), "does not exist", "deploy"),
    ],
)
def test_what_an_operator_or_time_can_mend_is_unavailable(
    aws: Account, queue: SqsQueue, fault: Fault, told: str, cure: str
) -> None:
    calls: list[Callable[[], object]] = [
        lambda: queue.send("一", group="g", deduplication="d"),
        lambda: queue.receive(visibility_seconds=30, wait_seconds=0),
        lambda: queue.acknowledge("receipt"),
        lambda: queue.continue_later("receipt", 5),
        lambda: queue.dead_letter("一", group="g", reason="broken"),
        lambda: queue.list_dead_letters(1),
    ]
    for call in calls:
        aws.fails(fault)
        with pytest.raises(OpenCrabError) as raised:
            call()
        assert type(raised.value) is Unavailable
        assert "turns" in raised.value.message
        assert told in raised.value.message
        assert cure in (raised.value.cure or "")


def test_an_error_tells_no_account_number(aws: Account, queue: SqsQueue) -> None:
    aws.fails(refuses(403, "AccessDenied", "arn:aws:iam::123456789012:role/r may not"))
    with pytest.raises(Unavailable) as raised:
        queue.send("一", group="g", deduplication="d")
    assert "123456789012" not in raised.value.message + (raised.value.cure or "")


def test_a_message_whose_answer_was_lost_is_sent_again_and_there_once(
    aws: Account, queue: SqsQueue
) -> None:
    aws.fails(answer_is_lost)
    with pytest.raises(Unavailable):
        queue.send("一", group="g", deduplication="d")
    queue.send("一", group="g", deduplication="d")
    queue.acknowledge(taken(queue).receipt)
    queue.send("一", group="g", deduplication="d")
    assert queue.receive(visibility_seconds=30, wait_seconds=0) is None


def test_the_client_itself_tries_three_times(aws: Account, urls: QueueUrls) -> None:
    patient = aws_service_client(
        "sqs", region_name=REGION, aws_access_key_id="made-up", aws_secret_access_key="made-up"
    )
    queue = SqsQueue(aws.served(patient), urls.url, urls.dead_url)
    aws.fails(answer_is_lost, refuses(400, "RequestThrottled"))
    queue.send("一", group="g", deduplication="d")
    assert taken(queue).body == "一"
    assert queue.receive(visibility_seconds=30, wait_seconds=0) is None


def test_a_removal_whose_answer_was_lost_may_be_repeated(aws: Account, queue: SqsQueue) -> None:
    queue.send("一", group="g", deduplication="d")
    delivery = taken(queue)
    aws.fails(answer_is_lost)
    with pytest.raises(Unavailable):
        queue.acknowledge(delivery.receipt)
    queue.acknowledge(delivery.receipt)
    assert not queue.continue_later(delivery.receipt, 5)


@pytest.mark.parametrize(
    "fault",
    [
        refuses(404, "ReceiptHandleIsInvalid"),
        refuses(400, "AWS.SimpleQueueService.MessageNotInflight"),
        refuses(
            400,
            "InvalidParameterValue",
            "Value AQ for parameter ReceiptHandle is invalid. Reason: The receipt handle has "
            "expired.",
        ),
        refuses(
            400,
            "InvalidParameterValue",
            "Value AQ for parameter ReceiptHandle is invalid. Reason: Message does not exist or is "
            "not available for visibility timeout change.",
        ),
    ],
)
def test_a_receipt_that_counts_no_more_is_no_error(
    aws: Account, queue: SqsQueue, fault: Fault
) -> None:
    aws.fails(fault, fault)
    assert not queue.continue_later("AQ", 5)
    queue.acknowledge("AQ")


def test_nothing_is_hidden_for_longer_than_sqs_can(aws: Account, queue: SqsQueue) -> None:
    queue.send("一", group="g", deduplication="d")
    delivery = queue.receive(visibility_seconds=100_000, wait_seconds=0)
    assert delivery is not None
    assert queue.continue_later(delivery.receipt, 100_000)
    aws.fails(
        refuses(
            400,
            "InvalidParameterValue",
            "Value 43200 for parameter VisibilityTimeout is invalid. Reason: Total "
            "VisibilityTimeout for the message is beyond the limit [43200 seconds]",
        )
    )
    assert queue.continue_later(delivery.receipt, 43_200)
    assert queue.continue_later(delivery.receipt, -1)
    assert taken(queue).count == 2


def test_a_letter_that_sqs_moved_by_itself_says_so(
    aws: Account, queue: SqsQueue, urls: QueueUrls, clock: FakeClock
) -> None:
    aws.client("sqs").send_message(
        QueueUrl=urls.dead_url, MessageBody="poison", MessageGroupId="g", MessageDeduplicationId="d"
    )
    clock.advance(1)
    queue.dead_letter("letter", group="朝", reason="壊れた\x00\ufffe 🦀")
    assert queue.list_dead_letters(5) == (
        ("letter", "壊れた\ufffd\ufffd 🦀"),
        ("poison", MOVED_BY_SQS),
    )


def test_dead_letters_may_be_looked_at_again_and_keep_their_group(
    aws: Account, queue: SqsQueue, urls: QueueUrls, clock: FakeClock
) -> None:
    for number in range(25):
        clock.advance(1)
        queue.dead_letter(f"{number}番", group=f"g{number}", reason="")
    for _ in range(2):
        assert [body for body, _ in queue.list_dead_letters(3)] == ["24番", "23番", "22番"]
    assert len(queue.list_dead_letters(100)) == 25
    assert on_the_wire(aws, urls.dead_url)["Attributes"]["MessageGroupId"] == "g0"


def test_a_standard_queue_gets_neither_group_nor_deduplication(
    aws: Account, standard: SqsQueue
) -> None:
    for _ in range(2):
        standard.send(JAPANESE, group="朝の会", deduplication="d")
    bodies = [taken(standard), taken(standard)]
    assert [(each.body, each.group) for each in bodies] == [(JAPANESE, "朝の会")] * 2
    for each in bodies:
        standard.acknowledge(each.receipt)
    standard.dead_letter("letter", group="朝の会", reason="壊れた")
    assert standard.list_dead_letters(1) == (("letter", "壊れた"),)


@pytest.mark.parametrize("attribute", ["no json", "[1]", '"'])
def test_a_foreign_group_attribute_harms_nothing(
    aws: Account, queue: SqsQueue, urls: QueueUrls, attribute: str
) -> None:
    aws.client("sqs").send_message(
        QueueUrl=urls.url,
        MessageBody="一",
        MessageGroupId="g",
        MessageDeduplicationId="d",
        MessageAttributes={"group": {"DataType": "String", "StringValue": attribute}},
    )
    assert taken(queue).group == "g"
