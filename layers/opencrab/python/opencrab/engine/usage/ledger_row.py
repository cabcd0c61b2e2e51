"""Usage: the ledger's row for a model call, made of its intent and its result."""

from datetime import datetime

from opencrab.domain.money.budget import Usage
from opencrab.domain.turn.record import CallState, ModelIntent, ModelResult
from opencrab.domain.turn.turn import Turn
from opencrab.domain.usage.ledger import UsageRow


def usage_row(
    turn: Turn, intent: ModelIntent, result: ModelResult, at: datetime, *, opens: bool = False
) -> UsageRow:
    """The row of a call that has ended: at the time that its result tells, else at the given one.

    So its id is known before it is written, whoever writes it. `opens` is whether the agent begins
    a session with it.
    """
    provider, _, model = intent.model.partition(":")
    answer = result.answer
    return UsageRow(
        agent_id=turn.agent_id,
        session_id=turn.session_id,
        turn_id=turn.id,
        n=intent.n,
        at=result.at or at,
        trigger=turn.trigger,
        provider=provider,
        model=model,
        purpose=intent.purpose,
        task_type=intent.task_type,
        complexity=intent.complexity,
        tier=intent.tier,
        chosen_by=intent.chosen_by,
        state=result.state,
        fault=result.fault,
        usage=answer.usage if answer else result.usage or Usage(),
        reserved=intent.reserved,
        cost=result.cost,
        price=intent.price,
        latency_ms=None if result.state is CallState.UNKNOWN else result.latency_ms,
        first_token_ms=answer.first_token_ms if answer else None,
        opens=opens,
    )


def unknown(intent: ModelIntent) -> ModelResult:
    """The result of a call whose worker died: perhaps it was billed, so it cost all it could."""
    return ModelResult(n=intent.n, state=CallState.UNKNOWN, cost=intent.reserved)
