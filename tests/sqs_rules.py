"""What Amazon SQS promises of FIFO queues and moto leaves out.

Each rule is AWS's documented behaviour; everything else is left to moto:

- a deduplication id stays known for five minutes, also after its message was received and
  deleted (moto looks only at messages that are still in the queue);
- a receipt counts only while its message is in flight by it: once visibility has ended or a newer
  receipt was given out, DeleteMessage and ChangeMessageVisibility refuse it (moto lets every
  receipt that a message ever had delete it, even from another worker's hands);
- a receive that waits ends in time (moto waits by the clock that stands still, so for ever): it
  is asked to answer at once, a moment later, and the adapter asks again until its wait is over;
- several messages of one group that are given back for right now are there right now (moto counts
  them as in flight until its clock moves, and then hands out the last first): moto is asked to
  have given them back a second ago.
"""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from botocore.awsrequest import AWSPreparedRequest, AWSResponse

from tests.aws_faults import error_response, response_of

KNOWN_FOR = timedelta(minutes=5)
DEFAULT_VISIBILITY_SECONDS = 30
_MOMENT_SECONDS = 0.01

Answer = Callable[[str, AWSPreparedRequest], AWSResponse | None]


@dataclass
class _InFlight:
    message: str
    until: datetime


class SqsRules:
    """The rules, and what has to be remembered for them."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._sent: dict[tuple[str, str], tuple[datetime, bytes]] = {}
        self._receipts: dict[str, _InFlight] = {}
        self._newest: dict[str, str] = {}
        self._deleted: set[str] = set()

    @contextmanager
    def waiting(self, event_name: str, request: AWSPreparedRequest) -> Iterator[None]:
        """Outside of any lock: let others act in the meantime, then ask without a wait."""
        if event_name.endswith(".sqs.ReceiveMessage"):
            asked = json.loads(request.body)
            if asked.get("WaitTimeSeconds"):
                threading.Event().wait(_MOMENT_SECONDS)
                asked["WaitTimeSeconds"] = 0
                request.body = json.dumps(asked).encode()
        yield

    def answer(
        self, event_name: str, request: AWSPreparedRequest, ask: Answer
    ) -> AWSResponse | None:
        """What SQS answers; `ask` is moto."""
        _, service, operation = f"{event_name}..".split(".")[:3]
        asked = json.loads(request.body) if service == "sqs" else {}
        if not str(asked.get("QueueUrl", "")).endswith(".fifo"):
            return ask(event_name, request)
        if operation == "ChangeMessageVisibilityBatch":
            for entry in asked["Entries"]:
                entry["VisibilityTimeout"] = entry["VisibilityTimeout"] or -1
            request.body = json.dumps(asked).encode()
        if operation == "SendMessage":
            return self._send(asked, event_name, request, ask)
        if operation in {"DeleteMessage", "ChangeMessageVisibility"}:
            refusal = self._refusal(operation, asked["ReceiptHandle"])
            if refusal is not None:
                return _refused(request, refusal)
        response = ask(event_name, request)
        if response is not None and response.status_code == 200:
            self._note(operation, asked, response)
        return response

    def _send(
        self, asked: dict[str, Any], event_name: str, request: AWSPreparedRequest, ask: Answer
    ) -> AWSResponse | None:
        key = (asked["QueueUrl"], asked.get("MessageDeduplicationId", ""))
        until, content = self._sent.get(key, (self._now(), b""))
        if self._now() < until:
            return response_of(request, 200, content)
        response = ask(event_name, request)
        if response is not None and response.status_code == 200:
            self._sent[key] = (self._now() + KNOWN_FOR, response.content)
        return response

    def _refusal(self, operation: str, receipt: str) -> str | None:
        held = self._receipts.get(receipt)
        if held is None or (operation == "DeleteMessage" and held.message in self._deleted):
            return None  # moto knows: never given out, or deleted already
        if operation == "ChangeMessageVisibility" and (
            held.message in self._deleted or self._is_over(receipt, held)
        ):
            return "Message does not exist or is not available for visibility timeout change."
        return "The receipt handle has expired" if self._is_over(receipt, held) else None

    def _is_over(self, receipt: str, held: _InFlight) -> bool:
        return self._newest[held.message] != receipt or self._now() >= held.until

    def _note(self, operation: str, asked: dict[str, Any], response: AWSResponse) -> None:
        if operation == "ReceiveMessage":
            seconds = asked.get("VisibilityTimeout", DEFAULT_VISIBILITY_SECONDS)
            for message in json.loads(response.content).get("Messages", []):
                receipt, name = message["ReceiptHandle"], message["MessageId"]
                self._receipts[receipt] = _InFlight(name, self._until(seconds))
                self._newest[name] = receipt
        elif operation == "ChangeMessageVisibility":
            self._receipts[asked["ReceiptHandle"]].until = self._until(asked["VisibilityTimeout"])
        elif operation == "DeleteMessage" and asked["ReceiptHandle"] in self._receipts:
            self._deleted.add(self._receipts[asked["ReceiptHandle"]].message)

    def _until(self, seconds: int) -> datetime:
        return self._now() + timedelta(seconds=seconds)


def _refused(request: AWSPreparedRequest, why: str) -> AWSResponse:
    receipt = json.loads(request.body)["ReceiptHandle"]
    message = f"Value {receipt} for parameter ReceiptHandle is invalid. Reason: {why}"
    return error_response(request, 400, "InvalidParameterValue", message)
