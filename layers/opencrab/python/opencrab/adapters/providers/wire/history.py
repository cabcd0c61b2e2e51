"""A conversation whose calls are all answered, as servers want it that refuse any other."""

from collections.abc import Iterable, Iterator

from opencrab.domain.turn.record import ActionCall
from opencrab.ports.models.model import CallReturn, ChatMessage

_NO_RESULT = "no result is known"


def pair_wire_calls_with_results(
    turns: Iterable[ChatMessage | CallReturn],
) -> Iterator[ChatMessage | CallReturn]:
    """Yield the turns, with a result right after each tool call.

    A call without a result gets one that says so; a result without a call becomes a user message.
    """
    waiting: list[ActionCall] = []
    strays: list[CallReturn] = []
    for turn in turns:
        if isinstance(turn, ChatMessage):
            if waiting or strays:
                yield from _repair_unpaired_calls(waiting, strays)
                strays = []
            waiting = list(turn.calls)
            yield turn
        elif call := next((call for call in waiting if call.id == turn.call_id), None):
            waiting.remove(call)
            yield turn
        else:
            strays.append(turn)
    yield from _repair_unpaired_calls(waiting, strays)


def _repair_unpaired_calls(
    waiting: list[ActionCall], strays: list[CallReturn]
) -> Iterator[ChatMessage | CallReturn]:
    for call in waiting:
        yield CallReturn(call.id, call.name, _NO_RESULT)
    for stray in strays:
        yield ChatMessage("user", f"[{stray.name} → {stray.content}]")
