"""An answer that is drawn while it arrives: all of it, its end if it is long, and nothing after."""

import io
import json
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from rich.console import Console

from opencrab.gateways.cli.conversation.live_answer import LiveAnswer
from opencrab.gateways.cli.terminal.options import Options
from opencrab.gateways.cli.terminal.terminal import Terminal
from tests.contract.waiting import eventually

WAITING = "Ada is thinking"


class Window(io.StringIO):
    """A terminal's window that keeps all that was drawn."""

    def isatty(self) -> bool:
        return True


class Stream(httpx.SyncByteStream):
    """Server-sent events that a test sends one by one."""

    def __init__(self) -> None:
        self._sent: list[bytes] = []
        self._news = threading.Condition()

    def send(self, text: str, **changes: Any) -> None:
        said = {"turn_id": "t1", "agent_id": "a", "call": 1, "starts_over": False, "ended": False}
        self.put({**said, "text": text, **changes})

    def put(self, data: dict[str, Any]) -> None:
        with self._news:
            self._sent.append(f"event: answer\ndata: {json.dumps(data)}\n\n".encode())
            self._news.notify()

    def __iter__(self) -> Iterator[bytes]:
        while True:
            with self._news:
                self._news.wait_for(lambda: bool(self._sent))
                yield self._sent.pop(0)


@pytest.fixture
def stream() -> Stream:
    return Stream()


@pytest.fixture
def terminal(stream: Stream) -> Terminal:
    def answer(request: httpx.Request) -> httpx.Response:
        assert request.url.path == "/api/sessions/s1/events"
        return httpx.Response(200, stream=stream, headers={"content-type": "text/event-stream"})

    options = Options(url="http://house", key="k", transport=httpx.MockTransport(answer))
    made = Terminal(options, out=Window())
    object.__setattr__(
        made, "console", Console(file=made.out, width=40, height=10, force_terminal=True)
    )
    return made


def shown(terminal: Terminal) -> str:
    assert isinstance(terminal.out, Window)
    return terminal.out.getvalue()


@pytest.mark.parametrize("words", [("Good ", "morning"), ("おはよう", "ございます🦀")])
def test_the_words_are_drawn_while_somebody_waits(
    terminal: Terminal, stream: Stream, words: tuple[str, str]
) -> None:
    live = LiveAnswer(terminal, "s1")
    with live.shown(WAITING):
        for word in words:
            stream.send(word)
        eventually(lambda: "".join(words) in shown(terminal), expected=True)
    assert WAITING in shown(terminal)
    live.close()


def test_of_a_long_answer_the_window_shows_the_end(terminal: Terminal, stream: Stream) -> None:
    live = LiveAnswer(terminal, "s1")
    with live.shown(WAITING):
        stream.send("\n".join(f"line {number}." for number in range(200)))
        eventually(lambda: "line 199." in shown(terminal), expected=True)
    assert "line 5." not in shown(terminal)
    live.close()


def test_words_whose_line_was_drawn_are_not_shown_again(terminal: Terminal, stream: Stream) -> None:
    live = LiveAnswer(terminal, "s1")
    with live.shown(WAITING):
        stream.send("Hello")
        eventually(lambda: "Hello" in shown(terminal), expected=True)
    live.forget("t1")
    before = shown(terminal).count("Hello")
    with live.shown(WAITING):
        pass
    assert shown(terminal).count("Hello") == before
    live.close()


def test_words_that_start_over_replace_those_before(terminal: Terminal, stream: Stream) -> None:
    live = LiveAnswer(terminal, "s1")
    with live.shown(WAITING):
        stream.send("I should greet")
        eventually(lambda: "I should greet" in shown(terminal), expected=True)
        before = shown(terminal).count("greet")
        stream.send("Hello", starts_over=True)
        eventually(lambda: "Hello" in shown(terminal), expected=True)
        assert shown(terminal).count("greet") - before <= 1
    live.close()


def test_control_characters_of_a_model_do_not_reach_the_terminal(
    terminal: Terminal, stream: Stream
) -> None:
    live = LiveAnswer(terminal, "s1")
    with live.shown(WAITING):
        stream.send("a\x1b]0;owned\x07b")
        eventually(lambda: "b" in shown(terminal), expected=True)
    assert "\x1b]0;" not in shown(terminal)
    live.close()


@pytest.mark.parametrize("words", ["Read plan.md", "「計画.md」を読む"])
def test_an_action_is_shown_until_it_was_drawn(
    terminal: Terminal, stream: Stream, words: str
) -> None:
    live = LiveAnswer(terminal, "s1")
    live.expect(("t1",))
    data = {"name": "ws_read", "state": "completed"}
    line = {"sequence": 7, "kind": "action", "turn_id": "t1", "summary": words, "data": data}
    with live.shown(WAITING):
        stream.put(line)
        eventually(lambda: f"✓ {words}" in shown(terminal), expected=True)
    live.forget_actions(7)
    before = shown(terminal).count(words)
    with live.shown(WAITING):
        pass
    assert shown(terminal).count(words) == before
    live.close()
