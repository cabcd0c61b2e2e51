"""Messages over REST: said once, answered by every agent, read in order, waited for."""

from dataclasses import replace

import pytest

from opencrab.adapters.providers.scripted.script import ScriptedAnswer, ScriptedCall
from opencrab.domain.errors import Unavailable
from tests.integration.rest.house import House, problem

HELLO = pytest.mark.parametrize("text", ["こんにちは、🦀です", "Hello, 🦀 here"])


@HELLO
def test_a_message_is_accepted_at_once_and_answered_in_its_language(
    shared: House, text: str
) -> None:
    session_id = shared.session()
    answer = shared.call("POST", f"/sessions/{session_id}/messages", {"text": text})
    assert answer.status_code == 202
    shared.work()
    asked, replied = shared.lines(session_id)
    assert asked == text
    assert ("言語モデルではなく" in replied) == text.startswith("こん")
    assert text in replied


@HELLO
def test_whoever_prefers_to_wait_gets_the_replies(shared: House, text: str) -> None:
    session_id = shared.session(shared.agent("美香"))
    with shared.worker():
        answer = shared.call(
            "POST",
            f"/sessions/{session_id}/messages",
            {"text": text},
            headers={"Prefer": "respond-async, wait=15"},
        )
    assert answer.status_code == 200
    assert answer.headers["preference-applied"] == "wait=15"
    body = answer.json()
    (reply,) = body["replies"]
    assert (reply["agent_name"], reply["turn_id"]) == ("美香", body["turn_ids"][0])
    assert text in reply["text"]
    assert body["pending"] == []


def test_a_wait_that_is_over_names_the_turns_that_go_on(shared: House) -> None:
    session_id = shared.session()
    answer = shared.call(
        "POST", f"/sessions/{session_id}/messages", {"text": "hi"}, headers={"Prefer": "wait=0"}
    )
    assert answer.status_code == 200
    assert answer.json()["replies"] == []
    assert answer.json()["pending"] == answer.json()["turn_ids"]


class FullDisk:
    """A disk on which nothing can be written."""

    def fault(self) -> Unavailable:
        return Unavailable("the disk is full", cure="free some space")


def test_whoever_waits_is_told_that_the_disk_is_full(house: House) -> None:
    session_id, home = house.session(), house.runtime.home
    place, headers = f"/sessions/{session_id}/messages", {"Idempotency-Key": "one"}
    waiting = {"headers": headers | {"Prefer": "wait=0"}}
    house.furnish(home=replace(home, storage=FullDisk()))
    answer = house.call("POST", place, {"text": "hi"}, **waiting)
    problem(answer, 503)
    assert answer.json()["detail"] == "the disk is full"
    assert house.call("POST", place, {"text": "hi"}, headers=headers).status_code == 202
    house.work()
    assert house.call("POST", place, {"text": "hi"}, **waiting).status_code == 200
    house.furnish(home=home)
    assert len(house.lines(session_id)) == 2


@pytest.mark.parametrize("prefer", ["wait=soon", "wait=-1", "wait=", "wait=1.5", "wait=\uff11"])
def test_a_wait_that_is_no_number_is_refused_and_nothing_is_said(
    shared: House, prefer: str
) -> None:
    session_id = shared.session()
    place, headers = f"/sessions/{session_id}/messages", {"Prefer": prefer}
    answer = shared.call("POST", place, {"text": "x"}, headers=headers)
    problem(answer, 422, "Prefer")
    assert shared.lines(session_id) == []


def test_three_participants_are_three_turns_however_often_the_message_comes(shared: House) -> None:
    agents = [shared.agent(name) for name in ("蟹", "Crab", "かに")]
    session_id = shared.session(*agents)
    headers = {"Idempotency-Key": "message-1"}
    first = shared.say(session_id, "みんな、say hello", headers=headers)
    shared.work()
    again = shared.say(session_id, "みんな、say hello", headers=headers)
    shared.work()
    assert len(set(first)) == 3
    assert again == first
    assert [shared.got(f"/turns/{turn}")["agent_id"] for turn in first] == agents
    assert len(shared.lines(session_id)) == 4


def test_a_message_without_a_key_is_new_each_time(shared: House) -> None:
    session_id = shared.session()
    assert shared.say(session_id, "again") != shared.say(session_id, "again")


def test_parts_follow_the_text_and_images_show_as_references(shared: House) -> None:
    session_id = shared.session()
    parts = [
        {"kind": "image", "reference": "workspace:写真/crab.png"},
        {"kind": "text", "text": "what is it?"},
    ]
    body = {"text": "これを見て", "parts": parts, "sender_name": "太郎", "metadata": {"from": "浜"}}
    shared.made(f"/sessions/{session_id}/messages", body)
    (line,) = shared.got(f"/sessions/{session_id}/messages")["items"]
    assert line["text"] == "これを見て\n[image workspace:写真/crab.png]\nwhat is it?"
    assert line["speaker_name"] == "太郎"
    assert (line["sequence"], line["thread"], line["from_agent"]) == (1, 1, False)


def test_lines_are_read_in_pages_from_either_end(shared: House) -> None:
    session_id = shared.session()
    said = [f"行 {n}" for n in range(5)]
    for text in said:
        shared.say(session_id, text)
    for order, expected in (("oldest", said), ("newest", said[::-1])):
        found: list[str] = []
        query: str | None = f"?order={order}&limit=2"
        while query is not None:
            page = shared.got(f"/sessions/{session_id}/messages{query}")
            found += [line["text"] for line in page["items"]]
            cursor = page["next_cursor"]
            query = f"?order={order}&limit=2&cursor={cursor}" if cursor else None
        assert found == expected
    assert shared.lines(session_id, "?after=3") == said[3:]


def test_a_cursor_of_the_other_direction_is_refused(shared: House) -> None:
    session_id = shared.session()
    for text in "abc":
        shared.say(session_id, text)
    place = f"/sessions/{session_id}/messages"
    cursor = shared.got(f"{place}?order=newest&limit=1")["next_cursor"]
    problem(shared.call("GET", f"{place}?order=oldest&cursor={cursor}"), 422, "cursor")


def test_thoughts_and_actions_are_the_owners_to_read(shared: House) -> None:
    session_id = shared.session()
    shared.say(session_id, "think about: the sea")
    shared.work()
    place = f"/sessions/{session_id}/messages?kinds=inner_voice,action"
    thoughts = shared.lines(session_id, "?kinds=inner_voice,action")
    assert any("the sea" in text for text in thoughts)
    found = problem(shared.call("GET", place, key=shared.chat), 403, "kinds")
    assert "approval, speech, system" in found["cure"]
    for key in (shared.chat, shared.read):
        public = shared.lines(session_id, key=key)
        assert public == shared.lines(session_id, "?kinds=speech,system", key=key)
        assert not set(public) & set(thoughts)


@pytest.mark.parametrize("end", ["POST", "DELETE"])
def test_an_ended_session_stays_readable_and_takes_no_more(shared: House, end: str) -> None:
    session_id = shared.session()
    shared.say(session_id, "さようなら")
    path = f"/sessions/{session_id}" + ("/end" if end == "POST" else "")
    for _ in range(2):
        ended = shared.call(end, path)
        assert (ended.json()["status"], ended.json()["phase"]) == ("ended", "concluded")
    problem(shared.call("POST", f"/sessions/{session_id}/messages", {"text": "まだ？"}), 409)
    assert shared.lines(session_id) == ["さようなら"]


def test_only_its_opener_and_the_owner_end_a_session(house: House) -> None:
    session_id = house.session(house.agent(), key=house.chat)
    other, _ = house.key(house.runtime.home.keys.list()[1].scope)
    problem(house.call("DELETE", f"/sessions/{session_id}", key=other), 404)
    house.invite(session_id, other)
    stranger = [house.call("DELETE", f"/sessions/{session_id}", key=other)]
    stranger.append(house.call("POST", f"/sessions/{session_id}/end", key=other))
    for answer in stranger:
        problem(answer, 403)
    assert house.call("DELETE", f"/sessions/{session_id}", key=house.chat).status_code == 200


def test_sessions_are_listed_and_described(house: House) -> None:
    ids = [house.agent(f"a{n}") for n in range(3)]
    bodies = [
        {"participants": ids[:1], "theme": "海の未来"},
        {"participants": ids, "name": "Round table", "max_turns": 9},
        {"participants": ids, "facilitator_id": ids[1]},
    ]
    made = [house.made("/sessions", body) for body in bodies]
    assert [session["mode"] for session in made] == ["direct", "autonomous", "facilitated"]
    assert made[0]["theme"] == "海の未来"
    assert house.got("/sessions", key=house.read)["items"] == sorted(made, key=lambda s: s["id"])
    page = house.got("/sessions?limit=2")
    rest = house.got(f"/sessions?limit=2&cursor={page['next_cursor']}")
    assert [s["id"] for s in page["items"] + rest["items"]] == sorted(s["id"] for s in made)
    assert house.got(f"/sessions/{made[1]['id']}") == made[1]


@pytest.mark.parametrize("text", ["必ず英語で答えて", "answer in one word"])
def test_an_instruction_is_heard_by_agents_and_invisible_to_people(
    shared: House, text: str
) -> None:
    session_id = shared.session()
    shared.say(session_id, "hello")
    made = shared.made(f"/sessions/{session_id}/mentor", {"text": text})
    assert made["line"] == 2
    shared.work()
    for key in (shared.owner, shared.chat, shared.read):
        assert text not in shared.lines(session_id, key=key)
    for key in (shared.chat, shared.read):
        assert text not in shared.lines(session_id, "?kinds=system,speech", key=key)
    assert text in shared.lines(session_id, "?kinds=system")
    assert len(shared.runtime.home.journal.lines(session_id, limit=10)) == 3


@pytest.mark.parametrize(("language", "told"), [("en", "lifts the freeze"), ("ja", "凍結を解除")])
def test_whoever_waits_learns_how_each_turn_ended_and_what_it_cost(
    shared: House, language: str, told: str
) -> None:
    session_id = shared.session(shared.agent("美香"))
    headers = {"Prefer": "wait=15", "Accept-Language": language}
    place = f"/sessions/{session_id}/messages"
    with shared.worker():
        (well,) = shared.call("POST", place, {"text": "hi"}, headers=headers).json()["turns"]
        shared.call("PUT", "/system/state", {"state": "frozen"})
        (frozen,) = shared.call("POST", place, {"text": "hi"}, headers=headers).json()["turns"]
        shared.call("PUT", "/system/state", {"state": "running"})
    assert (well["status"], well["error"]) == ("completed", None)
    assert well["cost_micro_usd"] == shared.got(f"/turns/{well['id']}")["spent_micro_usd"]
    assert (frozen["status"], frozen["error"]["type"]) == ("stopped", "frozen")
    assert told in frozen["error"]["cure"]
    turn = shared.call("GET", f"/turns/{frozen['id']}", headers={"Accept-Language": language})
    assert turn.json()["error"] == frozen["error"]


@HELLO
def test_an_answer_says_to_which_line_it_is_a_reply(house: House, text: str) -> None:
    agent = house.agent("美香")
    session_id = house.session(agent)
    house.script(ScriptedAnswer(text="はい"))
    house.say(session_id, text)
    house.work()
    speaks = {"content": text, "reply_to": "1"}
    house.script(ScriptedAnswer(calls=(ScriptedCall("send_speech", speaks),)))
    with house.worker():
        answer = house.call(
            "POST",
            f"/sessions/{session_id}/messages",
            {"text": "もう一度"},
            headers={"Prefer": "wait=15"},
        )
    (reply,) = answer.json()["replies"]
    assert (reply["text"], reply["reply_to"]) == (text, 1)
    lines = house.got(f"/sessions/{session_id}/messages")["items"]
    assert [line["reply_to"] for line in lines] == [None, None, None, 1]


def test_a_reply_to_nobody_is_an_error_that_the_model_can_cure(house: House) -> None:
    session_id = house.session(house.agent("美香"))
    wrong = {"content": "はい", "reply_to": "nobody"}
    house.script(
        ScriptedAnswer(calls=(ScriptedCall("send_speech", wrong),)), ScriptedAnswer(text="では")
    )
    house.say(session_id, "やあ")
    house.work()
    assert house.lines(session_id)[-1] == "では"
    told = house.got(f"/sessions/{session_id}/messages?kinds=action")["items"]
    assert "nobody here said 'nobody'" in told[0]["data"]["result"]


@HELLO
def test_whoever_writes_again_after_the_agent_declared_done_is_answered(
    house: House, text: str
) -> None:
    session_id = house.session()
    place = f"/sessions/{session_id}/messages"
    for answer in (
        ScriptedAnswer(calls=(ScriptedCall("declare_done", {}),)),
        ScriptedAnswer(text=text),
    ):
        house.script(answer)
        assert house.call("POST", place, {"text": text}).status_code == 202
        house.work()
        assert house.call("GET", f"/sessions/{session_id}").json()["status"] == "active"
    assert house.lines(session_id) == [text, text, text]
