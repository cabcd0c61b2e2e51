"""A person talks to an agent: commands with a slash, interruptions, approvals and lost lines."""

import httpx
import pytest

from tests.unit.gateways.cli.approvals.test_approvals import HASH, approval
from tests.unit.gateways.cli.server import CTRL_C, Program, Said, Server, ok, page, problem
from tests.unit.gateways.cli.views import (
    NOW,
    agent_view,
    answered,
    line_view,
    reply_view,
    session_view,
    story_view,
)

ADA = agent_view("Ada", purpose="to count")
SAY = "POST /sessions/s1/messages"
TURN = "GET /turns/t1"


@pytest.fixture
def server() -> Server:
    """One agent that answers at once, and does nothing in between."""
    server = Server()
    server.on("GET /agents", page(ADA))
    server.on("GET /agents/ada-id", ok(ADA))
    server.on("GET /sessions", page())
    server.on("POST /sessions", ok(session_view("ada-id"), 201))
    server.on("GET /sessions/s1", ok(session_view("ada-id")))
    server.on("GET /sessions/s1/messages", page())
    server.on(SAY, ok(answered(reply_view("Ada", "**yes**, 元気"))))
    server.on(TURN, ok(story_view()))
    return server


def talk(program: Program, *typed: str, language: str = "en") -> Said:
    """What a person sees who types these lines to the only agent; it always ends well."""
    shown = program.sit("--language", language, "chat", typed=typed)
    assert (shown.code, "Traceback" in shown.err) == (0, False)
    return shown


def texts(server: Server) -> list[str]:
    return [body["text"] for body in server.sent("POST") if "text" in body]


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", ["/help lists the commands", "you> ", "continue with: opencrab chat"]),
        ("ja", ["/help で使い方", "あなた> ", "続きは: opencrab chat --session s1"]),
    ],
)
def test_a_person_says_something_and_leaves(
    program: Program, server: Server, language: str, words: list[str]
) -> None:
    shown = talk(program, "元気?", language=language)
    assert texts(server) == ["元気?"]
    for word in ("Ada — to count", "yes, 元気", *words):
        assert word in shown.out


def test_another_agent_is_talked_to_by_name(program: Program, server: Server) -> None:
    server.on("GET /agents", page(ADA, agent_view("葵", id="aoi-id")))
    server.on("POST /sessions", ok(session_view("aoi-id", id="s2"), 201))
    server.on("GET /sessions", page(session_view("ada-id")))
    server.on("GET /sessions/s2/messages", page())
    server.on("POST /sessions/s2/messages", ok(answered(reply_view("葵", "はい"))))
    shown = program.sit("chat", "Ada", typed=["hi", "/agent 葵", "やあ", "/agent nobody"])
    assert "--session s2" in shown.out
    assert texts(server) == ["hi", "やあ"]
    assert "nobody" in shown.err


def test_many_lines_are_one_message(program: Program, server: Server) -> None:
    talk(program, "一\\", "二", '"""', "a", "", "b", '"""')
    assert texts(server) == ["一\n二", "a\n\nb"]


def test_a_line_that_begins_with_a_slash_is_said_with_two(program: Program, server: Server) -> None:
    talk(program, "//etc/hosts", "   ", "/nonsense")
    assert texts(server) == ["/etc/hosts"]


@pytest.mark.parametrize(
    ("language", "words"),
    [
        (
            "en",
            ["/retry         fetch the last", "unknown command /nonsense", "nothing is running"],
        ),
        (
            "ja",
            [
                "/retry         接続が切れた",
                "/nonsense というコマンドはありません",
                "実行中のものはありません",
            ],
        ),
    ],
)
def test_commands_answer_in_the_persons_language(
    program: Program, server: Server, language: str, words: list[str]
) -> None:
    shown = talk(program, "/help", "/nonsense", "/stop", "/retry", "/QUIT", "?", language=language)
    for word in words:
        assert word in shown.out
    assert texts(server) == []


def test_the_state_names_agent_server_and_last_turn(program: Program) -> None:
    english = talk(program, "/state", "hi", "/state").out
    assert english.count("Ada (ada-id)") == 2
    assert "http://127.0.0.1:8080" in english
    assert english.count("t1 (completed)") == 1
    japanese = talk(program, "hi", "/state", language="ja").out
    assert "t1 (完了)" in japanese
    assert "サーバー" in japanese


def test_what_was_said_before_is_recalled(program: Program, server: Server) -> None:
    lines = [line_view(2, "Ada", "はい", turn_id="t0"), line_view(1, "Kana", "ねえ")]
    server.on("GET /sessions/s1/messages", page(*lines))
    shown = program.sit("chat", "--session", "s1", typed=["/history"])
    assert shown.out.count("ねえ") == 2
    assert shown.out.index("ねえ") < shown.out.index("はい")


def test_a_new_conversation_begins_on_request(program: Program, server: Server) -> None:
    sessions = [ok(session_view("ada-id", id=name), 201) for name in ("s1", "s2")]
    server.on("POST /sessions", *sessions)
    server.on("POST /sessions/s2/messages", ok(answered(reply_view("Ada", "again"))))
    server.on("GET /sessions/s2/messages", page())
    shown = talk(program, "hi", "/new", "hi")
    assert "new conversation: s2" in shown.out
    assert "again" in shown.out
    assert "--session s2" in shown.out


def test_an_agent_may_choose_to_say_nothing(program: Program, server: Server) -> None:
    server.on(SAY, ok(answered()))
    assert "Ada did not answer" in talk(program, "hi").out
    assert "Ada は発言しませんでした" in talk(program, "hi", language="ja").out


def test_an_owner_sees_what_the_agent_does_in_between(program: Program, server: Server) -> None:
    data = {"name": "ws_list", "state": "completed", "arguments": {}, "result": "空"}
    told = {"kind": "action", "data": data, "at": NOW, "summary": "List the files"}
    action = line_view(2, "Ada", "ws_list", turn_id="t1", **told)
    thought = line_view(3, "Ada", "そうか", turn_id="t1", kind="inner_voice")
    server.on("GET /sessions/s1/messages", page(action, thought), page())
    server.on(SAY, ok(answered(reply_view("Ada", "nothing there", 4))))
    shown = talk(program, "what is there?").out
    assert (
        shown.index("✓ List the files\n") < shown.index("(そうか)") < shown.index("nothing there")
    )


def test_whoever_is_no_owner_is_not_shown_and_not_told_of_it(
    program: Program, server: Server
) -> None:
    server.on("GET /sessions/s1/messages", problem(403, "only an owner"))
    shown = talk(program, "a", "b")
    assert shown.err == ""
    reads = [r for r in server.requests if r.method == "GET" and r.url.path.endswith("/messages")]
    assert len(reads) == 1


@pytest.mark.parametrize(("answer", "approved"), [("y", True), ("いいえ", False), ("", False)])
def test_a_person_decides_what_the_agent_waits_for(
    program: Program, server: Server, answer: str, *, approved: bool
) -> None:
    first = reply_view("Ada", "May I post it?")
    done = answered(first, reply_view("Ada", "over", 5))
    server.on(SAY, ok(answered(first, pending=("t1",))), ok(done))
    server.on(TURN, ok(story_view(status="waiting", ended_at=None)))
    found = approval(arguments={"query": "蟹\u202e"}, touches="海")
    server.on("GET /approvals", page(found))
    server.on("GET /approvals/ap1", ok(found))
    server.on("POST /turns/t1/decide", ok(story_view(status="queued")))
    shown = talk(program, "post it", "?", answer)
    assert {"approved": approved, "argument_hash": HASH} in server.sent("POST")
    assert "target: 海" in shown.err
    assert '"query": "蟹⟨U+202E⟩"' in shown.err
    assert "over" in shown.out


def test_an_interruption_stops_the_turn_and_waits_for_its_end(
    program: Program, server: Server
) -> None:
    def interrupted(request: httpx.Request) -> httpx.Response:
        raise KeyboardInterrupt

    stopped = answered(reply_view("Ada", "I stopped"))
    server.on(SAY, interrupted, ok(answered(pending=("t1",))), ok(stopped))
    server.on("POST /turns/t1/cancel", ok(story_view(status="running")))
    shown = talk(program, "hi", "/quit")
    assert "stopping …" in shown.out
    assert "I stopped" in shown.out
    assert any(request.url.path.endswith("/cancel") for request in server.requests)


def test_a_second_interruption_leaves(program: Program, server: Server) -> None:
    def interrupted(request: httpx.Request) -> httpx.Response:
        raise KeyboardInterrupt

    server.on(SAY, interrupted)
    shown = talk(program, "hi", "never said", language="ja")
    assert "停止しています" in shown.out
    assert "続きは:" in shown.out
    assert texts(server) == ["hi", "hi"]


def test_two_interruptions_at_the_prompt_leave_and_one_does_not(
    program: Program, server: Server
) -> None:
    shown = talk(program, CTRL_C, "hi", CTRL_C, CTRL_C, "never said")
    assert shown.out.count("press Ctrl-C again, or type /quit, to exit") == 2
    assert texts(server) == ["hi"]


def test_a_lost_connection_ends_no_conversation(program: Program, server: Server) -> None:
    lost = [httpx.ConnectError("refused")] * 6
    server.on(SAY, *lost, ok(answered(reply_view("Ada", "here again"))))
    shown = talk(program, "hi", "/retry")
    assert "retrying with the same message (5)" in " ".join(shown.out.split())
    assert "`make up`" in shown.err
    assert "/retry fetches the answer again" in shown.out
    assert "here again" in shown.out
    posts = [request for request in server.requests if request.method == "POST"]
    keys = {request.headers["Idempotency-Key"] for request in posts[1:]}
    assert len(posts) == 8
    assert len(keys) == 1


def test_a_message_that_cannot_be_sent_ends_no_conversation(
    program: Program, server: Server
) -> None:
    shown = talk(program, "x" * 70_000, "short")
    assert "the limit is 65536" in shown.err
    assert texts(server) == ["short"]


def test_an_agent_cannot_speak_to_the_terminal(program: Program, server: Server) -> None:
    evil = "e\x1b]0;owned\x07\u202ee"
    server.on("GET /agents", page({**ADA, "name": evil, "purpose": evil}))
    server.on(SAY, ok(answered(reply_view(evil, evil))))
    assert not set(talk(program, "hi").out) & set("\x1b\x07\u202e")


def test_one_of_several_agents_is_chosen_by_number(program: Program, server: Server) -> None:
    server.on("GET /agents", page(agent_view("Eve"), ADA))
    shown = talk(program, "3", "x", "2", "hi")
    assert "  2  Ada — to count" in shown.out
    assert "please enter one of: 1-2" in shown.out
    assert server.sent("POST")[0] == {"participants": ["ada-id"]}


def test_the_first_agent_is_created_on_the_way(program: Program, server: Server) -> None:
    server.on("GET /agents", page())
    server.on("POST /agents", ok(ADA, 201))
    shown = talk(program, "はい", "ja", "エイダ", "", "", "hi", language="ja")
    assert "今、作成しますか?" in shown.out
    assert server.sent("POST")[0] == {"language": "ja", "name": "エイダ"}
    assert texts(server) == ["hi"]


def test_nobody_has_to_create_an_agent(program: Program, server: Server) -> None:
    server.on("GET /agents", page())
    talk(program, "n")
    assert server.sent("POST") == []
