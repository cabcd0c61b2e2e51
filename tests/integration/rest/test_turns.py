"""Turns over REST: their story, a stop before the next call, and what a strict agent asks."""

from dataclasses import replace
from typing import Any

import pytest

from opencrab.adapters.providers.scripted.model import Scripted
from opencrab.adapters.providers.scripted.script import ScriptedAnswer, ScriptedCall
from opencrab.domain.access.authority import Scope
from opencrab.domain.turn.record import ModelAnswer
from opencrab.ports.models.model import UNWATCHED, AnswerWatch, ChatRequest
from tests.integration.rest.house import House, problem

WRITES = pytest.mark.parametrize(
    ("text", "path", "content"),
    [
        ("write memo.txt: hello crab", "memo.txt", "hello crab"),
        ("メモ.txtに「蟹は元気」と書いて", "メモ.txt", "蟹は元気"),
    ],
)


class Interrupted(Scripted):
    """A model that asks for a file, while somebody does something."""

    def __init__(self, happens: Any) -> None:
        super().__init__([ScriptedAnswer(calls=(ScriptedCall("ws_list", {}),))] * 9)
        self._happens = happens

    def chat(
        self, request: ChatRequest, body: bytes, watch: AnswerWatch = UNWATCHED
    ) -> ModelAnswer:
        self._happens()
        return super().chat(request, body)


def status(house: House, turn_id: str) -> str:
    """Where a turn stands."""
    return str(house.got(f"/turns/{turn_id}")["status"])


@WRITES
def test_a_story_tells_every_step_and_call_to_the_owner(
    shared: House, text: str, path: str, content: str
) -> None:
    agent_id = shared.agent()
    (turn_id,) = shared.say(shared.session(agent_id), text)
    assert shared.got(f"/turns/{turn_id}")["steps"] == []
    shared.work()
    story = shared.got(f"/turns/{turn_id}")
    assert (story["status"], story["model_calls"], story["authority"]) == ("completed", 2, "owner")
    assert [step["state"] for step in story["steps"]] == ["completed", "completed"]
    (call,) = story["steps"][0]["calls"]
    assert (call["name"], call["success"]) == ("ws_write", True)
    assert call["arguments"] == {"path": path, "content": content}
    assert story["steps"][1]["text"]
    assert shared.call("GET", f"/agents/{agent_id}/workspace/{path}").text == content


def test_others_read_of_a_story_only_that_there_were_steps(shared: House) -> None:
    (turn_id,) = shared.say(shared.session(), "write secret.txt: 秘密の言葉", key=shared.chat)
    shared.work()
    for key in (shared.chat, shared.read):
        story = shared.call("GET", f"/turns/{turn_id}", key=key)
        assert "秘密の言葉" not in story.text
        first, second = story.json()["steps"]
        assert (first["calls"][0]["name"], first["calls"][0]["arguments"]) == ("ws_write", None)
        assert (second["state"], second["text"]) == ("completed", None)


def test_a_stop_before_a_turn_began_ends_it_without_a_model_call(shared: House) -> None:
    session_id = shared.session()
    (turn_id,) = shared.say(session_id, "hello")
    asked = shared.made(f"/turns/{turn_id}/cancel", {"reason": "もういい"})
    assert (asked["status"], asked["stop"]["reason"]) == ("queued", "もういい")
    shared.work()
    story = shared.got(f"/turns/{turn_id}")
    assert (story["status"], story["model_calls"]) == ("stopped", 0)
    assert shared.lines(session_id)[1] == "I stopped, as requested."


def test_a_stop_ends_a_running_turn_before_its_next_call(house: House) -> None:
    session_id = house.session(house.agent(language="ja"))
    (turn_id,) = house.say(session_id, "ずっと続けて")
    calls: list[str] = []

    def stop_in_the_second_call() -> None:
        calls.append(turn_id)
        if len(calls) == 2:
            house.made(f"/turns/{turn_id}/cancel", {"reason": "止まって"})

    house.thinking.model = Interrupted(stop_in_the_second_call)
    house.work()
    story = house.got(f"/turns/{turn_id}")
    assert (story["status"], len(calls)) == ("stopped", 2)
    assert story["steps"][0]["calls"][0]["state"] == "completed"
    assert house.lines(session_id)[1] == "停止の指示を受けたため、ここで止まりました。"


def test_a_stop_that_comes_too_late_or_without_a_body_changes_nothing(shared: House) -> None:
    (turn_id,) = shared.say(shared.session(), "hello")
    shared.work()
    assert shared.made(f"/turns/{turn_id}/cancel", None)["status"] == "completed"
    assert shared.got(f"/turns/{turn_id}")["stop"] is None


def test_only_its_starter_and_the_owner_stop_a_turn(shared: House) -> None:
    session_id = shared.session()
    (turn_id,) = shared.say(session_id, "mine")
    problem(shared.call("POST", f"/turns/{turn_id}/cancel", {}, key=shared.chat), 403)
    (own,) = shared.say(session_id, "mine", key=shared.chat)
    assert shared.made(f"/turns/{own}/cancel", {}, key=shared.chat)["stop"]
    shared.work()
    assert [status(shared, turn) for turn in (turn_id, own)] == ["completed", "stopped"]


@WRITES
def test_a_strict_agent_waits_for_its_owner_and_then_does_exactly_that(
    shared: House, text: str, path: str, content: str
) -> None:
    agent_id = shared.agent(policy="strict", language="ja")
    session_id = shared.session(agent_id)
    (turn_id,) = shared.say(session_id, text)
    shared.work()
    story = shared.got(f"/turns/{turn_id}")
    assert story["status"] == "waiting"
    asked = story["steps"][0]["calls"][0]
    assert asked["state"] == "waiting"
    assert path in asked["approval"]["touches"]
    assert "承認を待っています" in shared.lines(session_id, key=shared.read)[1]
    assert shared.got(f"/agents/{agent_id}/workspace")["items"] == []
    shared.made(f"/turns/{turn_id}/decide", {"approved": True, "reason": "いいよ"})
    shared.work()
    call = shared.got(f"/turns/{turn_id}")["steps"][0]["calls"][0]
    assert (call["success"], call["approval"]["reason"]) == (True, "いいよ")
    assert status(shared, turn_id) == "completed"
    assert shared.call("GET", f"/agents/{agent_id}/workspace/{path}").text == content


def test_a_rejected_call_does_not_run_and_is_decided_once(shared: House) -> None:
    agent_id = shared.agent(policy="strict")
    (turn_id,) = shared.say(shared.session(agent_id), "write memo.txt: no")
    shared.work()
    assert shared.made(f"/turns/{turn_id}/decide", {"approved": False})["status"] == "queued"
    problem(shared.call("POST", f"/turns/{turn_id}/decide", {"approved": True}), 409)
    shared.work()
    assert shared.got(f"/turns/{turn_id}")["steps"][0]["calls"][0]["approval"]["approved"] is False
    assert shared.got(f"/agents/{agent_id}/workspace")["items"] == []


def test_whoever_waits_is_answered_when_a_turn_waits_for_its_owner(shared: House) -> None:
    session_id = shared.session(shared.agent(policy="strict"))
    with shared.worker():
        answer = shared.made(
            f"/sessions/{session_id}/messages",
            {"text": "list files"},
            headers={"Prefer": "wait=15"},
        )
    assert answer["pending"] == answer["turn_ids"]
    assert [reply["kind"] for reply in answer["replies"]] == ["approval"]


def test_nothing_is_decided_that_does_not_wait(shared: House) -> None:
    (turn_id,) = shared.say(shared.session(), "hello")
    problem(shared.call("POST", f"/turns/{turn_id}/decide", {"approved": True}), 409)
    problem(shared.call("POST", "/turns/unknown/decide", {"approved": True}), 404)


def test_a_model_that_fails_ends_the_turn_with_an_apology(house: House) -> None:
    house.script(ScriptedAnswer(error="refused"))
    session_id = house.session(house.agent(language="ja"))
    (turn_id,) = house.say(session_id, "こんにちは")
    house.work()
    assert status(house, turn_id) == "failed"
    assert house.lines(session_id)[1].startswith("申し訳ありません")


def test_turns_are_listed_newest_first_by_agent_session_and_status(shared: House) -> None:
    one, other = shared.agent(), shared.agent()
    session = shared.session(one)
    (first,) = shared.say(session, "write a.txt: one")
    shared.work()
    (second,) = shared.say(shared.session(one), "write b.txt: two")
    shared.work()
    (third,) = shared.say(shared.session(other), "write c.txt: three")

    def ids(query: str) -> list[str]:
        return [each["id"] for each in shared.got(f"/turns?{query}")["items"]]

    assert ids(f"agent_id={one}") == [second, first]
    assert ids(f"agent_id={one}&limit=1") == [second]
    assert ids(f"session_id={session}") == [first]
    assert ids(f"agent_id={other}&status=queued") == [third]
    assert ids(f"agent_id={other}&status=completed") == []
    assert ids("")[:3] == [third, second, first]
    assert ids("agent_id=nobody") == []
    shared.work()
    assert ids(f"agent_id={other}&status=completed") == [third]


def test_a_list_of_turns_has_only_those_that_a_key_sees(shared: House) -> None:
    agent_id = shared.agent()
    unshared = str(shared.made("/sessions", {"participants": [agent_id]})["id"])
    (theirs,) = shared.say(unshared, "write a.txt: one")
    (own,) = shared.say(shared.session(agent_id, key=shared.chat), "hello", key=shared.chat)
    shared.work()
    listed = shared.call("GET", f"/turns?agent_id={agent_id}", key=shared.chat).json()["items"]
    assert [each["id"] for each in listed] == [own]
    assert {each["id"] for each in shared.got(f"/turns?agent_id={agent_id}")["items"]} == {
        own,
        theirs,
    }


class _CountedSessions:
    """Sessions that count how often one of them is read."""

    def __init__(self, sessions: Any) -> None:
        self._sessions = sessions
        self.reads = 0

    def get(self, session_id: str) -> Any:
        """`Sessions.get`."""
        self.reads += 1
        return self._sessions.get(session_id)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sessions, name)


def test_a_list_of_turns_reads_each_session_once_however_many_turns_it_has(house: House) -> None:
    session_id = house.session()
    for _ in range(6):
        house.say(session_id, "やあ / hello", key=house.chat)
        house.work()
    counted = _CountedSessions(house.runtime.home.sessions)
    house.furnish(home=replace(house.runtime.home, sessions=counted))
    assert len(house.got("/turns", key=house.chat)["items"]) == 6
    assert counted.reads == 1
    stranger, _ = house.key(Scope.CHAT)
    assert house.got("/turns", key=stranger)["items"] == []
    assert counted.reads == 2


def test_turns_of_a_session_are_looked_for_with_its_agents_alone(house: House) -> None:
    other = house.session(house.agent("Noa"))
    house.say(other, "やあ")
    session_id = house.session()
    (turn_id,) = house.say(session_id, "hello")
    house.work()
    asked: list[str] = []
    usage = house.runtime.home.usage

    class Asked:
        """A ledger that notes whose rows are read."""

        def rows(self, agent_id: str, **query: Any) -> Any:
            """`UsageLedger.rows`."""
            asked.append(agent_id)
            return usage.rows(agent_id, **query)

        def __getattr__(self, name: str) -> Any:
            return getattr(usage, name)

    house.furnish(home=replace(house.runtime.home, usage=Asked()))
    (listed,) = house.got(f"/turns?session_id={session_id}")["items"]
    assert listed["id"] == turn_id
    assert set(asked) == {listed["agent_id"]}
    assert house.got("/turns?session_id=gone")["items"] == []
