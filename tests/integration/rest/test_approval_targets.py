"""Approvals and grants of notes: they hold for the files shown, however these are named."""

from typing import Any

import pytest

from opencrab.adapters.providers.scripted.script import ScriptedAnswer, ScriptedCall
from tests.integration.rest.house import House

DONE = ScriptedAnswer(text="done")
OTHERS = "the owner's own plan"


def call(name: str, **arguments: Any) -> ScriptedAnswer:
    return ScriptedAnswer(calls=(ScriptedCall(name, arguments),))


def run(house: House, agent: str, policy: str, *answers: ScriptedAnswer) -> str:
    """A session in which the agent does this under a policy."""
    house.call("PATCH", f"/agents/{agent}", {"policy": policy})
    session = house.session(agent)
    house.script(*answers, DONE)
    house.say(session, "go")
    house.work()
    return session


def approval(house: House, agent: str) -> dict[str, Any]:
    """The agent's only open approval, whole."""
    items = house.got("/approvals?limit=200")["items"]
    (found,) = [one for one in items if one["agent_id"] == agent]
    shown: dict[str, Any] = house.got(f"/approvals/{found['id']}")
    return shown


def decide(house: House, shown: dict[str, Any]) -> None:
    body = {"approved": True, "argument_hash": shown["argument_hash"]}
    house.made(f"/approvals/{shown['id']}/decide", body)
    house.work()


def files(house: House, agent: str) -> dict[str, str]:
    base = f"/agents/{agent}/workspace"
    paths = [one["path"] for one in house.got(base)["items"]]
    return {path: house.call("GET", f"{base}/{path}").text for path in paths}


def heads(shown: dict[str, Any]) -> list[str]:
    """The file names in an approval's diff."""
    return (shown["diff"] or "").splitlines()[:2]


CALLS = [
    (call("update_note", path="plan", content="NEW"), "vault/drafts/plan.md"),
    (call("update_note", path="plan", content="NEW", append=True), "vault/drafts/plan.md"),
    (call("create_link", source_note="plan", target_note="other"), "vault/drafts/plan.md"),
    (call("create_link", source_note="other", target_note="plan"), "vault/other.md"),
    (call("rename_note", path="plan", new_path="moved"), "vault/drafts/plan.md"),
    (call("apply_template", template_name="mindmap", target_note="plan"), "vault/drafts/plan.md"),
    (call("read_note", path="plan"), "vault/drafts/plan.md"),
]


@pytest.mark.parametrize(("asked", "shown_path"), CALLS)
def test_an_approval_holds_for_the_note_that_was_shown_and_another_is_asked_about_again(
    shared: House, asked: ScriptedAnswer, shown_path: str
) -> None:
    agent = shared.agent(policy="open")
    for folder, title, content in (("drafts", "plan", "old draft"), ("", "other", "x")):
        run(shared, agent, "open", call("create_note", folder=folder, title=title, content=content))
    run(shared, agent, "strict", asked)
    first = approval(shared, agent)
    assert first["touches"].startswith(f"'{shown_path}'")
    assert first["diff"] is None or f"--- {shown_path}" in first["diff"]
    run(shared, agent, "open", call("create_note", title="plan", content=OTHERS))
    before = files(shared, agent)
    assert heads(shared.got(f"/approvals/{first['id']}")) == heads(first)

    shared.script(asked, DONE)
    decide(shared, first)
    assert files(shared, agent) == before
    second = approval(shared, agent)
    assert second["id"] != first["id"]
    assert "'vault/plan.md'" in second["touches"]
    shared.script(DONE)
    decide(shared, second)
    assert shared.got(f"/turns/{second['turn_id']}")["status"] == "completed"
    if asked.calls[0].name not in {"read_note", "rename_note"}:
        assert files(shared, agent) != before


def test_an_approval_runs_if_its_note_is_still_the_one_that_was_shown(shared: House) -> None:
    agent = shared.agent(policy="open")
    run(shared, agent, "open", call("create_note", folder="drafts", title="plan", content="old"))
    run(shared, agent, "strict", call("update_note", path="plan", content="NEW"))
    shared.script(DONE)
    decide(shared, approval(shared, agent))
    assert "NEW" in files(shared, agent)["vault/drafts/plan.md"]


def test_a_note_that_is_not_there_is_told_to_the_model_and_asks_nobody(shared: House) -> None:
    agent = shared.agent(policy="strict")
    session = run(shared, agent, "strict", call("update_note", path="nowhere", content="x"))
    assert [
        one for one in shared.got("/approvals?limit=200")["items"] if one["agent_id"] == agent
    ] == []
    (line,) = shared.got(f"/sessions/{session}/messages?kinds=action")["items"]
    assert "there is no note 'nowhere'" in line["data"]["result"]


@pytest.mark.parametrize(
    "asked",
    [
        call("update_note", path="finance/budget", content="0 EUR"),
        call("update_note", path="drafts/b", content="0 EUR"),
        call("update_note", path="vault/drafts/b", content="0 EUR"),
        call("rename_note", path="drafts/a", new_path="finance/salaries"),
        call("rename_note", path="finance/budget", new_path="drafts/budget"),
        call("create_note", title="drafts/c", folder="finance", content="x"),
        call("create_link", source_note="drafts/b", target_note="drafts/a"),
        call("apply_template", template_name="mindmap", target_note="drafts/b"),
        call("summarize_and_save", content="x", filename="vault/finance/budget.md"),
        call("summarize_and_save", content="x"),
        call("ws_write", path="vault/finance/x.md", content="x"),
        call("ws_delete", path="./vault/finance/budget.md"),
    ],
)
def test_a_grant_with_a_prefix_covers_no_other_file_however_it_is_named(
    shared: House, asked: ScriptedAnswer
) -> None:
    agent = shared.agent(policy="open")
    alias = "---\naliases: [drafts/b]\n---\n1000 EUR"
    run(shared, agent, "open", call("create_note", title="a", folder="drafts", content="x"))
    run(shared, agent, "open", call("create_note", title="budget", folder="finance", content=alias))
    before = files(shared, agent)
    for touches in ("drafts/", "vault/drafts/"):
        grant = {"impacts": ["self"], "touches": touches, "calls": 9, "hours": 1}
        shared.made(f"/agents/{agent}/grants", grant)
    run(shared, agent, "strict", asked)
    assert approval(shared, agent)["action"] == asked.calls[0].name
    assert files(shared, agent) == before
    assert [one["used"] for one in shared.got(f"/agents/{agent}/grants")["items"]] == [0, 0]


@pytest.mark.parametrize(
    "asked",
    [
        call("update_note", path="A", content="new"),
        call("rename_note", path="a", new_path="drafts/old/a"),
        call("create_note", title="c", folder="drafts", content="x"),
        call("ws_write", path="./vault/drafts/x.md", content="x"),
    ],
)
def test_a_grant_with_a_prefix_covers_a_file_below_it_however_it_is_named(
    shared: House, asked: ScriptedAnswer
) -> None:
    agent = shared.agent(policy="open")
    run(shared, agent, "open", call("create_note", title="a", folder="drafts", content="x"))
    before = files(shared, agent)
    grant = {"impacts": ["self"], "touches": "vault/drafts/", "calls": 9, "hours": 1}
    shared.made(f"/agents/{agent}/grants", grant)
    run(shared, agent, "strict", asked)
    assert files(shared, agent) != before
    assert [one["used"] for one in shared.got(f"/agents/{agent}/grants")["items"]] == [1]
