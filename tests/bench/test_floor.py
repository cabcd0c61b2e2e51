"""A turn is measured beside the floor, pair by pair, with all that its process does in between."""

from typing import Any

from tests.bench import stub
from tests.bench.floor import beside_floor


class Clock:
    """A process that uses 7 ms in each turn, and 2 more after its answer."""

    def __init__(self) -> None:
        self.used, self.order = 0.0, list[str]()

    def floor(self) -> None:
        self.order.append("floor")
        self.used += 2

    def turn(self) -> None:
        self.order.append("turn")
        self.used += 7

    def other(self) -> None:
        self.order.append("other")
        self.used += 3

    def read(self) -> float:
        return self.used


def test_floor_and_turn_alternate_and_what_a_server_does_after_its_answer_counts() -> None:
    clock = Clock()
    first, second = beside_floor(clock.floor, clock.turn, clock.other, turns=4, cpu=clock.read)
    assert clock.order == ["floor", "turn", "other"] * (len(clock.order) // 3)
    assert (first.turn_ms, second.turn_ms) == (9, 3)


def test_the_stub_names_the_action_that_the_request_offers() -> None:
    for offers, name in (("write_file", "write_file"), ("anything", "ws_write")):
        offered = [{"type": "function", "function": {"name": offers}}]
        said: Any = stub.answer(
            {"messages": [{"role": "user", "content": "メモ"}], "tools": offered}
        )
        assert said["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == name


def test_a_stream_says_the_same_as_the_whole_answer() -> None:
    said = stub.answer({"messages": [{"role": "tool", "content": "{}"}]})
    stream = stub.streamed(said, 3).decode()
    assert stream.endswith("data: [DONE]\n\n")
    assert stream.count("data: ") == 1 + 3 + 1 + 1
