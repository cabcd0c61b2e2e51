"""Tasks at the terminal: run and watched, listed, steered, paused, resumed and given up."""

import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from opencrab.domain.goals.goal import TaskStatus
from opencrab.engine.goals.progress import (
    ActionProgress,
    ActionStatus,
    GoalSummary,
    PendingApproval,
    Standing,
    TaskProgress,
)
from opencrab.gateways.rest.goals.task_views import BlockingTask, TaskView
from tests.unit.gateways.cli.approvals.test_approvals import HASH, approval
from tests.unit.gateways.cli.server import CTRL_C, Program, Server, ok, page, problem
from tests.unit.gateways.cli.views import agent_view

TASKS = "/agents/a1/tasks"
EVENTS = f"GET {TASKS}/G3/events"


def part(number: int, name: str, status: TaskStatus, cause: str = "") -> TaskProgress:
    return TaskProgress(
        id=f"G3-T{number}", name=name, status=status, cause=cause, result="", confirmed=True
    )


def deed(
    number: int, sentence: str, mark: ActionStatus, result: str | None = None
) -> ActionProgress:
    return ActionProgress(
        id=f"c{number}_0",
        action="ws_read",
        sentence=sentence,
        mark=mark,
        seconds=0.5,
        arguments='{"path": "n.md"}',
        result=result,
    )


def view(status: Standing = Standing.ACTIVE, **changes: Any) -> dict[str, Any]:
    """A task as the server shows it."""
    fields: dict[str, Any] = {
        "id": "G3",
        "agent_id": "a1",
        "name": "学習マップ",
        "status": status,
        "pause_reason": None,
        "completion": 0,
        "tasks_over": 0,
        "tasks_total": 0,
        "session_id": "s1",
        "turn_id": "t1",
        "created_at": datetime(2026, 1, 2, tzinfo=UTC),
        "ended_at": None,
        "instruction": "整理して",
        "tasks": (),
        "max_steps": 10,
        "report": "",
        "unconfirmed": (),
        "over": status.is_end,
    }
    made: dict[str, Any] = TaskView(**fields | changes).model_dump(mode="json")
    return made


RUNNING = view(
    tasks=(part(1, "探す", TaskStatus.DONE), part(2, "read", TaskStatus.ACTIVE)),
    tasks_over=1,
    tasks_total=2,
    completion=50,
    step=3,
    actions=(
        deed(1, "「n.md」を読む", ActionStatus.DONE, '{"size": 1}'),
        deed(2, "Read x.md", ActionStatus.FAILED, "no file"),
    ),
    current=ActionProgress(id="", action="", sentence="考えています", mark=ActionStatus.RUNNING),
    thinking="まず読む\nthen write",
    spent_micro_usd=1_250,
)
DONE = view(
    Standing.COMPLETED,
    tasks=(part(1, "探す", TaskStatus.DONE), part(2, "read", TaskStatus.FAIL, "no file")),
    tasks_over=2,
    tasks_total=2,
    completion=50,
    report="できました\n未確認: a.md",
)
ASKING = view(
    Standing.WAITING,
    approval=PendingApproval(
        approval_id="p1", what="メールを送る (mail)", touches="kana@example.com"
    ),
)
PAUSED = view(Standing.PAUSED, pause_reason="昼休み")
GIVEN_UP = view(Standing.ABANDONED)


def stream(*tasks: dict[str, Any]) -> httpx.Response:
    blocks = ["retry: 1000\n\n", ": still here\n\n"]
    for number, task in enumerate(tasks):
        blocks.append(f"id: e{number}\nevent: progress\ndata: {json.dumps(task)}\n\n")
    return httpx.Response(
        200, content="".join(blocks).encode(), headers={"Content-Type": "text/event-stream"}
    )


def summary(task: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {name: task[name] for name in GoalSummary.model_fields} | changes


@pytest.fixture
def server() -> Server:
    """Ada, who is given the task G3."""
    server = Server()
    server.on("GET /agents", page(agent_view("Ada", id="a1")))
    server.on(f"POST {TASKS}", ok(view(), 202))
    server.on(EVENTS, stream(RUNNING, DONE))
    return server


def rows(text: str) -> list[str]:
    return [row.strip() for row in text.splitlines() if row.strip()]


def test_a_script_reads_a_line_for_each_thing_that_is_new(program: Program, server: Server) -> None:
    said = program.run("task", "run", "Ada", "整理して", "--name", "map", "--budget", "0.5")
    assert server.sent("POST") == [{"instruction": "整理して", "name": "map", "budget_usd": 0.5}]
    assert (said.code, rows(said.out)) == (
        0,
        [
            "G3 学習マップ: running",
            "(まず読む then write)",
            "✓ 「n.md」を読む",
            "✗ Read x.md → no file",
            "[G3-T1] DONE 探す (task 2 of 2 · step 3 of 10 · $0.00125)",
            "[G3-T2] FAIL read / no file (task 2 of 2 · step 0 of 10 · $0.00)",
            "G3 学習マップ: completed",
            "できました",
            "未確認: a.md",
        ],
    )


def test_a_script_may_have_the_end_alone_as_json(program: Program) -> None:
    said = program.run("--json", "task", "run", "Ada", "x")
    assert (said.code, said.json) == (0, DONE)


@pytest.mark.parametrize(
    ("language", "shown"),
    [
        ("en", ["[running]", "task 2 of 2", "thinking: まず読む", "[completed]"]),
        ("ja", ["[実行中]", "タスク 2/2", "思考: まず読む", "[完了]"]),
    ],
)
def test_a_person_watches_a_panel(
    program: Program, server: Server, language: str, shown: Sequence[str]
) -> None:
    server.on(EVENTS, stream(RUNNING), stream(DONE))
    said = program.sit("--language", language, "task", "run", "Ada", "整理して", TERM="xterm")
    assert said.code == 0
    for text in (*shown, "✓ G3-T1 探す", "▸ G3-T2 read", "50%", "✗ Read x.md", "できました"):
        assert text in re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", said.out), text


def test_a_lost_connection_is_made_again_from_the_last_event(
    program: Program, server: Server
) -> None:
    server.on(EVENTS, stream(RUNNING), httpx.ReadError("gone"), stream(DONE))
    said = program.run("task", "run", "Ada", "x")
    assert said.code == 0
    assert "reconnecting (1)" in said.err
    seen = [r.headers.get("Last-Event-ID") for r in server.requests if "events" in r.url.path]
    assert seen == [None, "e0", "e0"]


def test_a_server_that_stays_away_is_given_up_on(program: Program, server: Server) -> None:
    server.on(EVENTS, httpx.ConnectError("refused"))
    said = program.run("task", "run", "Ada", "x")
    assert (said.code, len(program.pauses)) == (3, 5)
    assert "no answer from" in said.err


def test_a_problem_in_the_stream_is_told(program: Program, server: Server) -> None:
    told = json.dumps({"status": 404, "detail": "the goal is gone"})
    server.on(EVENTS, httpx.Response(200, content=f"event: problem\ndata: {told}\n\n".encode()))
    said = program.run("task", "run", "Ada", "x")
    assert (said.code, "the goal is gone" in said.err) == (5, True)


@pytest.mark.parametrize(("typed", "approved"), [("y", True), ("", False), ("いいえ", False)])
def test_a_person_decides_what_the_task_asks_for(
    program: Program, server: Server, typed: str, *, approved: bool
) -> None:
    server.on(EVENTS, stream(ASKING), stream(DONE))
    server.on("GET /approvals/p1", ok(approval(id="p1", arguments={"to": "kana\u200b"})))
    server.on("POST /approvals/p1/decide", ok({}))
    said = program.sit("task", "run", "Ada", "x", typed=[typed])
    assert said.code == 0
    assert "asks for approval: メールを送る (mail)" in said.out
    assert "target: kana@example.com" in said.out
    assert '"to": "kana⟨U+200B⟩"' in said.err
    assert server.sent("POST")[-1] == {"approved": approved, "argument_hash": HASH}


def test_a_person_who_may_not_decide_watches_on(program: Program, server: Server) -> None:
    server.on(EVENTS, stream(ASKING), stream(ASKING, DONE))
    server.on("GET /approvals/p1", ok(approval(id="p1")))
    server.on("POST /approvals/p1/decide", problem(403, "only an owner may"))
    said = program.sit("task", "run", "Ada", "x", typed=["y"])
    assert said.code == 0
    assert "only an owner may" in said.err


def test_a_script_leaves_where_somebody_has_to_decide(program: Program, server: Server) -> None:
    server.on(EVENTS, stream(ASKING))
    said = program.run("task", "run", "Ada", "x")
    assert said.code == 9
    assert "asks for approval: メールを送る (mail)" in said.out
    assert "opencrab approvals approve p1" in said.out


def test_a_paused_task_says_how_it_goes_on(program: Program, server: Server) -> None:
    server.on(EVENTS, stream(PAUSED))
    said = program.run("--language", "ja", "task", "run", "Ada", "x")
    assert said.code == 10
    assert "理由: 昼休み" in said.out
    assert "opencrab tasks resume Ada G3" in said.out


def interrupted(_request: httpx.Request) -> httpx.Response:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("typed", "told", "asked"),
    [
        ("p", "reason: 昼休み", "pause"),
        ("中止", "G3 学習マップ: abandoned", "cancel"),
        ("", "opencrab tasks show Ada G3 --follow", ""),
        (CTRL_C, "opencrab tasks show Ada G3 --follow", ""),
    ],
)
def test_ctrl_c_asks_whether_to_pause_cancel_or_leave(
    program: Program, server: Server, typed: str, told: str, asked: str
) -> None:
    server.on(EVENTS, interrupted)
    server.on(f"POST {TASKS}/G3/pause", ok(PAUSED))
    server.on(f"POST {TASKS}/G3/cancel", ok(GIVEN_UP))
    said = program.sit("task", "run", "Ada", "x", typed=[typed])
    assert (said.code, told in said.out) == (10 if asked else 1, True), said.out
    posts = [r.url.path for r in server.requests if r.method == "POST"]
    assert posts[1:] == ([f"/api{TASKS}/G3/{asked}"] if asked else [])


@pytest.mark.parametrize(
    ("language", "head"), [("en", ["completed", "queued"]), ("ja", ["完了", "順番待ち"])]
)
def test_tasks_are_listed(
    program: Program, server: Server, language: str, head: Sequence[str]
) -> None:
    waiting = summary(view(Standing.PENDING), id="G4", name="later")
    server.on(f"GET {TASKS}", page(waiting, summary(DONE)))
    said = program.run("--language", language, "task", "list", "Ada")
    for text in (*head, "G4", "学習マップ", "50%", "2/2"):
        assert text in said.out
    assert len(program.run("--json", "task", "list", "Ada", "--last", "1").json) == 1
    server.on(f"GET {TASKS}", page())
    assert "Ada" in program.run("task", "list", "Ada").out


def test_the_newest_task_is_shown_with_its_details_on_demand(
    program: Program, server: Server
) -> None:
    server.on(f"GET {TASKS}", page(summary(RUNNING)))
    server.on(f"GET {TASKS}/G3", ok(RUNNING))
    plain = program.run("task", "show", "Ada").out
    assert "✓ 「n.md」を読む" in plain
    assert '{"path": "n.md"}' not in plain
    detailed = rows(program.run("task", "show", "Ada", "G3", "--details").out)
    place = detailed.index("✓ 「n.md」を読む 0.5 s")
    assert detailed[place + 1 : place + 3] == ['{"path": "n.md"}', '→ {"size": 1}']
    assert program.run("--json", "task", "show", "Ada").json == RUNNING
    assert "できました" in program.run("task", "show", "Ada", "G3", "--follow").out


@pytest.mark.parametrize(
    ("verb", "status"),
    [("cancel", "active"), ("pause", "active"), ("resume", "paused"), ("discard", "paused")],
)
def test_a_task_is_changed_by_name_or_where_only_one_fits(
    program: Program, server: Server, verb: str, status: str
) -> None:
    fits = summary(RUNNING, status=status)
    server.on(f"GET {TASKS}", page(summary(DONE, id="G9"), fits))
    server.on(f"POST {TASKS}/G3/{verb}", ok(PAUSED))
    assert "G3 学習マップ: paused" in program.run("task", verb, "Ada").out
    assert program.run("--json", "task", verb, "Ada", "G3").json == PAUSED
    server.on(f"GET {TASKS}", page(fits, summary(RUNNING, id="G5", status=status)))
    several = program.run("task", verb, "Ada")
    assert (several.code, "G3, G5" in several.err) == (6, True)
    server.on(f"GET {TASKS}", page(summary(DONE)))
    assert program.run("task", verb, "Ada").code == 5


@pytest.mark.parametrize("words", [["G3", "PDFも"], ["PDFも"]])
def test_a_task_is_steered_in_a_few_words(
    program: Program, server: Server, words: Sequence[str]
) -> None:
    server.on(f"GET {TASKS}", page(summary(RUNNING)))
    server.on(f"POST {TASKS}/G3/steer", ok(RUNNING))
    said = program.run("task", "steer", "Ada", *words)
    assert (said.code, server.sent("POST")) == (0, [{"text": "PDFも"}])
    assert "before its next step" in said.out
    assert program.run("--json", "task", "steer", "Ada", *words).json == RUNNING


@pytest.mark.parametrize(("language", "told"), [("en", "(unconfirmed)"), ("ja", "(未確認)")])
def test_what_nobody_could_confirm_is_said(
    program: Program, server: Server, language: str, told: str
) -> None:
    unseen = part(1, "探す", TaskStatus.DONE).replaced(confirmed=False)
    done = view(
        Standing.COMPLETED,
        tasks=(unseen,),
        tasks_total=1,
        tasks_over=1,
        unconfirmed=("vault/no.md",),
    )
    server.on(EVENTS, stream(done))
    server.on(f"GET {TASKS}/G3", ok(done))
    for args in (("run", "Ada", "x"), ("show", "Ada", "G3")):
        out = program.run("--language", language, "task", *args).out
        assert f"探す {told}" in out
        assert out.endswith(f"{told.strip('()')}: vault/no.md\n")
    panel = program.sit("--language", language, "task", "run", "Ada", "x", TERM="xterm").out
    assert f"探す {told}" in panel


@pytest.mark.parametrize(
    ("language", "told"),
    [
        ("en", "queued behind G2 海の図 (waiting for approval)"),
        ("ja", "G2 海の図(承認待ち)の後の順番待ちです"),
    ],
)
def test_a_script_leaves_a_task_in_line_behind_one_that_waits(
    program: Program, server: Server, language: str, told: str
) -> None:
    front = BlockingTask(id="G2", name="海の図", status=Standing.WAITING)
    stuck = view(Standing.PENDING, behind=front)
    server.on(EVENTS, stream(stuck))
    server.on(f"GET {TASKS}/G3", ok(stuck))
    said = program.run("--language", language, "task", "run", "Ada", "x")
    assert (said.code, told in said.out) == (1, True)
    assert told in program.run("--language", language, "task", "show", "Ada", "G3").out
    assert program.run("--json", "task", "run", "Ada", "x").json == stuck


def test_a_task_behind_one_at_work_is_watched_on(program: Program, server: Server) -> None:
    front = BlockingTask(id="G2", name="海の図", status=Standing.ACTIVE)
    server.on(EVENTS, stream(view(Standing.PENDING, behind=front), DONE))
    said = program.run("task", "run", "Ada", "x")
    assert (said.code, "queued behind G2 海の図 (running)" in said.out) == (0, True)


@pytest.mark.parametrize("task", [view(Standing.COMPLETED, report="ok"), GIVEN_UP])
def test_an_end_is_told_once_and_without_a_plan_to_come(
    program: Program, server: Server, task: dict[str, Any]
) -> None:
    server.on(f"GET {TASKS}/G3", ok(task))
    out = program.run("task", "show", "Ada", "G3").out
    assert (out.count("G3 学習マップ"), "no plan yet" in out) == (1, False)


def test_what_a_task_asks_is_shown_with_what_does_not_show(
    program: Program, server: Server
) -> None:
    asked = PendingApproval(approval_id="p1", what="ws_write **a**\u202e", touches="")
    server.on(EVENTS, stream(view(Standing.WAITING, approval=asked)))
    out = program.run("task", "run", "Ada", "x").out
    assert "asks for approval: ws_write **a**\\u202e\n" in out
    assert "target:" not in out
