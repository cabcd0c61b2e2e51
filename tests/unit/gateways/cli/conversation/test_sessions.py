"""Conversations from the command line: listed, shown, ended, and their agents instructed."""

import pytest

from opencrab.domain.conversation.message import LineKind
from opencrab.domain.conversation.session import SessionStatus
from opencrab.gateways.cli.scripting.exit_code import ExitCode
from tests.unit.gateways.cli.server import Program, Server, ok, page, problem
from tests.unit.gateways.cli.views import NOW, agent_view, line_view, session_view

OLD = session_view("ada-id", id="s0", theme="お金", status=SessionStatus.ENDED, turn_number=3)
NEW = session_view("ada-id", "ghost-id", updated_at=NOW.replace(year=2027))
ACTION = line_view(
    3,
    "Ada",
    "ws_write",
    turn_id="t1",
    kind=LineKind.ACTION,
    data={"name": "ws_write", "state": "completed", "arguments": {"path": "a"}, "result": "ok"},
)
LINES = (
    ACTION,
    line_view(2, "Ada", "こんにちは **Kana**", turn_id="t1"),
    line_view(1, "Kana", "やあ"),
)


@pytest.fixture
def server() -> Server:
    """Two sessions, the second one with lines."""
    server = Server()
    server.on("GET /sessions", page(OLD, NEW))
    server.on("GET /agents", page(agent_view("Ada")))
    server.on("GET /sessions/s1", ok(NEW))
    server.on("GET /sessions/s1/messages", page(*LINES))
    return server


def test_the_latest_conversation_comes_first(program: Program) -> None:
    rows = [line.split() for line in program.run("sessions", "list").out.splitlines()]
    assert rows[0] == ["id", "agent", "title", "changed"]
    assert rows[1][:4] == ["s1", "Ada,", "?", "2027-01-05"]
    assert rows[2][:5] == ["s0", "Ada", "お金", "(ended)", "2026-01-05"]


@pytest.mark.parametrize("name", ["Ada", "ada-id"])
def test_only_the_sessions_of_one_agent_are_asked_for(
    program: Program, server: Server, name: str
) -> None:
    assert "お金" in program.run("sessions", "list", "--agent", name).out
    listed = next(each for each in server.requests if each.url.path.endswith("/sessions"))
    assert listed.url.params["agent_id"] == "ada-id"
    program.run("sessions", "list")
    assert "agent_id" not in server.requests[-1].url.params


def test_sessions_of_an_unknown_agent_are_an_error(program: Program) -> None:
    said = program.run("sessions", "list", "--agent", "誰か")
    assert said.code == ExitCode.NOT_FOUND
    assert "there is no agent 誰か" in said.err


def test_the_list_speaks_japanese_and_json(program: Program) -> None:
    rows = program.run("--language", "ja", "sessions", "list").out.splitlines()
    assert rows[0].split() == ["ID", "エージェント", "タイトル", "更新"]
    assert "終了" in rows[2]
    assert program.run("sessions", "list", "--json").json == [NEW, OLD]


def test_a_conversation_shows_its_title(program: Program, server: Server) -> None:
    server.on("GET /sessions", page({**NEW, "title": "来週の計画"}))
    rows = [line.split() for line in program.run("sessions", "list").out.splitlines()]
    assert rows[1][:5] == ["s1", "Ada,", "?", "来週の計画", "2027-01-05"]


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "conversation s1 is now “Trip”\n"),
        ("ja", "会話 s1 のタイトルは「Trip」になりました\n"),
    ],
)
def test_a_conversation_is_renamed(
    program: Program, server: Server, language: str, said: str
) -> None:
    server.on("PATCH /sessions/s1", ok({**NEW, "title": "Trip"}))
    assert program.run("--language", language, "sessions", "rename", "s1", "Trip").out == said
    assert program.run("sessions", "rename", "s1", " ").code == 0
    assert server.sent("PATCH") == [{"name": "Trip"}, {"name": None}]


@pytest.mark.parametrize(
    ("language", "said"),
    [("en", "there are no conversations\n"), ("ja", "会話はまだありません\n")],
)
def test_an_empty_list_says_so(program: Program, server: Server, language: str, said: str) -> None:
    server.on("GET /sessions", page())
    assert program.run("--language", language, "sessions", "list").out == said


def test_a_conversation_is_shown_from_its_oldest_line(program: Program, server: Server) -> None:
    shown = program.run("sessions", "show", "s1")
    lines = [line.strip() for line in shown.out.splitlines() if line.strip()]
    assert lines == [
        "Kana",
        "やあ",
        "Ada",
        "こんにちは Kana",
        "✓ ws_write {'path': 'a'} → ok",
    ]
    assert server.requests[-1].url.params["order"] == "newest"
    assert "kinds" not in server.requests[-1].url.params


@pytest.mark.parametrize(("language", "said"), [("en", "turn t7"), ("ja", "ターン t7")])
def test_a_notice_of_a_turn_that_failed_names_the_turn(
    program: Program, server: Server, language: str, said: str
) -> None:
    notice = line_view(2, "Ada", "I am sorry", turn_id="t7", kind=LineKind.SYSTEM)
    server.on("GET /sessions/s1/messages", page(notice, line_view(1, "Kana", "やあ")))
    shown = program.run("--language", language, "sessions", "show", "s1")
    lines = [line.strip() for line in shown.out.splitlines() if line.strip()]
    assert lines == ["Kana", "やあ", "Ada", "I am sorry", said]


@pytest.mark.parametrize(("language", "said"), [("en", "attached"), ("ja", "添付")])
def test_an_attachment_is_shown_by_its_name(
    program: Program, server: Server, language: str, said: str
) -> None:
    text = "見て\n[file workspace:uploads/01m8/蟹 1.txt]\n[image workspace:uploads/01m8/b.png]"
    server.on("GET /sessions/s1/messages", page(line_view(1, "Kana", text)))
    shown = program.run("--language", language, "sessions", "show", "s1")
    lines = [line.strip() for line in shown.out.splitlines() if line.strip()]
    assert lines == ["Kana", "見て", f"[{said}: 蟹 1.txt]", f"[{said}: b.png]"]


def test_only_so_many_lines_are_shown_as_were_asked_for(program: Program) -> None:
    shown = program.run("sessions", "show", "s1", "--last", "2", "--json").json
    assert [line["sequence"] for line in shown["lines"]] == [2, 3]
    assert shown["id"] == "s1"


def test_an_owner_may_ask_for_everything(program: Program, server: Server) -> None:
    program.run("sessions", "show", "s1", "--all")
    assert "inner_voice" in server.requests[-1].url.params["kinds"]


def test_whoever_may_not_see_everything_is_told(program: Program, server: Server) -> None:
    server.on("GET /sessions/s1/messages", problem(403, "only an owner", field="kinds", cure="ask"))
    refused = program.run("sessions", "show", "s1", "--all")
    assert (refused.code, refused.err) == (4, "opencrab: only an owner (kinds)\n  → ask\n")


def test_words_of_a_conversation_cannot_speak_to_the_terminal(
    program: Program, server: Server
) -> None:
    evil = "x\x1b[1A\x1b]0;t\x07\u2067y"
    kinds = (LineKind.SPEECH, LineKind.SYSTEM, LineKind.INNER_VOICE, LineKind.ACTION)
    lines = [
        line_view(n, evil, evil, turn_id="t1", kind=kind, data={"name": evil, "result": evil})
        for n, kind in enumerate(kinds, 1)
    ]
    server.on("GET /sessions/s1/messages", page(*lines))
    for more in ([], ["--json"]):
        shown = program.run("sessions", "show", "s1", *more)
        assert shown.code == 0
        assert not set(shown.out) & set("\x1b\x07\u2067")


@pytest.mark.parametrize(
    ("language", "said"),
    [("en", "ended conversation s1\n"), ("ja", "会話 s1 を終了しました\n")],
)
def test_a_conversation_is_ended(
    program: Program, server: Server, language: str, said: str
) -> None:
    server.on("POST /sessions/s1/end", ok({**NEW, "status": "ended"}))
    assert program.run("--language", language, "sessions", "end", "s1").out == said
    assert program.run("sessions", "end", "s1", "--json").json["status"] == "ended"


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "the agents will read this before their next step"),
        ("ja", "エージェントは次のステップ"),
    ],
)
def test_a_mentor_instructs_the_agents_of_a_conversation(
    program: Program, server: Server, language: str, said: str
) -> None:
    placed = {"id": "i1", "line": 4, "at": NOW.isoformat()}
    server.on("POST /sessions/s1/mentor", ok(placed, 201))
    assert said in program.run("--language", language, "mentor", "s1", "短く答えて").out
    assert program.run("mentor", "s1", "be brief", "--json").json == placed
    assert server.sent("POST") == [{"text": "短く答えて"}, {"text": "be brief"}]


@pytest.mark.parametrize(("language", "name"), [("en", "forgotten"), ("ja", "(忘れた発言)")])
def test_a_forgotten_line_is_told_in_the_users_language(
    program: Program, server: Server, language: str, name: str
) -> None:
    server.on("GET /sessions/s1/messages", page(line_view(1, "forgotten", "")))
    shown = program.run("--language", language, "sessions", "show", "s1")
    assert shown.out.strip() == name


@pytest.mark.parametrize(
    ("language", "said"),
    [("en", "shared conversation s1 with k2\n"), ("ja", "k2 を会話 s1 に招待しました\n")],
)
def test_a_conversation_is_shared_and_shows_with_whom(
    program: Program, server: Server, language: str, said: str
) -> None:
    shared = {**NEW, "members": ["k2"]}
    server.on("PUT /sessions/s1/members/k2", ok(shared))
    assert program.run("--language", language, "sessions", "invite", "s1", "k2").out == said
    server.on("GET /sessions/s1", ok(shared))
    assert "k2" in program.run("--language", language, "sessions", "show", "s1").out
    server.on("DELETE /sessions/s1/members/k2", ok(NEW))
    assert program.run("sessions", "uninvite", "s1", "k2", "--json").json == NEW


@pytest.mark.parametrize(
    ("arguments", "freely", "said"),
    [
        (("speak-freely", "s1"), True, "agents speak freely in conversation s1"),
        (("speak-freely", "s1", "--off"), False, "in conversation s1, agents use a memory only if"),
    ],
)
def test_an_owner_lets_agents_speak_freely(
    program: Program, server: Server, arguments: tuple[str, ...], *, freely: bool, said: str
) -> None:
    server.on("PUT /sessions/s1/speak-freely", ok({**NEW, "speaks_freely": freely}))
    assert said in program.run("sessions", *arguments).out
    assert server.sent("PUT") == [{"speaks_freely": freely}]


@pytest.mark.parametrize(("language", "said"), [("en", "speak freely"), ("ja", "自由に話します")])
def test_a_conversation_shows_that_agents_speak_freely(
    program: Program, server: Server, language: str, said: str
) -> None:
    assert said not in program.run("--language", language, "sessions", "show", "s1").out
    server.on("GET /sessions/s1", ok({**NEW, "speaks_freely": True}))
    assert said in program.run("--language", language, "sessions", "show", "s1").out


@pytest.mark.parametrize(
    ("language", "ended_by", "said"),
    [
        ("en", "done", ["ended: done", "outcome: opencrab sessions outcome s1"]),
        ("ja", "done", ["終了: 全員が完了", "結果: opencrab sessions outcome s1"]),
        ("en", "by_hand", ["ended: manual"]),
    ],
)
def test_a_discussion_that_ended_by_itself_says_where_its_outcome_is(
    program: Program, server: Server, language: str, ended_by: str, said: list[str]
) -> None:
    server.on("GET /sessions/s1", ok({**NEW, "ended_by": ended_by, "hop_limit": 6}))
    rows = program.run("--language", language, "sessions", "show", "s1").out.splitlines()
    assert rows[-len(said) :] == said


@pytest.mark.parametrize("text", ["はい、あります", "Yes, it is"])
def test_a_reply_stands_below_the_beginning_of_what_it_replies_to(
    program: Program, server: Server, text: str
) -> None:
    reply = line_view(2, "Ada", text, turn_id="t1", reply_to=1)
    asked = line_view(1, "Kana", f"鍵は\x1b[2Jどこ? {'…' * 99}")
    server.on("GET /sessions/s1/messages", page(reply, asked), page(asked))
    *_, quoted, name, said = program.run("sessions", "show", "s1").out.strip().splitlines()
    assert quoted.startswith("↪ Kana: 鍵はどこ?")
    assert len(quoted) <= 80
    assert (name, said.strip()) == ("Ada", text)
