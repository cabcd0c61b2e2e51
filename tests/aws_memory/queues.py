"""Queues of Amazon SQS in memory: what they hand out, remember and refuse, without a network.

The contracts of queues are held against them as against moto; both keep what AWS documents:

- a group of a FIFO queue hands out nothing while one of its messages is in flight;
- a deduplication id stays known for five minutes from when it was first sent, also after its
  message was received and deleted;
- a receipt of a FIFO queue counts only while its message is in flight by it;
- a message that was received too often moves to the dead letters, and one that nobody deletes ends
  with its retention.
"""

import hashlib
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from botocore.exceptions import ClientError

from tests.aws_memory.client import Answer, Fields, MemoryClient, client_error

KNOWN_FOR = timedelta(minutes=5)
LONGEST_VISIBILITY = timedelta(hours=12)
DEFAULT_VISIBILITY_SECONDS = 30
MOST_BYTES = 1_048_576
MOST_AT_ONCE = 10
MOST_DELAY_SECONDS = 900
_MOMENT_SECONDS = 0.01
_INVALID = "InvalidParameterValue"
_MISSING = "MissingParameter"
_OF_SQS = "AWS.SimpleQueueService"
_RECEIVED = (
    "QueueUrl MaxNumberOfMessages VisibilityTimeout WaitTimeSeconds "
    "MessageSystemAttributeNames AttributeNames MessageAttributeNames"
)


@dataclass(eq=False)
class StoredMessage:
    """A message in a queue; `receipt` is the newest of those that were given out for it."""

    id: str
    body: str
    group: str | None
    deduplication: str | None
    attributes: Fields
    sent_at: datetime
    visible_at: datetime
    sequence: str
    receipt: str | None = None
    received_at: datetime | None = None
    count: int = 0

    def is_in_flight(self, now: datetime) -> bool:
        """Whether it was received, and nobody else may have it yet."""
        return self.receipt is not None and now < self.visible_at


@dataclass(eq=False)
class StoredQueue:
    """A queue: its messages in the order in which they were sent."""

    url: str
    retention: timedelta
    dead: "StoredQueue | None" = None
    most_receives: int = 0
    messages: list[StoredMessage] = field(default_factory=list)
    receipts: dict[str, StoredMessage] = field(default_factory=dict)
    known: dict[str, tuple[datetime, Fields]] = field(default_factory=dict)

    @property
    def is_fifo(self) -> bool:
        """Whether it keeps the order of each group."""
        return self.url.endswith(".fifo")

    def clear(self) -> None:
        """Forget everything that was ever sent to it."""
        self.messages.clear()
        self.receipts.clear()
        self.known.clear()


class MemoryQueues:
    """All queues of an account; `client` is what adapters call. Each call is atomic."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._one_call = threading.RLock()
        self._queues: dict[str, StoredQueue] = {}
        self._numbers = 0
        one = "MessageBody MessageGroupId MessageDeduplicationId MessageAttributes DelaySeconds"
        self.client: Any = MemoryClient(
            "sqs",
            {
                "SendMessage": (self._atomic(self._send), f"QueueUrl {one}"),
                "SendMessageBatch": (self._atomic(self._send_batch), "QueueUrl Entries"),
                "ReceiveMessage": (self._wait_and_receive, _RECEIVED),
                "DeleteMessage": (self._atomic(self._delete), "QueueUrl ReceiptHandle"),
                "ChangeMessageVisibility": (
                    self._atomic(self._change_visibility),
                    "QueueUrl ReceiptHandle VisibilityTimeout",
                ),
                "ChangeMessageVisibilityBatch": (
                    self._atomic(self._change_visibility_batch),
                    "QueueUrl Entries",
                ),
                "GetQueueAttributes": (self._atomic(self._count), "QueueUrl AttributeNames"),
            },
        )

    def create(
        self,
        url: str,
        retention: timedelta,
        *,
        dead: StoredQueue | None = None,
        most_receives: int = 0,
    ) -> StoredQueue:
        """An empty queue."""
        self._queues[url] = StoredQueue(url, retention, dead, most_receives)
        return self._queues[url]

    def clear(self) -> None:
        """Forget every message; the queues stay."""
        for queue in self._queues.values():
            queue.clear()

    def queue(self, url: str, operation: str = "GetQueueAttributes") -> StoredQueue:
        """The queue at a URL, without what is older than it keeps; refused if there is none."""
        found = self._queues.get(url)
        if found is None:
            code, message = f"{_OF_SQS}.NonExistentQueue", "The specified queue does not exist."
            raise client_error(operation, 400, code, message)
        oldest = self._now() - found.retention
        if any(each.sent_at <= oldest for each in found.messages):
            found.messages[:] = [each for each in found.messages if each.sent_at > oldest]
        return found

    def _atomic(self, do: Answer) -> Answer:
        def call(given: Fields) -> Fields:
            with self._one_call:
                return do(given)

        return call

    def _send(self, given: Fields) -> Fields:
        queue, now = self.queue(given["QueueUrl"], "SendMessage"), self._now()
        _check_sent(queue, given)
        key = given["MessageDeduplicationId"] if queue.is_fifo else None
        if key in queue.known and now < queue.known[key][0]:
            return dict(queue.known[key][1])
        number = self._next()
        stored = StoredMessage(
            id=f"message-{number}",
            body=given["MessageBody"],
            group=given.get("MessageGroupId"),
            deduplication=key,
            attributes=dict(given.get("MessageAttributes", {})),
            sent_at=now,
            visible_at=now + timedelta(seconds=given.get("DelaySeconds", 0)),
            sequence=f"{number:020}",
        )
        queue.messages.append(stored)
        answer = {"MessageId": stored.id, "MD5OfMessageBody": _md5(stored.body)}
        if key is not None:
            answer["SequenceNumber"] = stored.sequence
            queue.known[key] = (now + KNOWN_FOR, answer)
        return dict(answer)

    def _send_batch(self, given: Fields) -> Fields:
        entries: list[Fields] = given["Entries"]
        _check_batch("SendMessageBatch", entries)
        if sum(_size(entry) for entry in entries) > MOST_BYTES:
            message = f"Batch requests cannot be longer than {MOST_BYTES} bytes."
            code = f"{_OF_SQS}.BatchRequestTooLong"
            raise client_error("SendMessageBatch", 400, code, message)
        return _outcomes(self._send, given["QueueUrl"], entries)

    def _wait_and_receive(self, given: Fields) -> Fields:
        """A wait lasts a moment: the clock may stand still, and whoever waits asks again."""
        if given.get("WaitTimeSeconds"):
            threading.Event().wait(_MOMENT_SECONDS)
        with self._one_call:
            return self._receive(given)

    def _receive(self, given: Fields) -> Fields:
        queue, now = self.queue(given["QueueUrl"], "ReceiveMessage"), self._now()
        most = given.get("MaxNumberOfMessages", 1)
        seconds = given.get("VisibilityTimeout", DEFAULT_VISIBILITY_SECONDS)
        _check_range("ReceiveMessage", "MaxNumberOfMessages", most, 1, MOST_AT_ONCE)
        _check_visibility("ReceiveMessage", seconds)
        taken = _taken(queue, now, most)
        for each in taken:
            each.receipt = f"receipt-{self._next()}"
            each.received_at, each.visible_at = now, now + timedelta(seconds=seconds)
            each.count += 1
            queue.receipts[each.receipt] = each
        return {"Messages": [_told(each, given) for each in taken]} if taken else {}

    def _delete(self, given: Fields) -> Fields:
        receipt = given["ReceiptHandle"]
        queue = self.queue(given["QueueUrl"], "DeleteMessage")
        message = _of_receipt(queue, receipt, "DeleteMessage")
        if message not in queue.messages:
            return {}
        is_newest = message.receipt == receipt
        if queue.is_fifo and not (is_newest and message.is_in_flight(self._now())):
            raise _refused("DeleteMessage", receipt, "The receipt handle has expired")
        # Where order does not matter, an older receipt is taken, and nothing is deleted.
        if is_newest:
            queue.messages.remove(message)
        return {}

    def _change_visibility(self, given: Fields) -> Fields:
        operation, receipt = "ChangeMessageVisibility", given["ReceiptHandle"]
        queue, now = self.queue(given["QueueUrl"], operation), self._now()
        seconds = given["VisibilityTimeout"]
        _check_visibility(operation, seconds)
        message = _of_receipt(queue, receipt, operation)
        is_newest = message in queue.messages and message.receipt == receipt
        if not is_newest or not message.is_in_flight(now):
            why = "Message does not exist or is not available for visibility timeout change."
            raise _refused(operation, receipt, why)
        until = now + timedelta(seconds=seconds)
        if message.received_at is not None and until > message.received_at + LONGEST_VISIBILITY:
            raise client_error(
                operation,
                400,
                _INVALID,
                f"Value {seconds} for parameter VisibilityTimeout is invalid. Reason: Total "
                "VisibilityTimeout for the message is beyond the limit [43200 seconds]",
            )
        message.visible_at = until
        return {}

    def _change_visibility_batch(self, given: Fields) -> Fields:
        entries: list[Fields] = given["Entries"]
        _check_batch("ChangeMessageVisibilityBatch", entries)
        return _outcomes(self._change_visibility, given["QueueUrl"], entries)

    def _count(self, given: Fields) -> Fields:
        queue, now = self.queue(given["QueueUrl"]), self._now()
        hidden = [each for each in queue.messages if now < each.visible_at]
        in_flight = sum(each.is_in_flight(now) for each in hidden)
        counts = {
            "ApproximateNumberOfMessages": len(queue.messages) - len(hidden),
            "ApproximateNumberOfMessagesNotVisible": in_flight,
            "ApproximateNumberOfMessagesDelayed": len(hidden) - in_flight,
        }
        asked = given.get("AttributeNames", ())
        shown = {name: str(number) for name, number in counts.items() if _is_asked(name, asked)}
        return {"Attributes": shown}

    def _next(self) -> int:
        self._numbers += 1
        return self._numbers


def _taken(queue: StoredQueue, now: datetime, most: int) -> list[StoredMessage]:
    """What a receive finds; what was received too often moves on instead."""
    held = {each.group for each in queue.messages if each.is_in_flight(now)}
    ready = [
        each
        for each in queue.messages
        if each.visible_at <= now and not (queue.is_fifo and each.group in held)
    ]
    if queue.dead is not None:
        for each in [one for one in ready if one.count >= queue.most_receives]:
            queue.messages.remove(each)
            ready.remove(each)
            each.receipt = None
            queue.dead.messages.append(each)
    return ready[:most]


def _told(message: StoredMessage, given: Fields) -> Fields:
    """A message as a receive answers it, with the attributes that were asked for."""
    asked = (*given.get("MessageSystemAttributeNames", ()), *given.get("AttributeNames", ()))
    system = {
        "ApproximateReceiveCount": str(message.count),
        "SentTimestamp": str(int(message.sent_at.timestamp() * 1_000)),
        "MessageGroupId": message.group,
        "MessageDeduplicationId": message.deduplication,
        "SequenceNumber": message.sequence if message.deduplication is not None else None,
    }
    named = given.get("MessageAttributeNames", ())
    parts = {
        "Attributes": {
            name: value
            for name, value in system.items()
            if value is not None and _is_asked(name, asked)
        },
        "MessageAttributes": {
            name: dict(value)
            for name, value in message.attributes.items()
            if _is_asked(name, named)
        },
    }
    return {
        "MessageId": message.id,
        "ReceiptHandle": message.receipt,
        "MD5OfBody": _md5(message.body),
        "Body": message.body,
        **{name: part for name, part in parts.items() if part},
    }


def _is_asked(name: str, asked: tuple[str, ...] | list[str]) -> bool:
    return name in asked or "All" in asked


def _of_receipt(queue: StoredQueue, receipt: str, operation: str) -> StoredMessage:
    found = queue.receipts.get(receipt)
    if found is None:
        message = f'The input receipt handle "{receipt}" is not a valid receipt handle.'
        raise client_error(operation, 404, "ReceiptHandleIsInvalid", message)
    return found


def _outcomes(do: Answer, url: str, entries: list[Fields]) -> Fields:
    """A batch: each of its entries succeeds or fails by itself."""
    outcomes: dict[str, list[Fields]] = {"Successful": [], "Failed": []}
    for entry in entries:
        given = {name: value for name, value in entry.items() if name != "Id"}
        try:
            outcomes["Successful"].append({"Id": entry["Id"], **do({"QueueUrl": url, **given})})
        except ClientError as error:
            told = error.response["Error"]
            outcomes["Failed"].append({"Id": entry["Id"], "SenderFault": True, **told})
    return {name: found for name, found in outcomes.items() if found}


def _check_sent(queue: StoredQueue, given: Fields) -> None:
    needed = ["MessageBody", *(["MessageGroupId", "MessageDeduplicationId"] * queue.is_fifo)]
    for name in needed:
        if not given.get(name):
            message = f"The request must contain the parameter {name}."
            raise client_error("SendMessage", 400, _MISSING, message)
    if _size(given) > MOST_BYTES:
        message = f"Reason: Message must be shorter than {MOST_BYTES} bytes."
        raise client_error("SendMessage", 400, _INVALID, f"A parameter is invalid. {message}")
    delay = given.get("DelaySeconds", 0)
    if delay and queue.is_fifo:
        why = "The request include parameter that is not valid for this queue type"
        message = f"Value {delay} for parameter DelaySeconds is invalid. Reason: {why}"
        raise client_error("SendMessage", 400, _INVALID, message)
    _check_range("SendMessage", "DelaySeconds", delay, 0, MOST_DELAY_SECONDS)


def _check_batch(operation: str, entries: list[Fields]) -> None:
    code = ""
    if not entries:
        code = "EmptyBatchRequest"
    elif len(entries) > MOST_AT_ONCE:
        code = "TooManyEntriesInBatchRequest"
    elif len({entry["Id"] for entry in entries}) < len(entries):
        code = "BatchEntryIdsNotDistinct"
    if code:
        raise client_error(operation, 400, f"{_OF_SQS}.{code}", code)


def _check_visibility(operation: str, seconds: int) -> None:
    longest = int(LONGEST_VISIBILITY.total_seconds())
    _check_range(operation, "VisibilityTimeout", seconds, 0, longest)


def _check_range(operation: str, name: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        why = f"Reason: Must be between {least} and {most}, if provided."
        message = f"Value {value} for parameter {name} is invalid. {why}"
        raise client_error(operation, 400, _INVALID, message)


def _refused(operation: str, receipt: str, why: str) -> ClientError:
    message = f"Value {receipt} for parameter ReceiptHandle is invalid. Reason: {why}"
    return client_error(operation, 400, _INVALID, message)


def _size(given: Fields) -> int:
    parts = [given["MessageBody"]]
    for name, value in given.get("MessageAttributes", {}).items():
        parts += [name, value["DataType"], value.get("StringValue", "")]
    return sum(len(part) if part.isascii() else len(part.encode()) for part in parts)


def _md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
