"""A deployed installation while a model speaks: words reach who watches, and a stop ends the call.

The vendor holds back words until they were seen, so that no test depends on how fast anything is.
"""

import json
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, NamedTuple

import pytest
from websockets.sync.client import ClientConnection

from tests.deployed.stack import KEY, Stack
from tests.deployed.test_discord import open_door
from tests.deployed.test_tasks import awaited
from tests.deployed.test_websocket import asked, connected
from tests.deployed.vendor import MODEL, PATIENCE_SECONDS, Vendor
from tests.discord.fake import OTHER_CHANNEL, OWNER, SERVER_CHANNEL, FakeDiscord
from tests.discord.state import Interaction, Place
from tests.unit.gateways.websocket.client import Client

pytest_plugins = ["tests.deployed.fixture"]
pytestmark = [pytest.mark.deployed, pytest.mark.timeout(600)]

PART, END = "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"
BATCH_SECONDS = 0.25
STOP = "oc:sp:"
JA = ("灯台の鍵は", "青い箱の中に", "あります🦀。", "いつもと", "同じです。")
EN = ("The key ", "is in ", "the blue box 🦀 ", "below ", "the stairs. ")
LANGUAGES = pytest.mark.parametrize(
    ("language", "question", "words"),
    [("ja", "灯台の鍵はどこですか", JA * 8), ("en", "Where is the key?", EN * 8)],
)


class Watch:
    """A client that watches a session: what it was sent, and what it shows."""

    def __init__(self, stack: Stack, socket: ClientConnection, session: str) -> None:
        self.events: list[dict[str, Any]] = []
        self.client = Client(lambda number: spoken(stack, session)[number])
        self._socket = socket
        assert asked(socket, type="subscribe", session_id=session)["subscribed"]

    @property
    def parts(self) -> list[str]:
        """The words that came while the model spoke, as they came."""
        return [event["delta"] for event in self.events if event["type"] == PART]

    def until(self, holds: Callable[[], bool]) -> None:
        """Take events until something holds."""
        while not holds():
            event = json.loads(self._socket.recv(PATIENCE_SECONDS))
            self.events.append(event)
            self.client.take([event])

    def until_heard(self, text: str) -> None:
        """Take events until so much of the answer has come."""
        self.until(lambda: "".join(self.parts).strip() == text.strip())

    def is_over(self) -> bool:
        """Whether the turn has ended."""
        return bool(self.events) and self.events[-1]["type"] in {"RUN_FINISHED", "RUN_ERROR"}


def tell(figure: str) -> None:
    """Write a figure for who looks; pytest shows it with `-s` or `-rP`."""
    sys.stdout.write(f"{figure}\n")


def spoken(stack: Stack, session: str) -> dict[int, str]:
    """The lines of a session by their numbers."""
    lines = stack.told("GET", f"/sessions/{session}/messages")["items"]
    return {line["sequence"]: line["text"] for line in lines}


@LANGUAGES
def test_words_reach_who_watches_before_the_last_one_is_said(
    stack: Stack, vendor: Vendor, language: str, question: str, words: tuple[str, ...]
) -> None:
    agent = stack.agent("Rin", language, model=MODEL)
    session, other = stack.session(agent), stack.session(agent)
    answer = vendor.will_say(*words)
    answer.hold_after(0)
    with ExitStack() as open_:
        sockets = [
            open_.enter_context(connected(stack, authorization=f"Bearer {KEY}")) for _ in range(2)
        ]
        watch, stranger = Watch(stack, sockets[0], session), Watch(stack, sockets[1], other)
        began = time.monotonic()
        (turn_id,) = stack.say(session, question, prefer="")["turn_ids"]
        for count in (len(words) // 2, len(words) - 1):
            answer.hold_after(count)
            watch.until_heard("".join(words[:count]))
        parts, seconds = len(watch.parts), time.monotonic() - began
        assert not answer.over.is_set()
        answer.let_go()
        watch.until(watch.is_over)
        sockets[1].send(json.dumps({"id": "p", "type": "ping"}))
        stranger.until(lambda: bool(stranger.events))
    tell(f"{len(words) - 1} words came in {parts} parts, {seconds:.2f} s after the question")
    assert 2 <= parts <= seconds / BATCH_SECONDS
    lines, whole = spoken(stack, session), "".join(words).strip()
    assert list(lines.values()) == [question, whole]
    assert watch.client.lines == lines
    assert not watch.client.saying
    ends = [event["metadata"] for event in watch.events if event["type"] == END]
    if not any(end.get("withdrawn") for end in ends):  # the last part came in time
        assert "".join(watch.parts).strip() == whole
        assert [end["sequence"] for end in ends] == [max(lines)]
    assert [event["type"] for event in stranger.events] == ["pong"]
    assert stack.ended(turn_id, PATIENCE_SECONDS)["status"] == "completed"


def cancel(stack: Stack, turn_id: str) -> None:
    stack.told("POST", f"/turns/{turn_id}/cancel")


def freeze(stack: Stack, turn_id: str) -> None:
    agent = stack.told("GET", f"/turns/{turn_id}")["agent_id"]
    stack.told("PUT", "/system/state", {"state": "frozen", "agent_id": agent})


class Stopped(NamedTuple):
    """An answer that is stopped: the word that it repeats, and what is said about the stop."""

    language: str
    question: str
    word: str
    notice: str
    by: Callable[[Stack, str], None] = cancel


@pytest.mark.parametrize(
    "case",
    [
        Stopped("ja", "話し続けて", "言葉", "停止の指示を受けたため、上の回答は途中までです。"),
        Stopped("en", "Go on", "word", "I stopped, as requested: the answer above is incomplete."),
        Stopped("ja", "話し続けて", "言葉", "凍結されたため、上の回答は途中までです。", freeze),
    ],
)
def test_a_stop_closes_the_vendors_stream_and_what_was_said_stays(
    stack: Stack, vendor: Vendor, case: Stopped
) -> None:
    session = stack.session(stack.agent("Rin", case.language, model=MODEL))
    answer = vendor.will_say(case.word, endless=True)
    with connected(stack, authorization=f"Bearer {KEY}") as socket:
        watch = Watch(stack, socket, session)
        (turn_id,) = stack.say(session, case.question, prefer="")["turn_ids"]
        watch.until(lambda: len(watch.parts) >= 2)
        stopped = time.monotonic()
        case.by(stack, turn_id)
        seconds = answer.wait_for_hang_up() - stopped
        tell(f"the stream was closed {seconds:.2f} s after {case.by.__name__}")
        watch.until(watch.is_over)
    assert watch.events[-1]["outcome"] == {"type": "cancelled"}
    story = stack.ended(turn_id, PATIENCE_SECONDS)
    assert story["status"] == "stopped"
    (step,) = story["steps"]
    assert step["state"] == "cancelled"
    assert 0 < step["cost_micro_usd"] <= step["reserved_micro_usd"]
    assert story["spent_micro_usd"] == step["cost_micro_usd"]
    lines = spoken(stack, session)
    question, said, notice = lines.values()
    assert (question, notice) == (case.question, case.notice)
    assert said.startswith(f"{case.word}0 {case.word}1")
    assert answer.text.startswith(said)
    assert watch.client.lines == lines
    assert not watch.client.saying


def contents(interaction: Interaction) -> list[str]:
    """What the answer to an interaction says, after all that it has said before."""
    message = interaction.original
    if message is None or message.is_loading:
        return []
    return [*(each["content"] for each in message.past), message.content]


def await_content(interaction: Interaction, text: str) -> None:
    """Wait until the answer to an interaction has said this."""
    awaited(lambda: any(text in each for each in contents(interaction)), PATIENCE_SECONDS)


def can_stop(interaction: Interaction) -> bool:
    """Whether any message of the answer has a button that stops the turn."""
    buttons = [each for message in interaction.messages for each in message.buttons]
    return any(each["custom_id"].startswith(STOP) for each in buttons)


class Asked(NamedTuple):
    """A question on Discord, words of its answer, and what is said if it is stopped."""

    place: Place
    locale: str
    question: str
    words: tuple[str, ...]
    notice: str = ""

    def send(self, stack: Stack, discord: FakeDiscord) -> Interaction:
        """Ask a new agent; the stack takes it."""
        open_door(stack, discord)
        agent = stack.agent("Rin", self.locale[:2], model=MODEL)
        options = {"agent": agent, "text": self.question}
        sent = discord.command("ask", options, place=self.place, locale=self.locale)
        assert sent.status == 202
        return sent


@pytest.mark.parametrize(
    "case",
    [
        Asked(SERVER_CHANNEL, "ja", "灯台の鍵はどこですか", JA),
        Asked(OTHER_CHANNEL, "en-GB", "Where is the key?", EN),
    ],
)
def test_an_answer_to_a_discord_command_grows_in_its_own_message(
    stack: Stack, discord: FakeDiscord, vendor: Vendor, case: Asked
) -> None:
    complaints = len(discord.complaints)
    whole = "".join(case.words).strip()
    answer = vendor.will_say(*case.words)
    answer.hold_after(0)
    sent = case.send(stack, discord)
    for count in (2, 4):
        answer.hold_after(count)
        await_content(sent, "".join(case.words[:count]).strip())
    assert not answer.over.is_set()
    answer.let_go()
    awaited(lambda: contents(sent)[-1] == whole, PATIENCE_SECONDS)
    *parts, _ = contents(sent)
    assert len(parts) >= 2
    assert all(whole.startswith(part.removesuffix("⏳").strip()) for part in parts)
    shown = [each for each in discord.shown(case.place, OWNER) if case.words[0] in each.content]
    assert shown == [sent.original] == sent.messages
    assert not can_stop(sent)
    assert discord.complaints[complaints:] == []


@pytest.mark.parametrize(
    ("case", "label"),
    [
        (
            Asked(SERVER_CHANNEL, "ja", "話し続けて", ("言葉",), "上の回答は途中までです。"),
            "停止",
        ),
        (
            Asked(OTHER_CHANNEL, "en-GB", "Go on", ("word",), "the answer above is incomplete."),
            "Stop",
        ),
    ],
)
def test_the_stop_button_on_discord_closes_the_vendors_stream(
    stack: Stack, discord: FakeDiscord, vendor: Vendor, case: Asked, label: str
) -> None:
    (word,) = case.words
    answer = vendor.will_say(word, endless=True)
    sent = case.send(stack, discord)
    await_content(sent, f"{word}0 {word}1")
    assert sent.original is not None
    stopped = time.monotonic()
    discord.press(sent.original, label, locale=case.locale)
    tell(f"the stream was closed {answer.wait_for_hang_up() - stopped:.2f} s after the button")
    awaited(lambda: case.notice in sent.text, PATIENCE_SECONDS)
    assert sent.original.content.startswith(f"{word}0 {word}1")
    assert not can_stop(sent)
