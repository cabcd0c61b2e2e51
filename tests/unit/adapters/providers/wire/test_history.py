"""History: whatever came of its calls, each is answered right after it and only once."""

from hypothesis import given
from hypothesis import strategies as st

from opencrab.adapters.providers.wire.history import pair_wire_calls_with_results
from opencrab.domain.turn.record import ActionCall
from opencrab.ports.models.model import CallReturn, ChatMessage

IDS = st.sampled_from(["a", "b", "c"])
CALLS = st.lists(IDS.map(lambda each: ActionCall(id=each, name="ws_蟹", arguments={})), max_size=3)
TURNS = st.lists(
    IDS.map(lambda each: CallReturn(each, "ws_蟹", "はい"))
    | CALLS.map(lambda calls: ChatMessage("assistant", "", calls=tuple(calls)))
    | st.just(ChatMessage("user", "次")),
    max_size=12,
)


@given(TURNS)
def test_each_call_is_answered_right_after_it(turns: list[ChatMessage | CallReturn]) -> None:
    open_ids: list[str] = []
    for turn in pair_wire_calls_with_results(turns):
        if isinstance(turn, CallReturn):
            open_ids.remove(turn.call_id)
        else:
            assert open_ids == []
            open_ids = [call.id for call in turn.calls]
    assert open_ids == []


@given(TURNS)
def test_nothing_that_was_said_is_lost(turns: list[ChatMessage | CallReturn]) -> None:
    found = list(pair_wire_calls_with_results(turns))
    assert [turn for turn in turns if isinstance(turn, ChatMessage)] == [
        turn for turn in found if isinstance(turn, ChatMessage) and not turn.text.startswith("[")
    ]
    told = sum(1 for turn in turns if isinstance(turn, CallReturn))
    words = (turn.content if isinstance(turn, CallReturn) else turn.text for turn in found)
    assert sum("はい" in text for text in words) == told


@given(TURNS)
def test_what_was_sent_before_the_last_turn_stays_as_it_was(
    turns: list[ChatMessage | CallReturn],
) -> None:
    whole, ended = (
        list(pair_wire_calls_with_results([*turns, ChatMessage("user", "次")])),
        list(pair_wire_calls_with_results(turns)),
    )
    assert whole[: len(ended)] == ended
