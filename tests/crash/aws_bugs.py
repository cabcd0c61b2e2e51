"""Seeded bugs of the adapters on AWS: calls changed on their way, and answers misread."""

from collections.abc import Iterator
from typing import Any

from botocore.exceptions import ClientError

from opencrab.adapters.dynamodb.conversation.session import CountedSession
from opencrab.adapters.dynamodb.table import Cancelled
from opencrab.adapters.dynamodb.turn.journal import DynamoJournal
from tests.crash.aws_state import AwsState
from tests.crash.ground import Answer, Arguments, Calls
from tests.crash.world import Mutation

_CONDITION = "ConditionExpression"


def writes(arguments: Arguments) -> Iterator[tuple[str, str, Arguments]]:
    """Every write of a call, with the key of its item."""
    parts = [part for write in arguments.get("TransactItems", ()) for part in write.values()]
    for part in parts or [arguments]:
        key = part.get("Key") or part.get("Item")
        if key is not None and ("UpdateExpression" in part or "Item" in part):
            yield key["pk"]["S"], key["sk"]["S"], part


def let_hold(part: Arguments, state: AwsState, *attributes: str) -> None:
    """Make the condition on these attributes speak of what is stored."""
    key = part.get("Key") or part["Item"]
    stored = state.item(key["pk"]["S"], key["sk"]["S"])
    names = {name: short for short, name in part.get("ExpressionAttributeNames", {}).items()}
    condition = part.get(_CONDITION, "")
    for attribute in attributes:
        short = names.get(attribute)
        if stored is None or short is None or f"{short} = :" not in condition:
            continue
        value = ":" + condition.split(f"{short} = :")[1].split()[0].strip("()")
        part["ExpressionAttributeValues"] = {
            **part["ExpressionAttributeValues"],
            value: stored[attribute],
        }


def drop_condition(part: Arguments) -> None:
    """Write whatever is there, as if it had been asked for nothing."""
    part.pop(_CONDITION, None)
    change = part.get("UpdateExpression", "")
    for name in ("ExpressionAttributeNames", "ExpressionAttributeValues"):
        left = {key: value for key, value in part.get(name, {}).items() if _speaks(change, key)}
        part.pop(name, None)
        if left:
            part[name] = left


def _speaks(expression: str, placeholder: str) -> bool:
    words = expression.replace(",", " ").replace("(", " ").replace(")", " ").split()
    return placeholder in words


class Rewritten(Mutation):
    """A bug that changes the calls of one service before they are made."""

    service = "dynamodb"

    def calls(self, service: str, right: Calls, state: Any) -> Calls:
        """The wrong calls, where this service is meant."""
        if service != self.service:
            return right
        return lambda operation, arguments: self.wrong(operation, arguments, right, state)

    def wrong(self, operation: str, arguments: Arguments, right: Calls, state: AwsState) -> Answer:
        """What the wrong adapter does."""
        for pk, sk, part in writes(arguments):
            self.change(pk, sk, part, state)
        return right(operation, arguments)

    def change(self, pk: str, sk: str, part: Arguments, state: AwsState) -> None:
        """Change one write."""


class EpochUnchecked(Rewritten):
    """The header is written without the condition on its epoch."""

    name = "header put without the epoch"
    looks = ("sleepers",)
    scenarios = ("text", "long")

    def change(self, pk: str, sk: str, part: Arguments, state: AwsState) -> None:
        if pk.startswith("TURN#") and sk == "H":
            let_hold(part, state, "epoch")


class RecordsReplaced(Rewritten):
    """Neither the header's owner nor the absence of records is a condition."""

    name = "records put without absent()"
    looks = ("sleepers",)
    scenarios = ("write", "long")

    def change(self, pk: str, sk: str, part: Arguments, state: AwsState) -> None:
        if pk.startswith("TURN#") and sk == "H":
            let_hold(part, state, "epoch", "sequence")
        elif pk.startswith("TURN#"):
            drop_condition(part)


class CounterUnchecked(Rewritten):
    """A session's counter is moved whatever it is now, and lines are put over others."""

    name = "session counter not conditional"
    looks = ("stale",)
    scenarios = ("two", "mentored")

    def change(self, pk: str, sk: str, part: Arguments, state: AwsState) -> None:
        if pk.startswith("SESSION#") and sk == "S":
            let_hold(part, state, "version")
        elif pk.startswith("SESSION#"):
            drop_condition(part)


class MarkShared(Rewritten):
    """An utterance is marked as being sent by everybody who wants to send it."""

    name = "mark not exclusive"
    looks = ("sleepers",)
    scenarios = ("plain",)

    def change(self, pk: str, sk: str, part: Arguments, state: AwsState) -> None:
        if pk.startswith("OUT#") and "mark" in part.get("Item", {}):
            drop_condition(part)


class QuotaLate(Rewritten):
    """Bytes are not counted before the object is stored."""

    name = "quota settled after the put"
    looks = ("kills",)
    scenarios = ("write", "long")

    def wrong(self, operation: str, arguments: Arguments, right: Calls, state: AwsState) -> Answer:
        every = arguments.get("TransactItems", ())
        if any("reservations" in write.get("Put", {}).get("Item", {}) for write in every):
            rest = [w for w in every if w.get("Update", {}).get("Key", {}).get("sk") != {"S": "U"}]
            arguments = {**arguments, "TransactItems": rest}
        return right(operation, arguments)


class ClaimInHalves(Rewritten):
    """A turn is claimed by reading its header and putting it back."""

    name = "claim not atomic"
    looks = ("sleepers",)
    scenarios = ("text", "long")

    def wrong(self, operation: str, arguments: Arguments, right: Calls, state: AwsState) -> Answer:
        values = arguments.get("ExpressionAttributeValues", {})
        if operation != "UpdateItem" or not arguments["Key"]["pk"]["S"].startswith("TURN#"):
            return right(operation, arguments)
        table = {"TableName": arguments["TableName"]}
        key = {"Key": arguments["Key"], "ConsistentRead": True}
        item = right("GetItem", table | key)["Item"]
        epoch, deliveries = (int(item[name]["N"]) + 1 for name in ("epoch", "deliveries"))
        receipt = next(value for value in values.values() if len(value.get("S", "")) > 100)
        lease = max(int(value["N"]) for value in values.values() if "N" in value)
        claimed = item | {
            "status": {"S": "running"},
            "epoch": {"N": str(epoch)},
            "deliveries": {"N": str(deliveries)},
            "receipt": receipt,
            "lease_until": {"N": str(lease)},
        }
        right("PutItem", table | {"Item": claimed})
        return {"Attributes": claimed}


class ConflictTakenForDone(Rewritten):
    """A conflict with another transaction passes for success."""

    name = "conflict taken for success"
    looks = ("conflicts",)
    scenarios = ("text", "write")

    def wrong(self, operation: str, arguments: Arguments, right: Calls, state: AwsState) -> Answer:
        try:
            return right(operation, arguments)
        except ClientError as error:
            if operation == "TransactWriteItems" and "Conflict" in str(
                getattr(error, "cancellation_reasons", "")
            ):
                return {}
            raise


class RecordsReadCheaply(Rewritten):
    """A turn's records are read from a replica that may be behind."""

    name = "records read from a lagging replica"
    looks = ("lags",)
    scenarios = ("write", "long")

    def wrong(self, operation: str, arguments: Arguments, right: Calls, state: AwsState) -> Answer:
        values = arguments.get("ExpressionAttributeValues", {}).values()
        if operation == "Query" and any(str(v.get("S", "")).startswith("TURN#") for v in values):
            arguments = {**arguments, "ConsistentRead": False}
        return right(operation, arguments)


class ObjectUnconditional(Rewritten):
    """An object is stored whatever is there now."""

    name = "object put without condition"
    looks = ("sleepers", "echoes")
    service = "s3"
    scenarios = ("write", "long")

    def wrong(self, operation: str, arguments: Arguments, right: Calls, state: AwsState) -> Answer:
        kept = {k: v for k, v in arguments.items() if k not in {"IfMatch", "IfNoneMatch"}}
        return right(operation, kept)


class GuessKept(Mutation):
    """A wrong guess of a session's counter is not corrected."""

    name = "sequence guess not corrected"
    looks = ("stale",)
    scenarios = ("two", "mentored")

    class _Journal(DynamoJournal):
        def _corrected(self, refusal: Cancelled, place: int, session_id: str) -> CountedSession:
            return self._known(session_id)

    def journal(self) -> type[Any] | None:
        """The journal that keeps its guess."""
        return self._Journal


AWS_MUTATIONS: tuple[Mutation, ...] = (
    EpochUnchecked(),
    RecordsReplaced(),
    CounterUnchecked(),
    MarkShared(),
    QuotaLate(),
    ClaimInHalves(),
    ConflictTakenForDone(),
    RecordsReadCheaply(),
    ObjectUnconditional(),
    GuessKept(),
)
