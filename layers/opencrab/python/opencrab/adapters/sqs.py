"""Queues on Amazon SQS: FIFO for turns and deliveries, standard where order does not matter.

On a standard queue SQS promises neither order nor once, and deduplication ids do not exist; it
suits work whose repetition is harmless, such as due items.
"""

import hashlib
import json
import math
import re
import secrets
import time
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from opencrab.adapters.aws_client import (
    AWS_ERRORS,
    aws_error_code,
    aws_error_text,
    aws_unavailable_error,
)
from opencrab.domain.errors import Invalid, OpenCrabError, TooLarge, Unavailable
from opencrab.ports.turn.queue import BatchedMessage, Delivery, require_turn_queue_delay

MOVED_BY_SQS = "received too often"
"""The reason of dead letters that SQS moved by itself: it writes none."""

LONGEST_VISIBILITY_SECONDS = 43_200

_POLL_SECONDS = 5
"""SQS would wait for 20 seconds, but a client gives up on an answer that takes longer than 10."""

_PEEK_SECONDS = 30
_MOST_PEEKED = 500
_BATCH = 10
_FIFO = ".fifo"
_GROUP = "group"
_REASON = "reason"
_LEGAL_ID = re.compile(r"[!-~]{1,128}")
_REFUSED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_GONE = frozenset({"ReceiptHandleIsInvalid", "MessageNotInflight"})
_MISSING = frozenset({"NonExistentQueue", "QueueDoesNotExist"})


class SqsQueue:
    """`ports.turn.queue.Queue` on an SQS queue and its dead-letter queue; FIFO by URL suffix.

    Errors that an operator can fix (a missing permission or queue) are Unavailable: work then
    waits, while Refused and NotFound would drop it.
    """

    def __init__(self, client: Any, url: str, dead_url: str) -> None:
        self._client = client
        self._url = url
        self._dead_url = dead_url

    def send(self, body: str, *, group: str, deduplication: str, delay_seconds: int = 0) -> None:
        self._send(
            self._url, body, group=group, deduplication=deduplication, delay_seconds=delay_seconds
        )

    def send_batch(self, messages: Iterable[BatchedMessage]) -> None:
        waiting = iter(messages)
        while chosen := list(islice(waiting, _BATCH)):
            self._send_ten(chosen)

    def receive(self, *, visibility_seconds: int, wait_seconds: float) -> Delivery | None:
        """Receive a message by long polling; SQS waits whole seconds, so the wait is rounded up."""
        deadline = time.monotonic() + wait_seconds
        while True:
            left = max(deadline - time.monotonic(), 0)
            found = self._received(
                self._url,
                VisibilityTimeout=min(visibility_seconds, LONGEST_VISIBILITY_SECONDS),
                WaitTimeSeconds=min(math.ceil(left), _POLL_SECONDS),
            )
            if found:
                return _delivery(found[0])
            if time.monotonic() >= deadline:
                return None

    def acknowledge(self, receipt: str) -> None:
        try:
            self._client.delete_message(QueueUrl=self._url, ReceiptHandle=receipt)
        except AWS_ERRORS as error:
            if not _is_gone(error):
                raise _translate_error(error, self._url, "sqs:DeleteMessage") from error

    def continue_later(self, receipt: str, seconds: int) -> bool:
        """Change the visibility timeout; SQS redelivers at the latest 12 hours after receipt."""
        try:
            self._client.change_message_visibility(
                QueueUrl=self._url,
                ReceiptHandle=receipt,
                VisibilityTimeout=max(0, min(seconds, LONGEST_VISIBILITY_SECONDS)),
            )
        except AWS_ERRORS as error:
            if _is_gone(error):
                return False
            # Twelve hours from when it was received are the most; it comes again by itself.
            if "Total VisibilityTimeout" in aws_error_text(error):
                return True
            raise _translate_error(error, self._url, "sqs:ChangeMessageVisibility") from error
        return True

    def dead_letter(self, body: str, *, group: str, reason: str) -> None:
        said = _REFUSED.sub("\ufffd", reason) or "no reason was given"
        deduplication = secrets.token_hex(16)
        self._send(self._dead_url, body, group=group, deduplication=deduplication, reason=said)

    def list_dead_letters(self, limit: int) -> tuple[tuple[str, str], ...]:
        """Return dead letters, newest first, by receiving them and making them visible again.

        At most 500 are received; meanwhile nobody else sees them. SQS returns the oldest ten of a
        group, so that a group with more hides its newest.
        """
        letters: list[dict[str, Any]] = []
        try:
            while len(letters) < _MOST_PEEKED:
                found = self._received(
                    self._dead_url, MaxNumberOfMessages=_BATCH, VisibilityTimeout=_PEEK_SECONDS
                )
                if not found:
                    break
                letters.extend(found)
        finally:
            self._give_back(letters)
        newest = sorted(enumerate(letters), key=_age, reverse=True)
        return tuple((letter["Body"], _reason(letter)) for _, letter in newest[:limit])

    def _send(
        self,
        url: str,
        body: str,
        *,
        group: str,
        deduplication: str,
        reason: str | None = None,
        delay_seconds: int = 0,
    ) -> None:
        given = self._given(
            url,
            body,
            group=group,
            deduplication=deduplication,
            reason=reason,
            delay_seconds=delay_seconds,
        )
        try:
            self._client.send_message(QueueUrl=url, **given)
        except AWS_ERRORS as error:
            raise _translate_error(error, url, "sqs:SendMessage") from error

    @staticmethod
    def _given(
        url: str,
        body: str,
        *,
        group: str,
        deduplication: str,
        reason: str | None = None,
        delay_seconds: int = 0,
    ) -> dict[str, Any]:
        """Return the fields of one message; raise Invalid for what SQS would not take."""
        _check(body, url)
        fifo = url.endswith(_FIFO)
        if delay_seconds:
            require_turn_queue_delay(delay_seconds, ordered=fifo)
        given: dict[str, Any] = {"MessageBody": body}
        attributes = {} if reason is None else {_REASON: reason}
        if fifo:
            given["MessageGroupId"] = _legal(group)
            given["MessageDeduplicationId"] = _legal(deduplication)
        elif delay_seconds:
            given["DelaySeconds"] = delay_seconds
        if not fifo or given["MessageGroupId"] != group:
            attributes[_GROUP] = json.dumps(group)
        if attributes:
            given["MessageAttributes"] = {
                name: {"DataType": "String", "StringValue": value}
                for name, value in attributes.items()
            }
        return given

    def _send_ten(self, chosen: list[BatchedMessage]) -> None:
        entries = [
            {
                "Id": str(number),
                **self._given(
                    self._url,
                    each.body,
                    group=each.group,
                    deduplication=each.deduplication,
                    delay_seconds=each.delay_seconds,
                ),
            }
            for number, each in enumerate(chosen)
        ]
        try:
            answer = self._client.send_message_batch(QueueUrl=self._url, Entries=entries)
        except AWS_ERRORS as error:
            raise _translate_error(error, self._url, "sqs:SendMessage") from error
        # Each has an outcome of its own; one that failed is sent alone, and says why.
        for failed in answer.get("Failed", ()):
            each = chosen[int(failed["Id"])]
            self.send(
                each.body,
                group=each.group,
                deduplication=each.deduplication,
                delay_seconds=each.delay_seconds,
            )

    def _received(self, url: str, **given: int) -> list[dict[str, Any]]:
        try:
            answer = self._client.receive_message(
                QueueUrl=url,
                MessageSystemAttributeNames=[
                    "ApproximateReceiveCount",
                    "MessageGroupId",
                    "SentTimestamp",
                ],
                MessageAttributeNames=[_GROUP, _REASON],
                **given,
            )
        except AWS_ERRORS as error:
            raise _translate_error(error, url, "sqs:ReceiveMessage") from error
        found: list[dict[str, Any]] = answer.get("Messages", [])
        return found

    def _give_back(self, letters: list[dict[str, Any]]) -> None:
        for start in range(0, len(letters), _BATCH):
            entries = [
                {"Id": str(number), "ReceiptHandle": each["ReceiptHandle"], "VisibilityTimeout": 0}
                for number, each in enumerate(letters[start : start + _BATCH])
            ]
            try:
                self._client.change_message_visibility_batch(
                    QueueUrl=self._dead_url, Entries=entries
                )
            except AWS_ERRORS as error:
                permission = "sqs:ChangeMessageVisibility"
                raise _translate_error(error, self._dead_url, permission) from error


def _delivery(message: Mapping[str, Any]) -> Delivery:
    attributes = message["Attributes"]
    return Delivery(
        body=message["Body"],
        group=_group(message),
        receipt=message["ReceiptHandle"],
        count=int(attributes["ApproximateReceiveCount"]),
    )


def _group(message: Mapping[str, Any]) -> str:
    """Return the group as it was sent; the id in SQS may be a hash of it."""
    known = str(message["Attributes"].get("MessageGroupId", ""))
    sent = message.get("MessageAttributes", {}).get(_GROUP, {}).get("StringValue", "")
    try:
        named = json.loads(sent)
    except ValueError:
        return known
    return named if isinstance(named, str) else known


def _reason(letter: Mapping[str, Any]) -> str:
    attribute = letter.get("MessageAttributes", {}).get(_REASON, {})
    return str(attribute.get("StringValue", MOVED_BY_SQS))


def _age(letter: tuple[int, Mapping[str, Any]]) -> tuple[int, int]:
    """Return when a letter was sent, then its place in the order of receipt, as sort key."""
    place, message = letter
    return int(message["Attributes"]["SentTimestamp"]), place


def _legal(name: str) -> str:
    """Return a group or deduplication id, or its hash if SQS does not allow its characters."""
    if _LEGAL_ID.fullmatch(name):
        return name
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()


def _check(body: str, url: str) -> None:
    """Raise Invalid for an empty body, or characters that SQS would replace silently."""
    where = f"a message for the queue {_name(url)!r}"
    if not body:
        raise Invalid(f"{where} is empty", cure="send at least one character")
    refused = _REFUSED.search(body)
    if refused:
        raise Invalid(
            f"{where} holds {refused.group()!r}, which SQS does not accept",
            cure="remove control characters and unpaired surrogates",
        )


def _is_gone(error: Exception) -> bool:
    """Check whether a receipt handle is invalid or expired."""
    return aws_error_code(error) in _GONE or "parameter ReceiptHandle is invalid" in aws_error_text(
        error
    )


def _translate_error(error: Exception, url: str, permission: str) -> OpenCrabError:
    what = f"the queue {_name(url)!r}"
    code, text = aws_error_code(error), aws_error_text(error)
    if "must be shorter than" in text:
        return TooLarge(f"a message is too large for {what}", cure="send less than 1 MiB")
    if code == "InvalidMessageContents":
        return Invalid(
            f"a message for {what} holds characters that SQS does not accept",
            cure="leave out control characters",
        )
    if code in _MISSING:
        return Unavailable(
            f"{what} does not exist", cure="deploy the stack again, or correct the queue's URL"
        )
    return aws_unavailable_error(what, error, permissions=permission)


def _name(url: str) -> str:
    return url.rpartition("/")[2]
