"""Framing: the same frames however the bytes were cut, and no error lost between them."""

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.adapters.providers.wire.framing import BARE, LINE_BYTES, wire_stream_frames
from opencrab.adapters.providers.wire.wire import Framing, StreamFrame
from opencrab.domain.models.fault import Fault, ModelCallFailed

FIELDS = ("data: ", "data:", "data", "event: ", ": ", "id: 1", "retry: 3", "蟹🦀", "{", "}", ",")
ENDS = ("\n", "\r", "\r\n", "\n\n", "\r\n\r\n", "\ufeff", " ", "", '{"error": "混雑"}', "[DONE]")
STREAM = st.lists(st.sampled_from(FIELDS + ENDS)).map(lambda parts: "".join(parts).encode())


def _framed(*chunks: bytes, kind: Framing = "sse") -> list[StreamFrame]:
    return list(wire_stream_frames(chunks, kind))


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        ("data: 蟹\n\n", [StreamFrame("蟹")]),
        ("data:蟹\r\rdata:  two\r\n\r\n", [StreamFrame("蟹"), StreamFrame(" two")]),
        ("event: ping\ndata: {}\n\ndata: x\n\n", [StreamFrame("{}", "ping"), StreamFrame("x")]),
        ("data: one\ndata: two\ndata\n\n", [StreamFrame("one\ntwo\n")]),
        ("\ufeffdata: x\n\n", [StreamFrame("x")]),
        (": OPENROUTER PROCESSING\n\ndata: x\n: hm\n\n", [StreamFrame("x")]),
        ("id: 1\nretry: 3\nfoo: bar\nfoo\ndata: x\n\n", [StreamFrame("x")]),
        ("data: [DONE]\n\n", [StreamFrame("[DONE]")]),
        ("data: x\n\ndata: dropped\n", [StreamFrame("x")]),
        ("data: dropped", []),
        (
            'data: x\n\nevent: end\ndata: {"蟹": 1}',
            [StreamFrame("x"), StreamFrame('{"蟹": 1}', "end")],
        ),
        ("data: [1]\n", [StreamFrame("[1]")]),
        ('data: {"蟹":', []),
        ("data: 12", []),
        ("event: lonely\n\ndata: x\n\n", [StreamFrame("x")]),
        ("data:\n\ndata: \n\n", []),
        ("", []),
        ("\n\n\r\n", []),
    ],
)
def test_server_sent_events_are_read_as_the_standard_says(
    stream: str, expected: list[StreamFrame]
) -> None:
    assert _framed(stream.encode()) == expected


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        ('{"a":"蟹"}\n{"b":2}\n', ['{"a":"蟹"}', '{"b":2}']),
        ('\ufeff{"a":1}\r\n\r\n \n{"b":2}', ['{"a":1}', '{"b":2}']),
        ('{"a":1}\n{"b":', ['{"a":1}']),
        ('{"a":1}\n<html>', ['{"a":1}', "<html>"]),
        ('{"a":1}\n{"b":\n', ['{"a":1}', '{"b":']),
        ("", []),
    ],
)
def test_lines_of_json_are_frames_and_blank_lines_are_none(
    stream: str, expected: list[str]
) -> None:
    assert _framed(stream.encode(), kind="ndjson") == [StreamFrame(text) for text in expected]


@pytest.mark.parametrize(
    "error",
    [
        '{"error": {"code": 503}}', '{\n  "error": {\n    "code": 503,\n    "data": 1\n  }\n}\n',
        '[{\r\n  "error": {"message": "混雑"}\r\n}\r\n]\r\n', ',\n{"error": "x"}\n\n', ' {"a": []}',
    ],
)  # fmt: skip
@pytest.mark.parametrize("before", ["", "data: 1\n\n", "data: 1\n\n: hm\n\n"])
@pytest.mark.parametrize("after", ["", "\ndata: 2\n\n"])
def test_json_outside_any_field_is_kept(before: str, error: str, after: str) -> None:
    found = _framed((before + error + after).encode())
    (bare,) = (event for event in found if event.name == BARE)
    assert json.loads(bare.data) == json.loads(error.lstrip(",\n "))
    assert [event.data for event in found if event.name != BARE] == [
        *(["1"] if before else []),
        *(["2"] if after else []),
    ]


@pytest.mark.parametrize("half", ['{"error": {"code"', "{", "[" * 200_000, "{oops}"])
def test_json_that_is_cut_is_no_frame(half: str) -> None:
    assert _framed(b"data: 1\n\n", half.encode()) == [StreamFrame("1")]


@given(STREAM, st.data(), st.sampled_from(["sse", "ndjson"]))
def test_where_the_bytes_are_cut_makes_no_difference(
    stream: bytes, data: st.DataObject, kind: Framing
) -> None:
    places = sorted(data.draw(st.lists(st.integers(0, len(stream)))))
    edges = [0, *places, len(stream)]
    cut = [stream[start:end] for start, end in pairwise(edges)]
    assert list(wire_stream_frames(cut, kind)) == list(wire_stream_frames([stream], kind))


@given(st.binary(), st.sampled_from(["sse", "ndjson"]))
def test_byte_for_byte_is_the_same_as_at_once(stream: bytes, kind: Framing) -> None:
    single = [stream[place : place + 1] for place in range(len(stream))]
    assert list(wire_stream_frames(single, kind)) == list(wire_stream_frames([stream], kind))


@pytest.mark.parametrize("kind", ["sse", "ndjson"])
def test_an_empty_piece_between_both_halves_of_a_line_end_changes_nothing(kind: Framing) -> None:
    pieces = (b'data: {"a":\r', b"", b"\ndata: 1}\r", b"", b"\n\r", b"", b"\n")
    assert _framed(*pieces, kind=kind) == _framed(b"".join(pieces), kind=kind)
    assert len(_framed(b"data: 1\r", b"", b"\ndata: 2\r\n\r\n")) == 1


def test_frames_come_as_soon_as_they_are_whole() -> None:
    taken: list[int] = []

    def chunks() -> Iterator[bytes]:
        for number in range(3):
            taken.append(number)
            yield f"data: {number}\n\n".encode()

    found = wire_stream_frames(chunks(), "sse")
    assert next(found) == StreamFrame("0")
    assert taken == [0]


@pytest.mark.parametrize("kind", ["sse", "ndjson"])
@pytest.mark.parametrize("end", [b"", b"\n\n"])
def test_a_line_without_end_is_given_up(kind: Framing, end: bytes) -> None:
    block = b"x" * 65_536
    blocks = [block] * (LINE_BYTES // len(block))
    with pytest.raises(ModelCallFailed, match=f"more than {LINE_BYTES} bytes") as caught:
        _framed(*blocks, b"x", end, kind=kind)
    assert caught.value.fault is Fault.NONSENSE


def test_the_longest_line_is_read() -> None:
    (event,) = _framed(b"data:" + b"x" * (LINE_BYTES - 5), b"\r", b"\n\n")
    assert len(event.data) == LINE_BYTES - 5


def test_an_error_recorded_in_mid_stream_is_found(wire: Path) -> None:
    folder = wire / "cassettes" / "vendor-fixtures" / "google-firebase"
    recorded = (folder / "vertexai-streaming-failure-error-mid-stream.txt").read_bytes()
    *frames, last = _framed(recorded)
    assert all("candidates" in json.loads(event.data) for event in frames)
    assert len(frames) == 2
    assert (last.name, json.loads(last.data)["error"]["code"]) == (BARE, 499)
