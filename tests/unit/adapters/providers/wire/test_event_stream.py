"""AWS's event stream: read as botocore reads it, however it was cut."""

import json
from itertools import pairwise
from pathlib import Path

import pytest
from botocore.eventstream import EventStreamBuffer
from hypothesis import given
from hypothesis import strategies as st

from opencrab.adapters.providers.wire.event_stream import event_stream_frames
from opencrab.adapters.providers.wire.framing import wire_stream_frames
from opencrab.adapters.providers.wire.wire import StreamFrame
from opencrab.domain.models.fault import Fault, ModelCallFailed
from tests.unit.adapters.providers.event_stream import event_message, event_stream, raw_message
from tests.unit.adapters.providers.recorded import exchanges

SAID = [("messageStart", {"role": "assistant"}), ("contentBlockDelta", {"delta": {"text": "蟹🦀"}})]
STREAM = event_stream(*SAID)


def _botocore(stream: bytes) -> list[StreamFrame]:
    buffer = EventStreamBuffer()
    buffer.add_data(stream)
    return [
        StreamFrame(
            message.payload.decode(),
            message.headers.get(":event-type") or message.headers[":exception-type"],
        )
        for message in buffer
    ]


def test_every_recorded_stream_is_read_as_botocore_reads_it(wire: Path) -> None:
    read = 0
    for exchange in exchanges(wire, "bedrock", "stream"):
        if exchange.is_stream:
            found = list(wire_stream_frames([exchange.body], "aws"))
            assert found == _botocore(exchange.body), exchange.name
            read += len(found)
    assert read > 100


@given(
    st.dictionaries(st.text("ab:-蟹🦀", min_size=1, max_size=40), st.text(max_size=90), max_size=4),
    st.binary(max_size=200),
)
def test_any_message_is_read_as_botocore_reads_it(headers: dict[str, str], payload: bytes) -> None:
    stream = raw_message({**headers, ":message-type": "event", ":event-type": "x"}, payload)
    buffer = EventStreamBuffer()
    buffer.add_data(stream)
    (theirs,) = list(buffer)
    (ours,) = event_stream_frames([stream])
    assert ours.name == theirs.headers[":event-type"]
    assert ours.data == (theirs.payload.decode("utf-8", "replace") or "{}")


@given(st.lists(st.integers(0, len(STREAM)), max_size=6))
def test_a_stream_may_arrive_in_any_pieces(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(STREAM)]
    pieces = [STREAM[start:end] for start, end in pairwise(places)]
    found = [(frame.name, json.loads(frame.data)) for frame in event_stream_frames(pieces)]
    assert found == SAID


@given(st.integers(0, len(STREAM) - 1))
def test_a_last_message_that_was_cut_is_dropped(end: int) -> None:
    assert len(list(event_stream_frames([STREAM[:end]]))) < len(SAID)


def test_a_byte_that_was_changed_is_never_read_as_if_nothing_were() -> None:
    whole = event_message(*SAID[0])
    for place in range(len(whole)):
        broken = bytearray(whole)
        broken[place] ^= 0x20
        with pytest.raises(ModelCallFailed) as caught:
            list(event_stream_frames([bytes(broken)]))
        assert (place, caught.value.fault) == (place, Fault.NONSENSE)


def test_an_error_outside_the_model_of_the_service_has_its_code() -> None:
    headers = {
        ":message-type": "error",
        ":error-code": "InternalFailure",
        ":error-message": "だめです",
    }
    (frame,) = event_stream_frames([raw_message(headers, b"")])
    assert (frame.name, json.loads(frame.data)) == ("InternalFailure", {"message": "だめです"})
