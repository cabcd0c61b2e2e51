"""Chat from a script: one thing said, or lines from a pipe, and patience with a lost connection."""

import json

import httpx
import pytest

from opencrab.domain.turn.turn import TurnStatus
from opencrab.gateways.cli.scripting.exit_code import ExitCode
from opencrab.gateways.cli.terminal.exchange import MESSAGE_BYTES, TRIES, WAIT_SECONDS
from tests.unit.gateways.cli.server import Program, Server, ok, page, problem
from tests.unit.gateways.cli.views import (
    agent_view,
    answered,
    outcome_view,
    reply_view,
    session_view,
    story_view,
)

ADA = agent_view("Ada")
SAY = "POST /sessions/s1/messages"
DOWN = httpx.ConnectError("refused")


@pytest.fixture
def server() -> Server:
    """One agent that answers."""
    server = Server()
    server.on("GET /agents", page(ADA))
    server.on("POST /sessions", ok(session_view("ada-id"), 201))
    server.on(SAY, ok(answered(reply_view("Ada", "はい、Kana"))))
    return server


def said(server: Server) -> list[httpx.Request]:
    return [request for request in server.requests if request.url.path.endswith("/messages")]


@pytest.mark.parametrize("text", ["Hello?", "こんにちは"])
def test_one_thing_is_said_and_the_answer_is_all_that_is_written(
    program: Program, server: Server, text: str
) -> None:
    shown = program.run("chat", "Ada", "--say", text)
    assert (shown.code, shown.out, shown.err) == (0, "はい、Kana\n", "")
    assert server.sent("POST") == [{"participants": ["ada-id"]}, {"text": text}]
    assert said(server)[0].headers["Prefer"] == f"wait={WAIT_SECONDS}"


def test_the_only_agent_needs_no_name(program: Program) -> None:
    assert program.run("chat", "--say", "hi").out == "はい、Kana\n"


def test_a_speaker_may_have_a_name(program: Program, server: Server) -> None:
    program.run("chat", "--say", "hi", "--as", "かな")
    assert server.sent("POST")[1] == {"text": "hi", "sender_name": "かな"}


def test_a_conversation_is_continued_without_looking_for_an_agent(
    program: Program, server: Server
) -> None:
    program.run("chat", "--session", "s1", "--say", "hi")
    assert [request.url.path for request in server.requests] == ["/api/sessions/s1/messages"]


def test_lines_from_a_pipe_are_answered_one_by_one_in_one_conversation(
    program: Program, server: Server
) -> None:
    answers = [ok(answered(reply_view("Ada", text))) for text in ("一", "two")]
    server.on(SAY, *answers)
    shown = program.run("chat", "Ada", typed="いち\n\n  \ntwo\r\n")
    assert shown.out == "一\ntwo\n"
    assert server.sent("POST") == [
        {"participants": ["ada-id"]},
        {"text": "いち"},
        {"text": "two"},
    ]
    assert len({request.headers["Idempotency-Key"] for request in said(server)}) == 2


def test_an_empty_pipe_opens_no_conversation_and_is_an_error(
    program: Program, server: Server
) -> None:
    said = program.run("chat", "Ada", typed="\n")
    assert (said.code, said.err.splitlines()[0]) == (2, "opencrab: the message is empty")
    assert server.sent("POST") == []


def test_a_script_gets_one_json_value_for_each_message(program: Program) -> None:
    report = {
        "session_id": "s1",
        "turn_ids": ["t1"],
        "status": "completed",
        "error": None,
        "cost_micro_usd": 1_250,
        "replies": [reply_view("Ada", "はい、Kana")],
        "pending": [],
        "turns": [outcome_view()],
    }
    assert program.run("chat", "--say", "hi", "--json").json == report
    lines = program.run("chat", "--json", typed="a\nb\n").out.splitlines()
    assert [json.loads(line) for line in lines] == [report, report]


def test_several_agents_answer_under_their_names(program: Program, server: Server) -> None:
    replies = [reply_view("Ada", "yes"), reply_view("さくら", "はい", 3, "t2")]
    server.on(SAY, ok(answered(*replies)))
    assert program.run("chat", "--session", "s1", "--say", "?").out == "Ada: yes\nさくら: はい\n"


def test_what_comes_later_is_waited_for_under_the_same_name(
    program: Program, server: Server
) -> None:
    first, second = reply_view("Ada", "wait"), reply_view("Ada", "done", 3)
    late = answered(first, pending=("t1",))
    server.on(SAY, ok(late), ok(answered(first, second)))
    server.on("GET /turns/t1", ok(story_view(status="running", ended_at=None)))
    assert program.run("chat", "--say", "hi").out == "wait\ndone\n"
    assert len({request.headers["Idempotency-Key"] for request in said(server)}) == 1


@pytest.mark.parametrize(
    ("language", "told"), [("en", "retrying with the same message"), ("ja", "同じメッセージ")]
)
def test_a_lost_connection_is_tried_again_with_the_same_message(
    program: Program, server: Server, language: str, told: str
) -> None:
    server.on(SAY, httpx.ReadError("cut"), DOWN, ok(answered(reply_view("Ada", "yes"))))
    shown = program.run("--language", language, "chat", "--say", "hi")
    assert (shown.code, shown.out) == (0, "yes\n")
    assert shown.err.count(told) == 2
    assert program.pauses == [1.0, 2.0]
    assert len({request.headers["Idempotency-Key"] for request in said(server)}) == 1


def test_patience_ends_and_says_what_to_do(program: Program, server: Server) -> None:
    server.on(SAY, DOWN)
    shown = program.run("chat", "--say", "hi")
    assert (shown.code, shown.out) == (3, "")
    assert "`make up`" in shown.err
    assert len(said(server)) == TRIES
    assert program.pauses == [1.0, 2.0, 4.0, 8.0, 8.0]


def test_a_refusal_is_not_tried_again(program: Program, server: Server) -> None:
    server.on(SAY, problem(429, "the budget is used up", cure="wait for tomorrow"))
    shown = program.run("chat", "--say", "hi")
    assert shown.err == "opencrab: the budget is used up\n  → wait for tomorrow\n"
    assert len(said(server)) == 1


@pytest.mark.parametrize("language", ["en", "ja"])
def test_a_turn_that_waits_for_a_human_says_how_to_decide(
    program: Program, server: Server, language: str
) -> None:
    asked = {**reply_view("Ada", "承認を待っています: ws_delete"), "kind": "approval"}
    waiting = {"status": TurnStatus.WAITING}
    server.on(SAY, ok(answered(reply_view("Ada", "may I?"), asked, pending=("t1",), **waiting)))
    server.on("GET /turns/t1", ok(story_view(status="waiting", ended_at=None)))
    shown = program.run("--language", language, "chat", "--say", "hi")
    assert (shown.code, shown.out) == (ExitCode.WAITING, "may I?\n")
    assert "承認を待っています: ws_delete" in shown.err
    assert "opencrab approvals approve t1" in shown.err
    report = program.run("chat", "--say", "hi", "--json").json
    assert (report["status"], report["error"]["type"]) == ("waiting", "waiting")


@pytest.mark.parametrize(
    ("language", "agents", "message"),
    [
        ("en", [], "there are no agents"),
        ("ja", [], "エージェントはまだいません"),
        ("en", [ADA, agent_view("Eve")], "there are several agents"),
        ("ja", [ADA, agent_view("Eve")], "エージェントが複数います"),
    ],
)
def test_a_script_must_say_whom_it_talks_to(
    program: Program, server: Server, language: str, agents: list[object], message: str
) -> None:
    server.on("GET /agents", page(*agents))
    refused = program.run("--language", language, "chat", "--say", "hi")
    assert refused.code == 5
    assert message in refused.err
    assert "  → " in refused.err


@pytest.mark.parametrize("text", ["", "  ", "\x1b[0m"])
def test_nothing_is_not_said(program: Program, server: Server, text: str) -> None:
    refused = program.run("chat", "--say", text)
    assert (refused.code, refused.err) == (
        2,
        "opencrab: the message is empty\n  → write a message\n",
    )
    assert server.sent("POST") == []


@pytest.mark.parametrize(
    ("language", "told"), [("en", "the limit is 65536"), ("ja", "上限は 65536")]
)
def test_too_much_is_refused_before_it_is_sent(
    program: Program, server: Server, language: str, told: str
) -> None:
    most = "あ" * (MESSAGE_BYTES // 3)
    assert program.run("chat", "--say", most).code == 0
    sent = len(server.requests)
    refused = program.run("--language", language, "chat", "Ada", "--say", most + "いい")
    assert refused.code == 2
    assert told in refused.err
    assert len(server.sent("POST")) == 2
    assert len(server.requests) == sent + 1


def test_an_answer_cannot_speak_to_the_terminal(program: Program, server: Server) -> None:
    server.on(SAY, ok(answered(reply_view("Ada", "a\x1b[2Jb\u202ec\x07\td"))))
    assert program.run("chat", "--say", "hi").out == "abc    d\n"
    assert "\x1b" not in program.run("chat", "--say", "hi", "--json").out


def test_half_a_character_from_a_shell_becomes_a_mark(program: Program, server: Server) -> None:
    program.run("chat", "--say", "a\udcffb")
    assert server.sent("POST")[1] == {"text": "a?b"}


@pytest.mark.parametrize(
    ("status", "kind", "code"),
    [
        (TurnStatus.FAILED, "unanswered", ExitCode.FAILED),
        (TurnStatus.FAILED, "failed", ExitCode.FAILED),
        (TurnStatus.STOPPED, "stopped", ExitCode.STOPPED),
        (TurnStatus.STOPPED, "frozen", ExitCode.FROZEN),
        (TurnStatus.EXHAUSTED, "exhausted", ExitCode.EXHAUSTED),
        (TurnStatus.IDLE, "unanswered", ExitCode.FAILED),
    ],
)
def test_a_notice_instead_of_an_answer_is_an_error_to_a_script(
    program: Program, server: Server, status: TurnStatus, kind: str, code: ExitCode
) -> None:
    notice = {**reply_view("Ada", "残念です"), "kind": "system"}
    server.on(SAY, ok(answered(notice, status=status, kind=kind)))
    shown = program.run("chat", "Ada", "--say", "hi")
    assert (shown.code, shown.out) == (code, "")
    assert shown.err == "opencrab: 残念です\n  → do something\n"
    error = {"type": kind, "message": "残念です", "cure": "do something", "fault": None}
    told = program.run("chat", "Ada", "--say", "hi", "--json")
    assert (told.code, told.json["status"], told.json["error"]) == (code, status.value, error)
    assert json.loads(told.err) == {"error": error}


def test_what_was_said_before_a_stop_is_the_answer(program: Program, server: Server) -> None:
    notice = {**reply_view("Ada", "stopped", 3), "kind": "system"}
    stopped = answered(
        reply_view("Ada", "half an"), notice, status=TurnStatus.STOPPED, kind="stopped"
    )
    server.on(SAY, ok(stopped))
    shown = program.run("chat", "Ada", "--say", "hi")
    assert (shown.code, shown.out) == (ExitCode.STOPPED, "half an\n")


def test_a_notice_beside_an_answer_is_a_note(program: Program, server: Server) -> None:
    notice = {**reply_view("Ada", "a task was cancelled", 3), "kind": "system"}
    server.on(SAY, ok(answered(reply_view("Ada", "yes"), notice)))
    shown = program.run("chat", "Ada", "--say", "hi")
    assert (shown.code, shown.out, shown.err) == (0, "yes\n", "a task was cancelled\n")
    assert program.run("chat", "Ada", "--say", "hi", "--quiet").err == ""


@pytest.mark.parametrize(
    ("status", "kind"), [("failed", "failed"), ("stopped", "stopped"), ("completed", None)]
)
def test_a_server_that_tells_no_outcome_is_asked_for_the_turn(
    program: Program, server: Server, status: str, kind: str | None
) -> None:
    told = answered({**reply_view("Ada", "sorry"), "kind": "system"})
    del told["turns"]
    server.on(SAY, ok(told))
    server.on("GET /turns/t1", ok(story_view(status=status)))
    report = program.run("chat", "Ada", "--say", "hi", "--json").json
    assert (report["status"], report["error"] and report["error"]["type"]) == (status, kind)


def test_several_agents_have_a_status_each_and_the_worst_for_all(
    program: Program, server: Server
) -> None:
    replies = [
        reply_view("Ada", "yes"),
        {**reply_view("さくら", "残念", 3, "t2"), "kind": "system"},
    ]
    told = answered(*replies)
    told["turns"][1] = outcome_view("t2", status=TurnStatus.EXHAUSTED, kind="exhausted")
    server.on(SAY, ok(told))
    shown = program.run("chat", "--session", "s1", "--say", "?", "--json")
    assert (shown.code, shown.json["status"]) == (ExitCode.EXHAUSTED, "exhausted")
    assert shown.json["cost_micro_usd"] == 2_500
    assert [turn["status"] for turn in shown.json["turns"]] == ["completed", "exhausted"]


def test_a_failure_does_not_keep_the_other_lines_of_a_pipe_from_being_said(
    program: Program, server: Server
) -> None:
    notice = {**reply_view("Ada", "残念"), "kind": "system"}
    failed = answered(notice, status=TurnStatus.FAILED, kind="failed")
    server.on(SAY, ok(failed), ok(answered(reply_view("Ada", "two", turn_id="t2"))))
    shown = program.run("chat", "Ada", typed="いち\ntwo\n")
    assert (shown.code, shown.out) == (1, "two\n")
    assert "残念" in shown.err


@pytest.mark.parametrize(("words", "piped"), [("review this", "+ a\n+ b\n"), ("見て", "蟹\n")])
def test_a_pipe_follows_the_words_in_one_message(
    program: Program, server: Server, words: str, piped: str
) -> None:
    assert program.run("chat", "Ada", "--say", words, typed=piped).code == 0
    assert server.sent("POST")[1] == {"text": f"{words}\n\n{piped.rstrip()}"}


def test_a_dash_is_the_whole_pipe_as_one_message(program: Program, server: Server) -> None:
    assert program.run("chat", "Ada", "--say", "-", typed="a\n\n蟹\n").code == 0
    assert server.sent("POST")[1] == {"text": "a\n\n蟹\n"}
    empty = program.run("chat", "Ada", "--say", "-", typed="\n")
    assert (empty.code, len(server.sent("POST"))) == (ExitCode.USAGE, 2)


@pytest.mark.parametrize("language", ["en", "ja"])
@pytest.mark.parametrize("content", [b"caf\xe9", b"GIF\x00\x01", b"\x89PNG\r\n\x1a\n"])
def test_a_pipe_that_is_no_text_is_refused_and_nothing_is_sent(
    program: Program, server: Server, content: bytes, language: str
) -> None:
    shown = program.run("--language", language, "chat", "Ada", "--say", "見て", typed=content)
    assert (shown.code, server.sent("POST")) == (ExitCode.USAGE, [])
    assert "UTF-8" in shown.err
    assert "iconv" in shown.err


def test_a_pipe_that_is_too_long_is_refused_whole(program: Program, server: Server) -> None:
    shown = program.run("chat", "Ada", "--say", "see", typed="あ" * (MESSAGE_BYTES // 3))
    assert (shown.code, server.sent("POST")) == (ExitCode.USAGE, [])
    assert "the limit is 65536" in shown.err
    assert program.run("chat", "Ada", "--say", "-", typed="a" * 9_000_000).code == 2


def test_a_line_that_is_no_text_does_not_keep_the_others_from_being_said(
    program: Program, server: Server
) -> None:
    shown = program.run("chat", "Ada", typed=b"one\n\xff\n" + "三\n".encode())
    assert (shown.code, shown.out) == (ExitCode.USAGE, "はい、Kana\n" * 2)
    assert "line 2" in shown.err
    assert server.sent("POST")[1:] == [{"text": "one"}, {"text": "三"}]


def test_who_may_not_be_asked_must_say_something(program: Program) -> None:
    shown = program.sit("chat", "Ada", "--no-input", typed=["hello"])
    assert shown.code == ExitCode.USAGE
    assert "--say" in shown.err
