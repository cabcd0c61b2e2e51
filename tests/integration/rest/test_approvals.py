"""Approvals over REST: the open question, who may answer it, grants, and lists as policies."""

from typing import Any

import pytest

from opencrab.domain.access.authority import Scope
from opencrab.domain.approvals.call_text import approval_call_arguments
from opencrab.domain.text.visible import text_showing_hidden
from opencrab.domain.turn.record import ActionCall
from opencrab.engine.autonomy.sweep import run_autonomy_sweep
from tests.integration.rest.house import House, problem

WRITE = "write memo.txt: hello crab"


def waiting(house: House, **fields: Any) -> dict[str, Any]:
    """The open approval of a strict agent that was told to write a file."""
    said = fields.pop("asked", WRITE)
    agent_id = fields.pop("agent_id", None) or house.agent(policy="strict", **fields)
    (turn_id,) = house.say(house.session(agent_id), said)
    house.work()
    found = [one for one in opened(house) if one["turn_id"] == turn_id]
    assert len(found) == 1
    return found[0]


def opened(house: House, state: str = "open", **sent: Any) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = house.got(f"/approvals?state={state}&limit=200", **sent)["items"]
    return items


def test_an_open_approval_shows_two_lines_and_its_arguments_to_owners(shared: House) -> None:
    approval = waiting(shared)
    assert (approval["state"], approval["action"], approval["impact"]) == (
        "pending",
        "ws_write",
        "self",
    )
    assert "memo.txt" in approval["what"]
    assert "memo.txt" in approval["touches"]
    path = f"/approvals/{approval['id']}"
    whole = shared.got(path)
    assert whole["arguments"] == {"path": "memo.txt", "content": "hello crab"}
    for hidden in (
        shared.got(path, key=shared.read),
        *[one for one in opened(shared, key=shared.chat) if one["id"] == approval["id"]],
    ):
        assert (hidden["what"], hidden["touches"]) == ("ws_write (self)", "")
        assert hidden.get("arguments") is None
    problem(shared.call("GET", "/approvals/nothing"), 404)


@pytest.mark.parametrize("language", ["en", "ja"])
def test_the_lines_of_a_session_name_the_call_and_not_its_arguments(
    shared: House, language: str
) -> None:
    agent_id = shared.agent(policy="strict", language=language)
    session_id = shared.session(agent_id)
    secret = "secret-4711.txt"
    (turn_id,) = shared.say(session_id, f"write {secret}: hush")
    shared.work()
    approval = next(one for one in opened(shared) if one["turn_id"] == turn_id)
    assert secret in approval["what"]
    shared.made(f"/approvals/{approval['id']}/decide", {"approved": False})
    shared.work()
    asked, rejected = shared.lines(session_id, key=shared.chat)[1:]
    for line in (asked, rejected):
        assert "ws_write (self)" in line
        assert secret not in line
    story = shared.call("GET", f"/turns/{turn_id}", key=shared.chat).text
    assert secret not in story


@pytest.mark.parametrize(
    "content",
    [
        f"{'harmless ' * 42}; rm -rf x",
        "invoice\u202egpj.exe",
        "a\u200b\u2060b\ufeff",
        "раураl と 日本語のテキスト",  # noqa: RUF001 - Cyrillic on purpose
        f"{'行' * 20_000}おわり",
    ],
)
def test_owners_and_delegates_read_every_byte_and_its_hash(shared: House, content: str) -> None:
    secret, key = shared.key(Scope.CHAT)
    approval = waiting(
        shared, asked=f"write memo.txt: {content}", approvals={"delegates": [key.id]}
    )
    path = f"/approvals/{approval['id']}"
    call = ActionCall(id="c", name="ws_write", arguments={"path": "memo.txt", "content": content})
    for found in (shared.got(path), shared.got(path, key=secret)):
        assert found["arguments"] == call.arguments
        assert found["argument_hash"] == approval["argument_hash"] == call.argument_hash
        assert found["diff"].startswith("--- /dev/null\n+++ memo.txt\n")
        assert text_showing_hidden(content) in found["diff"]
        assert found["text"] == approval_call_arguments(call.arguments or {})
    hidden = shared.got(path, key=shared.read)
    assert (hidden["arguments"], hidden["diff"], hidden["argument_hash"]) == (None, None, None)
    assert hidden["text"] is None
    shared.made(f"{path}/decide", {"approved": False})
    shared.work()


def test_a_write_shows_what_it_changes(shared: House) -> None:
    first = waiting(shared)
    shared.made(f"/approvals/{first['id']}/decide", {"approved": True})
    shared.work()
    second = waiting(shared, asked="write memo.txt: hello crabs", agent_id=first["agent_id"])
    assert "\n-hello crab\n" in shared.got(f"/approvals/{second['id']}")["diff"]
    assert "\n+hello crabs\n" in shared.got(f"/approvals/{second['id']}")["diff"]
    shared.made(f"/approvals/{second['id']}/decide", {"approved": False})
    shared.work()


@pytest.mark.parametrize("route", ["approvals", "turns"])
def test_only_the_call_that_was_shown_is_approved(shared: House, route: str) -> None:
    approval = waiting(shared)
    named = approval["id"] if route == "approvals" else approval["turn_id"]
    path, hashed = f"/{route}/{named}/decide", approval["argument_hash"]
    for wrong in ("0" * 64, "0" * 16):
        body = {"approved": True, "argument_hash": wrong}
        problem(shared.call("POST", path, body), 409, "argument_hash")
    problem(shared.call("POST", path, {"approved": True, "argument_hash": "x"}), 422)
    assert shared.got(f"/approvals/{approval['id']}")["state"] == "pending"
    shared.made(path, {"approved": True, "argument_hash": hashed[:16]})
    shared.work()
    assert shared.got(f"/turns/{approval['turn_id']}")["status"] == "completed"


@pytest.mark.parametrize("approved", [True, False])
def test_the_owner_decides_once_and_the_turn_does_as_told(shared: House, *, approved: bool) -> None:
    approval = waiting(shared)
    path = f"/approvals/{approval['id']}/decide"
    body = {"approved": approved, "reason": "いいよ"}
    problem(shared.call("POST", path, body, key=shared.chat), 403)
    decided = shared.made(path, body)
    assert decided["state"] == ("approved" if approved else "rejected")
    assert shared.made(path, body) == decided
    problem(shared.call("POST", path, {"approved": not approved}), 409)
    shared.work()
    file = shared.call("GET", f"/agents/{approval['agent_id']}/workspace/memo.txt")
    assert (file.status_code == 200) is approved
    turn = shared.got(f"/turns/{approval['turn_id']}")
    assert turn["status"] == ("completed" if approved else "stopped")
    assert approval["id"] not in [one["id"] for one in opened(shared)]
    (found,) = [one for one in opened(shared, "decided") if one["id"] == approval["id"]]
    assert found["reason"] == "いいよ"


def test_decisions_by_turn_and_by_approval_are_the_same_thing(shared: House) -> None:
    approval = waiting(shared)
    shared.made(f"/turns/{approval['turn_id']}/decide", {"approved": False})
    assert shared.got(f"/approvals/{approval['id']}")["state"] == "rejected"
    problem(shared.call("POST", f"/approvals/{approval['id']}/decide", {"approved": True}), 409)
    shared.work()


def test_a_delegate_decides_with_a_chat_key(shared: House) -> None:
    secret, key = shared.key(Scope.CHAT)
    approval = waiting(shared, approvals={"delegates": [key.id]})
    path = f"/approvals/{approval['id']}/decide"
    assert "memo.txt" in shared.got(f"/approvals/{approval['id']}", key=secret)["what"]
    problem(shared.call("POST", path, {"approved": True}, key=shared.chat), 403)
    assert shared.made(path, {"approved": True}, key=secret)["by"] == key.id
    shared.work()
    assert shared.got(f"/turns/{approval['turn_id']}")["status"] == "completed"


def test_a_stopped_turn_takes_its_question_back(shared: House) -> None:
    approval = waiting(shared)
    shared.made(f"/turns/{approval['turn_id']}/cancel", {})
    shared.work()
    run_autonomy_sweep(shared.runtime)
    assert shared.got(f"/approvals/{approval['id']}")["state"] == "withdrawn"


def test_open_approvals_come_in_pages(house: House) -> None:
    ids = [waiting(house)["id"] for _ in range(3)]
    page = house.got("/approvals?limit=2")
    rest = house.got(f"/approvals?limit=2&cursor={page['next_cursor']}")
    assert [one["id"] for one in page["items"] + rest["items"]] == sorted(ids)
    problem(house.call("GET", f"/approvals?state=decided&cursor={page['next_cursor']}"), 422)


def test_a_grant_lets_so_many_calls_run_unasked(shared: House) -> None:
    agent_id = shared.agent(policy="strict")
    path = f"/agents/{agent_id}/grants"
    new = {"actions": ["ws_write"], "calls": 1, "hours": 1}
    problem(shared.call("POST", path, new, key=shared.chat), 403)
    grant = shared.made(path, new)
    for expected in ("completed", "waiting"):
        (turn_id,) = shared.say(shared.session(agent_id), WRITE)
        shared.work()
        assert shared.got(f"/turns/{turn_id}")["status"] == expected
    assert shared.got(path)["items"] == [{**grant, "used": 1}]
    assert shared.call("DELETE", f"{path}/{grant['id']}").status_code == 200
    problem(shared.call("DELETE", f"{path}/{grant['id']}"), 404)
    assert shared.got(path)["items"] == []


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"calls": 1, "hours": 1}, "body"),
        ({"actions": ["ws_write"], "calls": 1}, "body"),
        ({"actions": ["ws_write"], "calls": 0, "hours": 1}, "calls"),
        ({"impacts": ["speech"], "calls": 1, "hours": 1}, "impacts"),
        ({"actions": ["no_such"], "calls": 1, "hours": 1}, "actions"),
        ({"actions": ["ws_write"], "calls": 1, "until": "2020-01-01T00:00:00Z"}, "until"),
    ],
)
def test_a_grant_that_says_too_little_is_refused(
    shared: House, body: dict[str, Any], field: str
) -> None:
    problem(shared.call("POST", f"/agents/{shared.agent()}/grants", body), 422, field)


def test_a_policy_may_be_a_list_of_impacts_and_actions(shared: House) -> None:
    agent_id = shared.agent(policy=["read", "ws_write"])
    path = f"/agents/{agent_id}"
    assert shared.got(path)["policy"] == ["read", "ws_write"]
    (turn_id,) = shared.say(shared.session(agent_id), WRITE)
    shared.work()
    assert shared.got(f"/turns/{turn_id}")["status"] == "completed"
    changed = shared.call("PATCH", path, {"policy": [], "approvals": {"expire_minutes": 5}})
    assert (changed.json()["policy"], changed.json()["approvals"]["expire_minutes"]) == ([], 5)
    (turn_id,) = shared.say(shared.session(agent_id), WRITE)
    shared.work()
    assert shared.got(f"/turns/{turn_id}")["status"] == "waiting"
    (approval,) = [one for one in opened(shared) if one["turn_id"] == turn_id]
    assert approval["expires_at"] is not None
    for wrong in (["ws_wirte"], "relaxed", ["Ws Write"]):
        refused = problem(shared.call("PATCH", path, {"policy": wrong}), 422)
        assert refused["field"].startswith("policy")
    put = shared.call("PUT", path, {"name": "Mika"})
    assert (put.json()["policy"], put.json()["approvals"]["expire_minutes"]) == ("guarded", None)
