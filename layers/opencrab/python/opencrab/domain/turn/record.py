"""Journal records: the intents and results whose list is a turn's whole state."""

import json
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from opencrab.domain.identifier import content_hash
from opencrab.domain.models.fault import Fault, ModelCallFailed
from opencrab.domain.models.routing import RoutingBasis, Use
from opencrab.domain.money.budget import Price, Usage
from opencrab.domain.turn.action import ActionResult, Effect
from opencrab.domain.value import MicroUsd, Received, Value, is_json_value

_JSON = json.JSONEncoder(ensure_ascii=False)
"""`json.dumps` makes one for each call that has options."""


class CallState(StrEnum):
    """Status of a tool call; started is not finished."""

    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    REFUSED = "refused"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"


class ActionCall(Value):
    """One tool call of the model; `arguments` is None if they could not be parsed.

    Arguments that JSON cannot carry (NaN, half an emoji, endless nesting) count as unparsed: they
    would come back from the store different from those that a human approved, or not at all.
    """

    id: Received
    name: Received
    arguments: dict[str, Any] | None
    raw: Received = ""

    @field_validator("arguments", mode="before")
    @classmethod
    def _unread_unless_json(cls, arguments: Any) -> Any:
        return arguments if is_json_value(arguments) else None

    @cached_property
    def arguments_as_json(self) -> str:
        """The arguments as JSON, made once: each prompt of a turn counts and sends them."""
        return _JSON.encode(self.arguments)

    @property
    def argument_hash(self) -> str:
        """The hash that an approval is bound to: of the name and the exact arguments."""
        canonical = json.dumps(self.arguments, sort_keys=True, ensure_ascii=False)
        return content_hash(f"{self.name}\n{canonical}\n{self.raw}".encode())


TURN_ACTIONS = "client_tools"
"""The key under which metadata and a line's data say that its turns have actions of their own."""

OUTSIDE_PREFIX = "client__"
"""How the actions begin that somebody outside runs: none of ours does, nor one of an MCP server."""

USE_ACTION = "use_action"
"""The action that runs one which is not in the request's list of tools (see `find_actions`)."""


def action_name_of_turn_call(call: ActionCall) -> str:
    """Return the name of the action that a call runs, unwrapped from `use_action`."""
    if call.name != USE_ACTION or call.arguments is None:
        return call.name
    return str(call.arguments.get("name", ""))[:100]


def arguments_of_turn_call(call: ActionCall) -> dict[str, Any] | None:
    """Return the arguments for that action; None if they could not be parsed."""
    if call.name != USE_ACTION or call.arguments is None:
        return call.arguments
    inner = call.arguments.get("arguments", {})
    return inner if isinstance(inner, dict) else None


class Reflection(Value):
    """The agent's view of the situation and its intention; stored, never delivered."""

    judgment: Received = ""
    intent: Received = ""


class ModelAnswer(Value):
    """A model's answer: text, tool calls, or both.

    `replay` is data that its vendor wants back unchanged with the next request of the same turn,
    such as signatures of thoughts; only the vendor's wire code reads it. `first_token_ms` is the
    time to the first text, None if the answer came in one piece. `provider_call_id` is the vendor's
    own id of a call that was ended early, and not stored.
    """

    text: Received = ""
    calls: tuple[ActionCall, ...] = ()
    thought: Reflection | None = None
    memory_update: Received | None = None
    model: Received = ""
    finish: Received = ""
    usage: Usage = Field(default_factory=Usage)
    replay: dict[str, Any] | None = None
    first_token_ms: int | None = None
    provider_call_id: Received = Field(default="", exclude=True)

    def with_turn_call_ids(self, n: int) -> "ModelAnswer":
        """Return the answer with our own call ids, unique in the turn for any provider."""
        calls = tuple(call.replaced(id=f"c{n}_{place}") for place, call in enumerate(self.calls))
        return self.replaced(calls=calls)


class ModelIntent(Value):
    """A model call that is about to be made, with the money reserved for it.

    It has the call's purpose, who chose the model, and the price, so that any worker can settle it.
    The first intent of a turn stores the `basis` of routing for the later ones. `skills` are those
    whose text the model is given, `skills_offered` those listed by name, `skills_held` those that
    fitted and that a trial withheld. `probability` is that of the model's choice.
    """

    kind: Literal["model_intent"] = "model_intent"
    n: int
    model: str
    request_hash: str
    reserved: MicroUsd
    heard: tuple[str, ...] = ()
    purpose: Use = Use.CONVERSATION
    task_type: str = "conversation"
    complexity: float = 0.0
    tier: int = 2
    chosen_by: str = "default"
    probability: float = 1.0
    price: Price | None = None
    basis: RoutingBasis | None = None
    skills: tuple[str, ...] = ()
    skills_offered: tuple[str, ...] = ()
    skills_held: tuple[str, ...] = ()

    def cost_of(self, answer: ModelAnswer) -> MicroUsd:
        """Compute the cost of an answer; without token counts it is the whole reservation.

        The same applies to an answer with text or calls but no output tokens.
        """
        usage = answer.usage
        said = answer.text or answer.calls
        halved = said and usage.output_tokens <= 0 and usage.reported_micro_usd is None
        if self.price is None or not usage.is_counted or halved:
            # Unknown is never cheap: what nobody counted costs what was set aside (ADR 0008).
            return self.reserved
        return self.price.cost(usage)

    def cost_of_failure(self, error: ModelCallFailed) -> MicroUsd:
        """Return the cost of a failed call: by the vendor's counts if there are any.

        Else the reservation if the call may be billed, or 0.
        """
        if error.usage is not None and error.usage.is_counted and self.price is not None:
            return self.price.cost(error.usage)
        return self.reserved if error.may_be_billed else 0


class ModelResult(Value):
    """The end of a model call: answered, failed, or unknown because its worker died.

    `usage` is what the vendor counted for a failed call, and `provider_call_id` the vendor's own id
    of it, which is stored in the ledger's row only, as is `cause`: the fault itself, where `fault`
    says what follows from it.
    """

    kind: Literal["model_result"] = "model_result"
    n: int
    state: CallState
    answer: ModelAnswer | None = None
    error: Received | None = None
    fault: Fault | None = None
    cause: Fault | None = Field(default=None, exclude=True)
    usage: Usage | None = None
    provider_call_id: Received = Field(default="", exclude=True)
    cost: MicroUsd = 0
    latency_ms: int = 0
    at: datetime | None = None

    @classmethod
    def with_unknown_outcome(cls, intent: ModelIntent) -> "ModelResult":
        """Build the result of a call whose worker died; it may be billed, so at full cost."""
        return cls(n=intent.n, state=CallState.UNKNOWN, cost=intent.reserved)


class ActionIntent(Value):
    """A keyed or once action that is about to run; `prepared` is its precondition."""

    kind: Literal["action_intent"] = "action_intent"
    n: int
    call_id: str
    name: str
    effect: Effect
    argument_hash: str
    prepared: dict[str, Any] = Field(default_factory=dict)
    at: datetime | None = None


class CallResult(Value):
    """The end of a tool call; `invalid` if its name or arguments could not be understood."""

    kind: Literal["call_result"] = "call_result"
    n: int
    call_id: str
    name: str
    state: CallState
    result: ActionResult
    ends_turn: bool = False
    invalid: bool = False
    at: datetime | None = None


class ApprovalRequest(Value):
    """A tool call that waits for a human: what it does, what it touches, and its arguments.

    Or it waits for its result, if somebody outside runs it. `targets` are the files that it named
    by something else than their path, as they were found when the human was asked; the decision is
    bound to them.
    """

    kind: Literal["approval_request"] = "approval_request"
    n: int
    call_id: str
    name: str
    argument_hash: str
    what: str
    touches: str
    targets: tuple[str, ...] = Field(default=(), exclude_if=lambda given: not given)
    at: datetime | None = None

    @property
    def wants_result(self) -> bool:
        """True if a result from outside is waited for, which nobody's approval replaces."""
        return self.name.startswith(OUTSIDE_PREFIX)


class ApprovalDecision(Value):
    """A human's decision about one call; there is only one."""

    kind: Literal["approval_decision"] = "approval_decision"
    n: int
    call_id: str
    argument_hash: str
    approved: bool
    by: str
    reason: str = ""


class BlobPointer(Value):
    """A result too large for the journal; its body is stored elsewhere under its hash."""

    kind: Literal["pointer"] = "pointer"
    n: int
    sha256: str
    size: int


Record = Annotated[
    ModelIntent
    | ModelResult
    | ActionIntent
    | CallResult
    | ApprovalRequest
    | ApprovalDecision
    | BlobPointer,
    Field(discriminator="kind"),
]

_LETTERS = {"model_intent": "I", "action_intent": "I", "approval_request": "I"}


def stored_body_of_turn_record(record: Record) -> str:
    """Return a record as stored; those of model calls, which are most, without their defaults."""
    if isinstance(record, ModelIntent | ModelResult):
        return f'{{"kind":"{record.kind}",{record.without_defaults()[1:]}'
    return record.to_stored()


def key_of_turn_record(record: "Record") -> str:
    """Return the key of a record in its turn: number and I (intent) or R (result)."""
    return f"{record.n:04d}{_LETTERS.get(record.kind, 'R')}"
