"""A turn as a readable story, stopped on request, and decided when it waits for a human."""

import pytest

from opencrab.domain.access.authority import Authority
from opencrab.domain.conversation.message import LineKind
from opencrab.domain.money.budget import Usage
from opencrab.domain.turn.record import Reflection
from opencrab.domain.turn.turn import Stop, TurnStatus
from tests.unit.gateways.cli.approvals.test_approvals import HASH, approval
from tests.unit.gateways.cli.server import Program, Server, ok, page, problem
from tests.unit.gateways.cli.views import (
    NOW,
    agent_view,
    approval_view,
    call_view,
    line_view,
    step_view,
    story_view,
)

STEPS = (
    step_view(
        usage=Usage(input_tokens=954, output_tokens=97),
        thought=Reflection(judgment="they are hungry", intent="to help"),
        memory_update="likes 寿司",
        calls=(
            call_view("ws_write", arguments={"path": "memo.txt"}, data={"path": "memo.txt"}),
            call_view("ws_read", state="failed", error="no such file"),
            call_view("ws_list", state="unknown"),
        ),
    ),
    step_view(number=2, text="Done.\n## 完了"),
    step_view(number=3, state="failed", error="the model is busy"),
)
LINES = (
    line_view(2, "Ada", "Done.", turn_id="t1"),
    line_view(3, "OpenCrab", "asked", turn_id="t1", kind=LineKind.APPROVAL),
    line_view(1, "Kana", "memoに書いて"),
)


@pytest.fixture
def server() -> Server:
    """One turn in one session."""
    server = Server()
    server.on("GET /turns/t1", ok(story_view(*STEPS)))
    server.on("GET /sessions/s1/messages", page(*LINES))
    return server


def lines_of(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def test_a_turn_is_told_from_its_trigger_to_its_end(program: Program) -> None:
    story = lines_of(program.run("turns", "show", "t1").out)
    assert story[0] == "Ada · turn t1"
    assert story[1].startswith("message through cli, on behalf of owner, 2026-01-0")
    assert story[2] == "Kana: memoに書いて"
    assert story[3:-3] == [
        "step 1 · openai:gpt · 954→97 tokens · 320 ms · $0.00125",
        "judgment: they are hungry",
        "intent: to help",
        "to remember: likes 寿司",
        '✓ ws_write {"path": "memo.txt"}',
        '→ {"path": "memo.txt"}',
        "✗ ws_read",
        "→ no such file",
        "✗ ws_list",
        "→ unknown",
        "step 2 · openai:gpt · 320 ms · $0.00125",
        "answer: Done.",
        "## 完了",
        "step 3 · openai:gpt · 320 ms · failed",
        "error: the model is busy",
    ]
    assert story[-3:] == ["» Ada", "Done.", "completed after 3 model call(s), 2.0 s, $0.00375"]


def test_the_story_speaks_japanese(program: Program) -> None:
    story = lines_of(program.run("--language", "ja", "turns", "show", "t1").out)
    assert story[0] == "Ada ・ ターン t1"
    assert story[1].startswith("きっかけ: メッセージ(cli、権限: オーナー、2026-01-0")
    for line in ("判断: they are hungry", "意図: to help", "覚えること: likes 寿司", "→ 結果不明"):
        assert line in story
    assert story[-1] == "完了: モデル呼び出し 3 回、2.0 秒、$0.00375"


def test_a_script_gets_the_story_as_it_is(program: Program, server: Server) -> None:
    assert program.run("turns", "show", "t1", "--json").json == story_view(*STEPS)
    assert len(server.requests) == 1


def test_a_story_can_be_told_without_the_lines_of_its_session(
    program: Program, server: Server
) -> None:
    server.on("GET /sessions/s1/messages", problem(403, "not yours"))
    story = program.run("turns", "show", "t1")
    assert story.code == 0
    assert lines_of(story.out)[0] == "ada-id · turn t1"


@pytest.mark.parametrize(
    ("language", "asked", "decide"),
    [
        (
            "en",
            "asks for approval: send the letter",
            "waiting for approval: opencrab approvals approve",
        ),
        ("ja", "承認待ち: send the letter", "承認待ちです"),
    ],
)
def test_a_waiting_turn_says_what_for_and_how_to_decide(
    program: Program, server: Server, language: str, asked: str, decide: str
) -> None:
    call = call_view("post", state="waiting", approval=approval_view())
    waiting = story_view(step_view(calls=(call,)), status=TurnStatus.WAITING, ended_at=None)
    server.on("GET /turns/t1", ok(waiting))
    story = program.run("--language", language, "turns", "show", "t1").out
    assert "? post" in story
    assert asked in story
    assert decide in story
    assert "opencrab approvals approve t1" in story


def test_a_decision_and_a_stop_are_part_of_the_story(program: Program, server: Server) -> None:
    decided = approval_view(approved=False, by="k1", reason="too early")
    call = call_view("post", state="refused", error="a human said no", approval=decided)
    stop = Stop(by="k1", at=NOW, reason="enough")
    told = story_view(
        step_view(calls=(call,)), status=TurnStatus.STOPPED, stop=stop, note="it was stopped"
    )
    server.on("GET /turns/t1", ok(told))
    story = lines_of(program.run("turns", "show", "t1").out)
    assert "rejected: send the letter too early" in story
    assert story[-2].startswith("stop requested by k1, 2026-01-0")
    assert story[-2].endswith("enough")
    assert story[-1] == "it was stopped"


def test_a_story_cannot_speak_to_the_terminal(program: Program, server: Server) -> None:
    evil = "a\x1b[2J\u202eb"
    step = step_view(model=evil, text=evil, calls=(call_view(evil, arguments={evil: evil}),))
    server.on("GET /turns/t1", ok(story_view(step, note=evil, status=TurnStatus.FAILED)))
    server.on("GET /sessions/s1/messages", page(line_view(1, evil, evil, turn_id="t1")))
    for more in ([], ["--json"]):
        story = program.run("turns", "show", "t1", *more)
        assert story.code == 0
        assert not set(story.out) & set("\x1b\u202e")


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "turn t1 stops before its next call (now: running)\n"),
        ("ja", "ターン t1 は次の呼び出しの前に停止します(現在: 実行中)\n"),
    ],
)
def test_a_turn_is_asked_to_stop(
    program: Program, server: Server, language: str, said: str
) -> None:
    server.on("POST /turns/t1/cancel", ok(story_view(status=TurnStatus.RUNNING)))
    cancel = ["--language", language, "turns", "cancel", "t1", "--reason", "もういい"]
    assert program.run(*cancel).out == said
    assert server.sent("POST") == [{"reason": "もういい"}]
    assert program.run(*cancel, "--json").json["status"] == "running"


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "turn t1 has already ended (failed)\n"),
        ("ja", "ターン t1 はすでに終わっています(失敗)\n"),
    ],
)
def test_a_turn_that_is_over_cannot_be_stopped_and_says_so(
    program: Program, server: Server, language: str, said: str
) -> None:
    server.on("POST /turns/t1/cancel", ok(story_view(status=TurnStatus.FAILED)))
    stopped = program.run("--language", language, "turns", "cancel", "t1")
    assert (stopped.code, stopped.out) == (0, said)


@pytest.mark.parametrize(
    ("language", "flag", "approved", "said"),
    [
        ("en", "--approve", True, "turn t1 continues (queued)\n"),
        ("ja", "--approve", True, "ターン t1 は続行します(順番待ち)\n"),
        ("en", "--reject", False, "turn t1 will end (queued)\n"),
        ("ja", "--reject", False, "ターン t1 は終了します(順番待ち)\n"),
    ],
)
def test_a_waiting_turn_is_decided(
    program: Program, server: Server, language: str, flag: str, said: str, *, approved: bool
) -> None:
    found = approval(arguments={"query": "蟹\u202e"})
    server.on("GET /approvals", page(approval(id="ap0", turn_id="t0"), found))
    server.on("GET /approvals/ap1", ok(found))
    server.on("POST /turns/t1/decide", ok(story_view(status=TurnStatus.QUEUED)))
    decide = ["--language", language, "turns", "decide", "t1", flag]
    decided = program.run(*decide)
    assert decided.out == said
    assert ('"query": "蟹⟨U+202E⟩"' in decided.err) is approved
    hashed = {"argument_hash": HASH} if approved else {}
    assert server.sent("POST") == [{"approved": approved, "reason": "", **hashed}]
    assert program.run(*decide, "--json").json["id"] == "t1"


@pytest.mark.parametrize(
    ("language", "said"), [("en", "give --approve or --reject"), ("ja", "か --reject を")]
)
def test_a_decision_is_never_guessed(
    program: Program, server: Server, language: str, said: str
) -> None:
    refused = program.run("--language", language, "turns", "decide", "t1")
    assert refused.code == 2
    assert said in refused.err
    assert server.requests == []


def test_a_decision_that_comes_too_late_is_explained(program: Program, server: Server) -> None:
    server.on("GET /approvals", page())
    server.on("POST /turns/t1/decide", problem(409, "turn 't1' is not waiting for an approval"))
    late = program.run("turns", "decide", "t1", "--approve")
    assert (late.code, late.err) == (6, "opencrab: turn 't1' is not waiting for an approval\n")


def test_whoever_may_not_read_private_things_still_gets_a_story(
    program: Program, server: Server
) -> None:
    public = step_view(text=None, calls=(call_view("ws_write"),))
    server.on("GET /turns/t1", ok(story_view(public, authority=Authority.USER)))
    story = lines_of(program.run("turns", "show", "t1").out)
    assert "✓ ws_write" in story


def test_turns_are_listed_by_agent_conversation_and_status(
    program: Program, server: Server
) -> None:
    server.on("GET /agents", page(agent_view("Ada")))
    server.on("GET /turns", page(story_view()))
    shown = program.run("turns", "list", "--agent", "Ada", "--status", "completed", "--last", "5")
    assert (shown.code, shown.err) == (0, "")
    assert all(text in shown.out for text in ("t1", "completed"))
    asked = next(each for each in server.requests if each.url.path == "/api/turns")
    assert dict(asked.url.params) == {"agent_id": "ada-id", "status": "completed", "limit": "5"}
    assert program.run("turns", "list", "--json").json[0]["id"] == "t1"
    server.on("GET /turns", page())
    assert program.run("turns", "list", LANG="ja_JP.UTF-8").out == "該当するターンはありません\n"
