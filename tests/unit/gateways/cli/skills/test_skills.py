"""Skills at the terminal: listed, shown, added, switched, approved only after they were read."""

from typing import Any

import pytest

from tests.unit.gateways.cli.server import Program, Server, ok, page
from tests.unit.gateways.cli.views import NOW, agent_view

PLACE = "/agents/a1/skills"


def skill_view(name: str = "from-ada", **changes: Any) -> dict[str, Any]:
    """A skill as the server shows it."""
    return {
        "name": name,
        "kind": "acquired",
        "status": "quarantined",
        "description": "短く話す",
        "situation_pattern": "長い|long",
        "version": "3",
        "actions": [],
        "source_type": "peer",
        "source_context": "",
        "taught_by": "Ada",
        "turn_id": "t1",
        "tainted": True,
        "approved_by": None,
        "retired_by": None,
        "usage_count": 0,
        "waits": False,
        "effectiveness": None,
        "last_used_at": None,
        "created_at": NOW.isoformat(),
        "updated_at": NOW.isoformat(),
        "guidance": "# 短く\n\nBe brief.",
        **changes,
    }


STANDARD = skill_view(
    "task-execution",
    kind="standard",
    status="active",
    version="1",
    actions=["plan_goal", "report"],
    source_type=None,
    taught_by="",
    turn_id="",
    updated_at=None,
)


@pytest.fixture(autouse=True)
def ada(server: Server) -> None:
    """There is one agent."""
    server.on("GET /agents", page(agent_view("Ada", id="a1")))


@pytest.mark.parametrize(
    ("language", "heads", "row"),
    [
        ("en", ["skill", "kind", "status"], ["from-ada", "acquired", "waiting"]),
        ("ja", ["スキル", "種類", "状態"], ["from-ada", "習得", "承認待ち"]),
    ],
)
def test_skills_are_listed(
    program: Program, server: Server, language: str, heads: list[str], row: list[str]
) -> None:
    server.on(f"GET {PLACE}", page(STANDARD, next_cursor="c"), page(skill_view()))
    listed = program.run("--language", language, "skills", "list", "Ada")
    rows = [line.split() for line in listed.out.splitlines()]
    assert (rows[0][:3], rows[2][:3]) == (heads, row)
    assert rows[1][0] == "task-execution"
    assert program.run("skills", "list", "Ada", "--json").json == [skill_view()]


MEASURED = {"points": 12.4, "low": -3.1, "high": 27.9, "turns": 80}


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", ("on trial", "waiting for a trial", "+12 points (-3 to +28)")),
        ("ja", ("試用中", "試用待ち", "+12点(-3〜+28)")),
    ],
)
def test_what_is_tried_is_shown_with_what_it_changes(
    program: Program, server: Server, language: str, words: tuple[str, str, str]
) -> None:
    tried, queued, effect = words
    trying = skill_view(status="candidate", effectiveness=MEASURED)
    server.on(f"GET {PLACE}", page(trying, skill_view("b", status="disabled", waits=True)))
    server.on(f"GET {PLACE}/from-ada", ok(trying))
    listed = program.run("--language", language, "skills", "list", "Ada").out.splitlines()
    assert (tried in listed[1], effect in listed[1], queued in listed[2]) == (True, True, True)
    shown = program.run("--language", language, "skills", "show", "Ada", "from-ada").out
    assert (tried in shown, effect in shown) == (True, True)


def test_who_has_no_skills_is_told_so(program: Program, server: Server) -> None:
    server.on(f"GET {PLACE}", page())
    assert program.run("skills", "list", "Ada").out == "Ada has no skills\n"


@pytest.mark.parametrize(
    ("language", "words"), [("en", ["peer", "taught by"]), ("ja", ["他のエージェント", "教えた人"])]
)
def test_a_skill_is_shown_with_its_text(
    program: Program, server: Server, language: str, words: list[str]
) -> None:
    server.on(f"GET {PLACE}/from-ada", ok(skill_view()))
    shown = program.run("--language", language, "skills", "show", "Ada", "from-ada")
    for word in [*words, "Ada", "短く話す", "長い|long", "Be brief."]:
        assert word in shown.out
    assert program.run("skills", "show", "Ada", "from-ada", "--json").json == skill_view()


def test_a_skill_is_added_by_options_or_through_a_pipe(program: Program, server: Server) -> None:
    server.on(f"POST {PLACE}", ok(skill_view("brief", status="active"), 201))
    args = ("skills", "add", "Ada", "Brief", "--description", "短く話す", "--when", "長い")
    assert program.run(*args, "--text", "短く。").out == "added brief (on)\n"
    piped = program.run("--language", "ja", *args, typed="Be\nbrief.\n")
    assert piped.out == "brief を追加しました(有効)\n"
    program.run(*args, "--text", "短く。", "--action", "ws_read", "--action", "ws_write")
    body = {"name": "Brief", "description": "短く話す", "situation_pattern": "長い"}
    assert server.sent("POST") == [
        {**body, "guidance": "短く。"},
        {**body, "guidance": "Be\nbrief.\n"},
        {**body, "guidance": "短く。", "actions": ["ws_read", "ws_write"]},
    ]
    assert program.run(*args, typed=" \n").code == 2
    assert program.run("skills", "add", "Ada", "Brief", "--text", "x").code == 2


@pytest.mark.parametrize(
    ("option", "status", "on"),
    [
        ((), "active", False),
        ((), "candidate", False),
        ((), "disabled", True),
        (("--on",), "", True),
        (("--off",), "", False),
    ],
)
def test_a_skill_is_switched_to_what_it_is_not_or_as_it_is_said(
    program: Program, server: Server, option: tuple[str, ...], status: str, *, on: bool
) -> None:
    server.on(f"GET {PLACE}/task-execution", ok({**STANDARD, "status": status}))
    after = {**STANDARD, "status": "active" if on else "disabled"}
    server.on(f"POST {PLACE}/task-execution/toggle", ok(after))
    said = program.run("skills", "toggle", "Ada", "task-execution", *option)
    assert said.out == f"task-execution: {'on' if on else 'off'}\n"
    assert server.sent("POST") == [{"on": on}]


def test_a_skill_is_approved_by_who_has_read_it(program: Program, server: Server) -> None:
    server.on(f"GET {PLACE}/from-ada", ok(skill_view()))
    server.on(f"POST {PLACE}/from-ada/approve", ok(skill_view(status="active")))
    args = ("skills", "approve", "Ada", "from-ada")
    unread = program.run(*args)
    assert (unread.code, server.sent("POST")) == (2, [])
    assert "read it first" in unread.err
    kept = program.sit(*args, typed=["n"])
    assert (kept.code, server.sent("POST")) == (0, [])
    assert "Be brief." in kept.out
    assert "from-ada: on" in program.sit(*args, typed=["y"]).out
    assert program.run(*args, "--yes", LANG="ja_JP.UTF-8").out == "from-ada: 有効\n"
    approvals = [request for request in server.requests if request.method == "POST"]
    assert [request.headers["If-Match"] for request in approvals] == ['"3"', '"3"']


def test_a_skill_is_retired_and_restored(program: Program, server: Server) -> None:
    server.on(f"DELETE {PLACE}/from-ada", ok(skill_view(status="archived")))
    server.on(f"POST {PLACE}/from-ada/restore", ok(skill_view()))
    assert program.run("skills", "retire", "Ada", "from-ada").out == "from-ada: retired\n"
    restored = program.run("skills", "restore", "Ada", "from-ada")
    assert restored.out == "from-ada: waiting for approval\n"
    script = program.run("skills", "restore", "Ada", "from-ada", "--json")
    assert script.json == skill_view()


def test_words_in_a_skill_cannot_speak_to_the_terminal(program: Program, server: Server) -> None:
    shown = skill_view(description="a\x1b[2Jb", guidance="x\u202ey\x07")
    server.on(f"GET {PLACE}/from-ada", ok(shown))
    out = program.run("skills", "show", "Ada", "from-ada").out
    assert "a\\u001b[2Jb" in out
    assert "x\\u202ey\\u0007" in out
    assert not {"\x1b", "\u202e", "\x07"} & set(out)


def test_a_skill_is_read_as_it_is_before_it_is_approved(program: Program, server: Server) -> None:
    text = "# 短く\n\n**Be** `brief`.\u200b"
    server.on(f"GET {PLACE}/from-ada", ok(skill_view(guidance=text, description="*短く* **話す**")))
    shown = program.sit("skills", "approve", "Ada", "from-ada", typed=["n"]).out
    assert "# 短く\n\n**Be** `brief`.\\u200b\n" in shown
    assert "*短く* **話す**" in shown


@pytest.mark.parametrize("language", ["en", "ja"])
def test_a_japanese_name_is_shown_and_finds_its_skill(
    program: Program, server: Server, language: str
) -> None:
    skill = skill_view("skill-0a1b2c3d", title="効果的な質問", description="効果的な質問: なぜ")
    server.on(f"GET {PLACE}", page(STANDARD, skill))
    server.on(f"GET {PLACE}/skill-0a1b2c3d", ok(skill))
    told = program.run("--language", language, "skills", "show", "Ada", "効果的な質問").out
    assert "効果的な質問 (skill-0a1b2c3d)" in told
    assert "効果的な質問" in program.run("--language", language, "skills", "list", "Ada").out
