"""Words pushed by a worker: to whom they may go, at what price, and how they meet their line."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from opencrab.domain.access.authority import Scope
from opencrab.domain.conversation.message import LineKind
from opencrab.domain.errors import Unavailable
from opencrab.domain.turn.turn import TurnStatus
from opencrab.engine.access.api_keys import create_api_key
from opencrab.engine.access.membership import let_principal_access_session, revoke_session_access
from opencrab.engine.conversation.key_holders import KEY_BELIEVED
from opencrab.engine.conversation.live import VisibleKinds, WatchTarget
from opencrab.engine.websocket import connections
from opencrab.gateways.websocket.answer_pushing import WATCHERS_KNOWN_MS, AnswerPusher
from opencrab.ports.conversation.answers import AnswerPart
from opencrab.ports.turn.journal import TurnChange
from tests.e2e.house import Counted
from tests.unit.engine.known_world import World, line, opened
from tests.unit.gateways.websocket.client import Client
from tests.unit.gateways.websocket.connected import Sockets
from tests.unit.gateways.websocket.pooled import Inline, Waiting
from tests.unit.gateways.websocket.test_pushing import Desk

S1, MIKA = WatchTarget(kind="session", id="s1"), WatchTarget(kind="agent", id="mika")
WORDS = [("Good ", "morning 🦀"), ("おはよう", "ございます👩‍👩‍👧")]


class Talk(Desk):
    """A desk, a worker that says words, and clients that show what they are sent."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.pool: Inline | Waiting = Inline()
        self.turn = world.claimed(world.say("もしもし")[0])
        self.push()
        self.sockets.sent.clear()
        self.clients: dict[str, Client] = {}
        self.another_worker()

    def another_worker(self) -> None:
        self.worker = AnswerPusher(self.world.runtime, self.sockets, self.pool, end_seconds=0)

    def says(self, text: str, n: int = 2, **changes: Any) -> None:
        """A part, if anybody watches, as a call's watch has it."""
        if self.worker.is_watched("s1", self.turn.agent_id):
            part = AnswerPart("s1", self.turn.agent_id, self.turn.id, n, text)
            self.worker.publish(replace(part, **changes))

    def ends(self, *texts: str, status: TurnStatus = TurnStatus.COMPLETED) -> None:
        """The turn's last change, with its lines."""
        turn = self.turn.replaced(status=status, ended_at=self.world.clock.now())
        lines = tuple(line(self.turn, text) for text in texts)
        journal = self.world.runtime.home.journal
        journal.commit(TurnChange(turn=turn, expected=self.turn.sequence, lines=lines))

    def client(self, name: str) -> Client:
        """What a client shows of all it was sent so far."""
        client = self.clients.setdefault(name, Client(self._text))
        client.take(self.sockets.seen(name))
        return client

    def _text(self, number: int) -> str:
        rows = self.world.runtime.home.journal.lines("s1", after=number - 1, limit=1)
        return rows[0].text


@pytest.fixture
def talk(tmp_path: Path) -> Iterator[Talk]:
    with opened(tmp_path) as world:
        yield Talk(world)


def kinds(events: list[dict[str, Any]]) -> list[str]:
    return [event["type"].removeprefix("TEXT_MESSAGE_") for event in events]


def counted_facts(talk: Talk) -> Counter[str]:
    """How often a worker asks for documents from now on."""
    counted: Any = SimpleNamespace(calls=Counter())
    home = talk.world.runtime.home
    facts: Any = Counted(home.facts, "facts", counted)
    talk.world.runtime = replace(talk.world.runtime, home=replace(home, facts=facts))
    talk.another_worker()
    calls: Counter[str] = counted.calls
    return calls


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("watched", [(S1,), (MIKA,), (S1, MIKA)])
def test_words_come_before_the_line_that_only_ends_their_message(
    talk: Talk, words: tuple[str, str], watched: tuple[WatchTarget, ...]
) -> None:
    talk.connect("a", *watched)
    talk.says(words[0])
    begun = talk.sockets.sent["a"]
    assert kinds(begun) == ["START", "CONTENT"]
    assert begun[0]["metadata"] == {"threadId": "s1", "runId": talk.turn.id, "agentId": "mika"}
    assert talk.client("a").saying == {begun[0]["messageId"]: words[0]}
    talk.says(words[1])
    talk.says("", ended=True)
    talk.ends("".join(words))
    talk.push()
    (*told, end, over) = talk.sockets.sent["a"]
    assert kinds(told) == ["CONTENT"]
    assert (end["type"], over["type"]) == ("TEXT_MESSAGE_END", "RUN_FINISHED")
    assert end["messageId"] == begun[0]["messageId"]
    assert end["metadata"]["sequence"] == 2
    assert talk.client("a").lines == {2: "".join(words)}
    assert not talk.client("a").saying


def test_nobody_is_asked_for_again_while_nobody_watches(talk: Talk) -> None:
    calls = counted_facts(talk)
    for _ in range(100):
        talk.says("word ")
    assert dict(calls) == {"facts.page": 2}
    talk.world.clock.advance(WATCHERS_KNOWN_MS / 1_000)
    talk.says("word ")
    assert dict(calls) == {"facts.page": 4}
    assert not talk.sockets.sent


def test_a_watched_call_costs_two_writes_however_many_watch(talk: Talk) -> None:
    for name in ("a", "b", "c"):
        talk.connect(name, S1)
    calls = counted_facts(talk)
    for _ in range(50):
        talk.says("word ")
    talk.says("", ended=True)
    assert calls["facts.commit"] == 2


@pytest.mark.parametrize("status", [TurnStatus.COMPLETED, TurnStatus.FAILED])
def test_what_comes_before_a_tool_call_is_taken_back(talk: Talk, status: TurnStatus) -> None:
    talk.connect("a", S1)
    talk.says("Let me look.")
    talk.says("", ended=True, withdrawn=True)
    assert kinds(talk.sockets.sent["a"]) == ["START", "CONTENT", "END"]
    assert talk.client("a").saying == {}
    talk.says("It is sunny.", n=5)
    talk.says("", n=5, ended=True)
    talk.ends("It is sunny.", status=status)
    talk.push()
    assert kinds(talk.sockets.sent["a"])[:3] == ["START", "CONTENT", "END"]
    assert talk.client("a").lines == {2: "It is sunny."}


def test_an_answer_that_starts_over_is_another_message(talk: Talk) -> None:
    talk.connect("a", S1)
    talk.says("I think that")
    talk.says("Hello", starts_over=True)
    told = talk.sockets.sent["a"]
    assert kinds(told) == ["START", "CONTENT", "END", "START", "CONTENT"]
    assert told[2]["metadata"]["withdrawn"]
    assert told[0]["messageId"] != told[3]["messageId"]


def test_who_comes_in_the_middle_gets_all_words_so_far(talk: Talk) -> None:
    talk.connect("a", S1)
    talk.says("One ")
    talk.connect("b", S1)
    talk.world.clock.advance(WATCHERS_KNOWN_MS / 1_000)
    talk.says("two ")
    talk.says("three", ended=True)
    talk.ends("One two three")
    talk.push()
    for name in ("a", "b"):
        assert "CHUNK" not in kinds(talk.sockets.sent[name])
        assert talk.client(name).lines == {2: "One two three"}


def test_a_session_whose_watchers_cannot_be_read_counts_as_unwatched(talk: Talk) -> None:
    class Silent:
        def page(self, *_place: object, **_more: object) -> None:
            raise Unavailable("the table is throttled")

    home: Any = replace(talk.world.runtime.home, facts=Silent())  # type: ignore[arg-type]
    talk.world.runtime = replace(talk.world.runtime, home=home)
    talk.another_worker()
    talk.says("word")


@pytest.mark.parametrize("trouble", ["gone", "stuck"])
def test_who_takes_nothing_gets_the_line_whole_and_holds_up_nobody(
    talk: Talk, trouble: str
) -> None:
    for name in ("a", "slow"):
        talk.connect(name, S1)
    talk.says("One ")
    getattr(talk.sockets, trouble).add("slow")
    talk.says("two ")
    getattr(talk.sockets, trouble).discard("slow")
    talk.says("three", ended=True)
    assert talk.watching() == ["a", "slow"], "the function of the lines cuts connections"
    talk.ends("One two three")
    talk.push()
    (_, _, end, chunk, _) = talk.sockets.sent["slow"]
    assert end["metadata"]["withdrawn"]
    assert chunk["delta"] == "One two three"
    for name in ("a", "slow"):
        assert talk.client(name).lines == {2: "One two three"}
        assert not talk.client(name).saying


def test_a_slow_watcher_gets_more_at_once_and_less_often(talk: Talk) -> None:
    talk.pool = pool = Waiting()
    talk.another_worker()
    talk.connect("a", S1)
    for number in range(10_000):
        talk.says(f"{number} ")
    assert len(pool.tasks) == 1, "one task for each watcher at most"
    pool.step()
    pool.step()
    assert kinds(talk.sockets.sent["a"])[:2] == ["START", "CONTENT"]
    assert "".join(each.get("delta", "") for each in talk.sockets.seen("a")).endswith("9999 ")
    assert not pool.tasks


@pytest.mark.parametrize("words", WORDS)
def test_words_said_while_a_part_is_on_its_way_follow_though_no_more_is_said(
    talk: Talk, words: tuple[str, str]
) -> None:
    class Busy(Sockets):
        def send(self, connection_id: str, text: str) -> None:
            super().send(connection_id, text)
            if len(self.sent[connection_id]) == 1:
                talk.says(words[1])

    talk.over(Busy())
    talk.another_worker()
    talk.connect("a", S1)
    talk.says(words[0])
    assert talk.sockets.said("a") == list(words)


def test_an_answer_without_end_is_sent_in_pieces_that_any_socket_carries(talk: Talk) -> None:
    talk.connect("a", S1)
    talk.says("蟹" * 100_000)
    frames = talk.sockets.seen("a")
    assert all(len(json.dumps(frame)) < 32_768 for frame in frames)


def test_who_may_not_read_the_session_any_more_is_told_no_more_within_a_minute(
    talk: Talk,
) -> None:
    runtime, home = talk.world.runtime, talk.world.runtime.home
    _, key = create_api_key(runtime, name="健", scope=Scope.CHAT)
    let_principal_access_session(home.facts, home.keys, "s1", key.principal.id)
    connections.open_websocket_connection(runtime, "k", key.hash)
    connections.start_websocket_watch(runtime, "k", S1, VisibleKinds(), None)
    talk.says("一")
    revoke_session_access(home.facts, "s1", key.principal.id)
    talk.world.clock.advance(KEY_BELIEVED.total_seconds())
    talk.says("秘密")
    assert talk.sockets.said("k") == ["一"]


def test_who_has_lost_the_key_is_told_nothing(talk: Talk) -> None:
    key = talk.connect("a", S1)
    talk.world.runtime.home.keys.revoke(key, talk.world.clock.now())
    talk.says("秘密")
    assert not talk.sockets.sent


def test_who_asked_for_other_kinds_is_told_nothing(talk: Talk) -> None:
    talk.connect("a", S1, sight=VisibleKinds(kinds=frozenset({LineKind.APPROVAL})))
    assert not talk.worker.is_watched("s1", "mika")


def test_a_message_of_a_worker_that_died_is_ended_by_the_next_one(talk: Talk) -> None:
    talk.connect("a", S1)
    talk.says("Half an ans")
    talk.another_worker()
    talk.says("The whole answer", n=2)
    talk.says("", n=2, ended=True)
    talk.ends("The whole answer")
    talk.push()
    told = talk.sockets.sent["a"]
    assert kinds(told) == ["START", "CONTENT", "END", "START", "CONTENT", "END", "RUN_FINISHED"]
    assert told[0]["messageId"] != told[3]["messageId"]
    assert talk.client("a").lines == {2: "The whole answer"}


def test_a_worker_that_lost_its_turn_says_no_more(talk: Talk) -> None:
    talk.connect("a", S1)
    slow = talk.worker
    talk.says("Half an ans")
    talk.another_worker()
    talk.says("The whole answer")
    talk.connect("b", S1)
    talk.world.clock.advance(WATCHERS_KNOWN_MS / 1_000)
    talk.sockets.sent.clear()
    talk.worker = slow
    talk.says("wer of the slow one")
    talk.says(" and more")
    assert "b" not in talk.sockets.sent


@pytest.mark.parametrize("status", [TurnStatus.STOPPED, TurnStatus.FAILED, TurnStatus.WAITING])
def test_a_message_that_nobody_ended_ends_with_its_turn(talk: Talk, status: TurnStatus) -> None:
    talk.connect("a", S1)
    talk.says("Half an ans")
    talk.ends(status=status)
    talk.push()
    *_, end, _over = talk.sockets.sent["a"]
    assert end["metadata"]["withdrawn"]
    assert not talk.client("a").saying


def test_a_stopped_answer_ends_with_the_line_of_what_was_said(talk: Talk) -> None:
    talk.connect("a", S1)
    talk.says("Half an ans")
    talk.says("", ended=True)
    talk.ends("Half an ans", "stopped", status=TurnStatus.STOPPED)
    talk.push()
    assert talk.client("a").lines == {2: "Half an ans", 3: "stopped"}


def test_a_watcher_who_comes_again_gets_the_line_whole(talk: Talk) -> None:
    talk.connect("a", S1)
    talk.says("One ")
    connections.end_websocket_watch(talk.world.runtime, "a", S1)
    talk.world.clock.advance(WATCHERS_KNOWN_MS / 1_000)
    talk.connect("b", S1)
    talk.says("two ")
    connections.start_websocket_watch(talk.world.runtime, "a", S1, VisibleKinds(), None)
    talk.world.clock.advance(WATCHERS_KNOWN_MS / 1_000)
    talk.says("three", ended=True)
    talk.ends("One two three")
    talk.push()
    assert "CHUNK" in kinds(talk.sockets.sent["a"])
    assert talk.client("a").lines == talk.client("b").lines == {2: "One two three"}


def test_a_complete_message_that_no_line_says_is_taken_back_at_the_end_of_the_turn(
    talk: Talk,
) -> None:
    talk.connect("a", S1)
    talk.says("An answer that was lost")
    talk.says("", ended=True)
    talk.ends("Another answer")
    talk.push()
    *_, chunk, end, _over = talk.sockets.sent["a"]
    assert chunk["delta"] == "Another answer"
    assert end["metadata"]["withdrawn"]


def test_what_was_not_sent_before_the_end_of_its_call_is_not_sent_later(talk: Talk) -> None:
    talk.pool = pool = Waiting()
    talk.another_worker()
    talk.connect("a", S1)
    talk.says("One ")
    pool.step()
    talk.says("two", ended=True)
    pool.step()
    assert not talk.sockets.sent
