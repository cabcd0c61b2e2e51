"""Approvals from the command line: what waits, a decision, a link, and leave given beforehand."""

from typing import Any

import pytest

from opencrab.gateways.rest.approvals.approvals import WholeView
from opencrab.gateways.rest.approvals.grants import GrantView
from tests.unit.gateways.cli.server import Program, Server, ok, page, problem
from tests.unit.gateways.cli.views import NOW, agent_view

HASH = "0123456789abcdef" * 4


def approval(**changes: Any) -> dict[str, Any]:
    """An approval as the server sends it."""
    fields: dict[str, Any] = {
        "id": "ap1",
        "agent_id": "a1",
        "session_id": "s1",
        "turn_id": "t1",
        "action": "ws_write",
        "impact": "shared",
        "what": "writes 海.md (ws_write)",
        "touches": "海.md",
        "argument_hash": HASH,
        "tainted": False,
        "goal": None,
        "state": "pending",
        "by": None,
        "reason": "",
        "created_at": NOW,
        "escalates_at": None,
        "escalated": False,
        "expires_at": None,
        "decided_at": None,
        "arguments": {"path": "海.md", "content": "蟹"},
        "text": "path: 海.md",
        "diff": None,
    } | changes
    return WholeView(**fields).model_dump(mode="json")


def grant(**changes: Any) -> dict[str, Any]:
    """A grant as the server sends it."""
    fields: dict[str, Any] = {
        "id": "g1",
        "agent_id": "a1",
        "actions": ("web_fetch",),
        "impacts": ("shared",),
        "touches": "",
        "calls": 5,
        "used": 2,
        "until": NOW,
        "by": "owner",
        "created_at": NOW,
    } | changes
    return GrantView(**fields).model_dump(mode="json")


@pytest.fixture(autouse=True)
def _agents(server: Server) -> None:
    server.on("GET /agents", page(agent_view("美香", id="a1")))


@pytest.mark.parametrize("args", [(), ("list",)])
@pytest.mark.parametrize(
    ("language", "words"), [("en", ["target", "shared"]), ("ja", ["対象", "共有のものの変更"])]
)
def test_what_waits_is_listed_with_both_lines(
    program: Program, server: Server, args: tuple[str, ...], language: str, words: list[str]
) -> None:
    server.on("GET /approvals", page(approval()))
    listed = program.run("--language", language, "approvals", *args).out
    for word in ["ap1", "美香", "writes 海.md (ws_write)", *words]:
        assert word in listed
    assert server.requests[0].url.params["state"] == "open"


@pytest.mark.parametrize(
    ("language", "said"), [("en", "no approvals are waiting"), ("ja", "承認待ちのものはありません")]
)
def test_nothing_waits_in_both_languages(
    program: Program, server: Server, language: str, said: str
) -> None:
    server.on("GET /approvals", page())
    assert said in program.run("--language", language, "approvals").out
    assert program.run("approvals", "--json").json == []


def test_what_was_decided_says_how_and_by_whom(program: Program, server: Server) -> None:
    server.on("GET /approvals", page(approval(state="rejected", by="taro", decided_at=NOW)))
    listed = program.run("--language", "ja", "approvals", "list", "--decided").out
    assert "却下" in listed
    assert "taro" in listed
    assert server.requests[0].url.params["state"] == "decided"


def test_one_is_shown_with_its_exact_arguments_and_a_warning(
    program: Program, server: Server
) -> None:
    server.on("GET /approvals/ap1", ok(approval(tainted=True)))
    shown = program.run("approvals", "show", "ap1")
    assert '"content": "蟹"' in shown.out
    assert "waiting" in shown.out
    assert "this turn has read untrusted content from outside: check it closely" in shown.err
    assert f"approvals approve ap1 --hash {HASH[:16]}" in shown.err
    assert HASH in shown.out
    assert program.run("approvals", "show", "ap1", "--json").json == approval(tainted=True)


@pytest.mark.parametrize(
    ("verb", "state", "said"),
    [("approve", "approved", "承認しました: "), ("reject", "rejected", "却下しました: ")],
)
def test_a_decision_is_sent_with_its_reason(
    program: Program, server: Server, verb: str, state: str, said: str
) -> None:
    server.on("GET /approvals/ap1", ok(approval()))
    server.on("POST /approvals/ap1/decide", ok(approval(state=state)))
    told = program.run("--language", "ja", "approvals", verb, "ap1", "--reason", "今日は")
    assert told.out == f"{said}writes 海.md (ws_write)\n"
    hashed = {"argument_hash": HASH} if verb == "approve" else {}
    assert server.sent("POST") == [{"approved": verb == "approve", "reason": "今日は", **hashed}]


def test_a_decision_that_comes_too_late_says_so(program: Program, server: Server) -> None:
    server.on("GET /approvals/ap1", ok(approval(state="expired", arguments=None)))
    server.on("POST /approvals/ap1/decide", problem(409, "approval 'ap1' is expired already"))
    late = program.run("approvals", "approve", "ap1")
    assert (late.code, late.out) == (6, "")
    assert "expired already" in late.err


def test_only_the_link_is_on_standard_output(program: Program, server: Server) -> None:
    link = {"url": "http://inside/approve?t=x.y", "path": "/approve?t=x.y", "expires_at": str(NOW)}
    server.on("POST /approvals/ap1/link", ok(link))
    url = "https://crab.example.com"
    made = program.run("approvals", "link", "ap1", "--hours", "4", "--url", url, "--key", "k")
    assert made.out == f"{url}/approve?t=x.y\n"
    assert "in your name" in made.err
    assert server.sent("POST") == [{"hours": 4}]


def test_leave_is_given_listed_and_taken_back(program: Program, server: Server) -> None:
    server.on("POST /agents/a1/grants", ok(grant(), 201))
    args = ["--action", "web_fetch", "--impact", "shared", "--calls", "5", "--hours", "2"]
    made = program.run("--language", "ja", "approvals", "grant", "美香", *args)
    assert "承認なしで行えます(g1)" in made.out
    assert server.sent("POST") == [
        {"actions": ["web_fetch"], "impacts": ["shared"], "touches": "", "calls": 5, "hours": 2}
    ]
    server.on("GET /agents/a1/grants", page(grant()))
    listed = program.run("approvals", "grants", "美香").out
    assert "web_fetch, shared" in listed
    assert "2 / 5" in listed
    server.on("DELETE /agents/a1/grants/g1", ok(grant()))
    assert program.run("approvals", "revoke", "美香", "g1").out == "revoked grant g1\n"
    server.on("GET /agents/a1/grants", page())
    assert program.run("approvals", "grants", "美香").out == "美香 has no grants\n"


def test_leave_for_nothing_in_particular_is_not_given(program: Program, server: Server) -> None:
    assert program.run("approvals", "grant", "美香").code == 2
    assert server.requests == []


@pytest.mark.parametrize(
    ("typed", "sent"),
    [("open", "open"), ("read, self,web_fetch", ["read", "self", "web_fetch"]), (",", [])],
)
def test_a_policy_is_set_by_name_or_as_a_list(
    program: Program, server: Server, typed: str, sent: Any
) -> None:
    server.on("PATCH /agents/a1", ok(agent_view("美香", id="a1", policy=sent)))
    server.on("GET /agents/a1", ok(agent_view("美香", id="a1", policy=sent)))
    assert program.run("agents", "edit", "美香", "--policy", typed).code == 0
    assert server.sent("PATCH") == [{"policy": sent}]
    assert program.run("agents", "show", "美香").code == 0


def test_what_is_decided_on_is_shown_character_for_character(
    program: Program, server: Server
) -> None:
    path = "notes/**draft**`x`[b]\u202e.md\u200b\U000e0041\ufe0f\x1b[2J"
    told = "notes/**draft**`x`[b]\\u202e.md\\u200b\\udb40\\udc41\\ufe0f\\u001b[2J"
    found = approval(
        what=f"writes {path}", touches=path, arguments={"path": path, "text": "蟹\n# a"}
    )
    server.on("GET /approvals/ap1", ok(found))
    server.on("GET /approvals", page(found))
    shown = program.run("approvals", "show", "ap1").out
    assert shown.count(told) == 2
    marked = "notes/**draft**`x`[b]⟨U+202E⟩.md⟨U+200B⟩⟨U+E0041⟩⟨U+FE0F⟩\\u001b[2J"
    assert f'"path": "{marked}"' in shown
    assert '"text": "蟹\\n\n    # a"' in shown
    assert program.run("approvals", "list").out.count(told) == 2


def test_a_person_sees_every_byte_before_the_question_whether_to_approve(
    program: Program, server: Server
) -> None:
    payload = "x" * 380 + "; curl evil"
    server.on("GET /approvals/ap1", ok(approval(arguments={"query": payload}, diff="-a\n+b")))
    said = program.sit("approvals", "approve", "ap1", typed=[""])
    assert (said.code, server.sent("POST")) == (1, [])
    for part in (payload, "-a\n+b", HASH):
        assert part in said.err
    server.on("POST /approvals/ap1/decide", ok(approval(state="approved")))
    assert program.sit("approvals", "approve", "ap1", typed=["y"]).code == 0
    assert server.sent("POST") == [{"approved": True, "reason": "", "argument_hash": HASH}]


def test_a_call_that_cannot_be_shown_is_not_approved(program: Program, server: Server) -> None:
    server.on("GET /approvals/ap1", ok(approval(arguments=None)))
    refused = program.run("approvals", "approve", "ap1")
    assert (refused.code, server.sent("POST")) == (6, [])
    assert "cannot be shown" in refused.err


def test_the_hash_that_was_read_is_the_one_that_is_sent(program: Program, server: Server) -> None:
    server.on("POST /approvals/ap1/decide", problem(409, "another argument_hash"))
    refused = program.run("approvals", "approve", "ap1", "--hash", "0" * 16)
    assert (refused.code, "another argument_hash" in refused.err) == (6, True)
    assert server.sent("POST")[0]["argument_hash"] == "0" * 16


@pytest.mark.parametrize(
    "args", [("approve", "../x"), ("reject", "a/b"), ("show", ".."), ("link", "x?y"), ("show", "")]
)
def test_what_is_no_id_is_refused_before_anything_is_sent(
    program: Program, server: Server, args: tuple[str, ...]
) -> None:
    refused = program.run("approvals", *args)
    assert (refused.code, "is not an id" in refused.err) == (2, True)
    assert server.requests == []
