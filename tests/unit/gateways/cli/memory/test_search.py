"""Search of memories at the terminal: what was found, where, why, and which filters are sent."""

from typing import Any

import pytest

from opencrab.domain.conversation.session import Hearing
from opencrab.domain.memory.search_row import RowKind, SearchRow
from opencrab.gateways.rest.memory.search import FoundView
from opencrab.ports.memory.search import SearchHit
from tests.unit.gateways.cli.server import Program, Server, ok, page
from tests.unit.gateways.cli.views import NOW, agent_view

PLACE = "/agents/a1/memory"
JA = {"LANG": "ja_JP.UTF-8"}


def found_view(text: str, excerpt: str = "", **changes: Any) -> dict[str, Any]:
    """A find as the server shows it."""
    facts = {
        "session_id": "s1",
        "sequence": 12,
        "kind": RowKind.SPEECH,
        "hearing": Hearing.SESSION,
        "speaker_id": "k1",
        "speaker": "美香",
        **changes,
    }
    why = facts.pop("why", ("words", "time"))
    scored = facts.pop("scored", True)
    row = SearchRow(at=NOW, text=text, **facts)
    found = FoundView.of(SearchHit(row, 3.456, why, excerpt), scored=scored)
    return found.model_dump(mode="json")


@pytest.fixture(autouse=True)
def ada(server: Server) -> None:
    """There is one agent."""
    server.on("GET /agents", page(agent_view("Ada", id="a1")))


EXCERPT = "Ren: いつ?\n美香: 来月、京都に引っ越します。\nRen: いいね"


def test_what_was_found_is_shown_with_its_hit_marked(program: Program, server: Server) -> None:
    item = found_view("来月、京都に引っ越します。", EXCERPT)
    server.on(f"POST {PLACE}/search", ok({"items": [item]}))
    shown = program.run("memory", "search", "京都")
    head, *lines = shown.out.splitlines()
    assert head.split()[2:] == ["s1", "美香"]
    assert lines == [
        "  Ren: いつ?",
        "> 美香: 来月、京都に引っ越します。",
        "  Ren: いいね",
        "",
    ]
    assert server.sent("POST") == [{"query": "京都", "limit": 10}]
    assert program.run("memory", "search", "京都", "--json").json == [item]


@pytest.mark.parametrize(
    ("environment", "told"),
    [
        ({}, "matched by: matching words, time · 3.46 · s1:12"),
        (JA, "理由: 言葉の一致, 日時 ・ 3.46 ・ s1:12"),
    ],
)
def test_why_it_was_found_is_said_when_asked(
    program: Program, server: Server, environment: dict[str, str], told: str
) -> None:
    server.on(f"POST {PLACE}/search", ok({"items": [found_view("京都", EXCERPT)]}))
    assert told in program.run("memory", "search", "京都", "--why", **environment).out
    assert told not in program.run("memory", "search", "京都", **environment).out


@pytest.mark.parametrize(
    ("environment", "told"),
    [
        ({}, ["matched by: similar meaning", "matched by: neighbouring lines"]),
        (JA, ["理由: 意味の近さ", "理由: 前後の発言"]),
    ],
)
def test_results_of_the_same_lines_are_shown_once(
    program: Program, server: Server, environment: dict[str, str], told: list[str]
) -> None:
    best = found_view("来月、京都に引っ越します。", EXCERPT, why=("meaning",))
    other = found_view("東京", "美香: 東京", session_id="s2")
    near = found_view(
        "いいね", "美香: …\nRen: いいね", sequence=13, speaker="Ren", why=("neighbour",)
    )
    cut = found_view("抜粋にない", EXCERPT, sequence=14)
    server.on(f"POST {PLACE}/search", ok({"items": [best, other, near, cut]}))
    shown = program.run("memory", "search", "京都", "--why", **environment).out.splitlines()
    assert [line for line in shown if line.startswith((">", "  Ren"))] == [
        "  Ren: いつ?",
        "> 美香: 来月、京都に引っ越します。",
        "> Ren: いいね",
        "> 美香: 東京",
        "> 抜粋にない",
    ]
    whys = [line.strip() for line in shown if line.strip().startswith(told[0].split(":")[0])]
    assert [why.startswith(each) for why, each in zip(whys[:2], told, strict=True)] == [True, True]
    assert len(whys) == 4


@pytest.mark.parametrize("environment", [{}, JA])
def test_who_is_told_no_score_sees_none(
    program: Program, server: Server, environment: dict[str, str]
) -> None:
    server.on(f"POST {PLACE}/search", ok({"items": [found_view("京都", scored=False)]}))
    done = program.run("memory", "search", "京都", "--why", **environment)
    assert "3.46" not in done.out
    assert "- " in done.out


def test_what_is_no_line_is_shown_by_its_kind(program: Program, server: Server) -> None:
    memory: dict[str, Any] = {
        "kind": RowKind.MEMORY,
        "ref": "m1",
        "sequence": 0,
        "session_id": "",
        "speaker": "",
    }
    item = found_view("美香は\n紅茶を飲む。", **memory)
    server.on(f"POST {PLACE}/search", ok({"items": [item]}))
    head, hit, _ = program.run("memory", "search", "紅茶", **JA).out.splitlines()
    assert head.split()[2:] == ["記憶"]
    assert hit == "> 美香は 紅茶を飲む。"


def test_filters_are_sent_as_they_are_meant(program: Program, server: Server) -> None:
    server.on(f"POST {PLACE}/search", ok({"items": []}))
    said = program.run(
        *("memory", "search", "京都", "--agent", "Ada", "--limit", "3", "--session", "s1"),
        *("--kind", "speech", "--kind", "memory", "--speaker", "美香"),
        *("--since", "2026-01-05T09:00:00+09:00", "--until", "2026-02-17"),
    )
    assert said.out == "no matches\n"
    (body,) = server.sent("POST")
    assert body["kinds"] == ["speech", "memory"]
    assert (body["limit"], body["session_id"], body["speaker"]) == (3, "s1", "美香")
    assert body["until"].startswith("2026-02-18T00:00:00")


@pytest.mark.parametrize("option", ["--since", "--until"])
@pytest.mark.parametrize("text", ["", "gestern", "2026-13-01", "17", "2026-01-01T25:00"])
def test_what_is_no_time_is_refused_before_anything_is_sent(
    program: Program, server: Server, option: str, text: str
) -> None:
    said = program.run("memory", "search", "京都", option, text)
    assert said.code == 2
    assert "2026-02-17" in said.err
    assert server.sent("POST") == []


def test_a_day_after_which_there_is_none_is_refused(program: Program) -> None:
    assert program.run("memory", "search", "京都", "--until", "9999-12-31").code == 2


def test_a_blank_question_is_refused(program: Program, server: Server) -> None:
    assert program.run("memory", "search", " ").code == 2
    assert server.requests == []
