"""A day with an attached vault of 200 notes, in Japanese: a review at 08:00 in Tokyo, and a map.

The clock of `opencrab up` is moved on to the next 08:00 in Tokyo, when it is still the day before
in UTC. The notes were saved by the owner's editor, from a year ago to this morning.
"""

import json
import os
import unicodedata
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal
from zoneinfo import ZoneInfo

from opencrab.adapters.system_clock import SystemClock
from tests.integration.local.test_tasks import over
from tests.running import Server, server

TOKYO = ZoneInfo("Asia/Tokyo")
REVIEW = "今日のノートをまとめて、日次レビューを作って"
MAP = "機械学習のノートを整理して、学習マップを作って"
LEARNED = {"機械学習入門": "データから学ぶ機械学習。", "勾配降下法": "機械学習の最適化。"}
TODAY = {
    "会議/朝会": (timedelta(hours=7, minutes=50), "公開は金曜日。TODO 告知"),
    "デザイン/ガイド": (timedelta(0), "がぞうの規約を決めた。"),
    "2026/読書": (timedelta(hours=3), "蟹の本を読んだ。"),
}
"""By path: when after midnight in Tokyo each was saved, and its text."""


def furnish(vault: Path, morning: datetime) -> dict[str, bytes]:
    """200 notes, three of them of this day; the names of some are decomposed, as on macOS."""
    midnight = morning.replace(hour=0, minute=0, second=0, microsecond=0)
    older = {f"日誌/{n:03}": (timedelta(hours=-45 * n), f"{n}日目の記録") for n in range(1, 195)}
    older["日誌/昨夜"] = (timedelta(seconds=-1), "日付が変わる前")
    older |= {name: (timedelta(days=-9), text) for name, text in LEARNED.items()}
    for number, (name, (after, text)) in enumerate({**older, **TODAY}.items()):
        form: Literal["NFD", "NFC"] = "NFD" if number % 3 == 0 or name in TODAY else "NFC"
        place = vault / unicodedata.normalize(form, f"{name}.md")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"# {name}\n\n{text}\n", encoding="utf-8")
        at = (midnight + after).timestamp()
        os.utime(place, (at, at))
    (vault / ".obsidian").mkdir()
    (vault / ".obsidian/workspace.md").write_text("今日", encoding="utf-8")
    return held(vault)


def held(vault: Path) -> dict[str, bytes]:
    """What is in every file of the vault."""
    return {
        str(each.relative_to(vault)): each.read_bytes()
        for each in vault.rglob("*")
        if each.is_file()
    }


def step(when: str, *calls: tuple[str, dict[str, Any]]) -> str:
    """One answer of the script, as TOML."""
    rows = "".join(
        f"[[answers.calls]]\nname = {json.dumps(name)}\narguments = {_inline(arguments)}\n"
        for name, arguments in calls
    )
    return f"[[answers]]\nwhen = {json.dumps(when, ensure_ascii=False)}\n{rows}"


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_inline(each)}" for key, each in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_inline, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def script(day: str) -> str:
    """What a careful model does; it knows no dates but those that it is told."""
    review, study = f"daily-review {day}", "機械学習_学習マップ"
    today = {"query": "", "modified_after": "today", "limit": 100}
    titled = {"template_name": "study-map", "variables": {"title": study}}
    plain = {"template_name": "daily-review"}
    learned = {"query": "機械学習"}
    review_steps = carry_out("G1", "今日のノート", today, sorted(TODAY), (review, plain))
    map_steps = carry_out("G2", "機械学習のノート", learned, sorted(LEARNED), (study, titled))
    return "\n".join((*review_steps, *map_steps))


def carry_out(
    goal: str,
    instruction: str,
    query: dict[str, Any],
    notes: list[str],
    new: tuple[str, dict[str, Any]],
) -> list[str]:
    """The steps of a goal: find notes, read them, make one of a template, link, add to it."""
    made, template = new
    calls = [
        [("search_notes", query)],
        [("read_note", {"path": name}) for name in notes],
        [("apply_template", template)],
        [("create_link", {"source_note": made, "target_note": name}) for name in notes],
        [("update_note", {"path": made, "content": "\n- [ ] 明日\n", "append": True})],
    ]
    names = ["対象のノートを探す", "ノートを読む", "ノートを作る", "リンクする", "仕上げる"]
    state = {"precondition": "ノートがある", "postcondition": "できている"}
    tasks = [{"name": name, **state} for name in names]
    report = {"summary": f"{len(notes)}件まとめました。", "results": [f"vault/{made}.md"]}
    steps = [
        step(f"{goal}] すべてのタスクが終わり", ("report", report)),
        step(instruction, ("plan_goal", {"goal_id": goal, "tasks": tasks})),
    ]
    for number, doing in enumerate(calls, start=1):
        task = f"{goal}-T{number}"
        steps.append(step(f"[{task}]", *doing))
        steps.append(step(f"[{task}]", ("finish_task", {"task_id": task, "result": "済み"})))
    return steps


def found(running: Server, session_id: str, action: str) -> list[dict[str, Any]]:
    """What calls of an action returned, by the journal."""
    place = f"/sessions/{session_id}/messages?limit=100&kinds=action"
    lines = [line["data"] for line in running.call("GET", place)["items"]]
    return [json.loads(line["result"]) for line in lines if line["name"] == action]


def done(running: Server, agent_id: str, instruction: str) -> dict[str, Any]:
    """A task once it is over, all of it confirmed by the journal."""
    given = running.call("POST", f"/agents/{agent_id}/tasks", {"instruction": instruction})
    task = over(running, agent_id, given["id"])
    assert (task["status"], task["completion"], task["unconfirmed"]) == ("completed", 100, [])
    assert [each["confirmed"] for each in task["tasks"]] == [True] * 5
    return task


def test_a_review_and_a_study_map_of_an_attached_vault(tmp_path: Path) -> None:
    now = SystemClock().now()
    day = now.astimezone(TOKYO).date() + timedelta(days=1)
    morning = datetime(day.year, day.month, day.day, 8, tzinfo=TOKYO)
    shift = (morning.astimezone(UTC) - now).total_seconds()
    vault, plan = tmp_path / "Obsidian", tmp_path / "plan.toml"
    vault.mkdir()
    before = furnish(vault, morning)
    assert len(before) == 201
    plan.write_text(script(day.isoformat()), encoding="utf-8")
    with server(tmp_path / "data", script=plan, ahead_seconds=shift) as running:
        agent_id = running.call("POST", "/agents", {"name": "蟹", "language": "ja"})["id"]
        beat = running.call("GET", f"/agents/{agent_id}/heartbeat")
        here = {**beat, "active_hours": {"zone": "Asia/Tokyo"}}
        running.call("PUT", f"/agents/{agent_id}/heartbeat", here)
        running.call("PUT", f"/agents/{agent_id}/folders/vault", {"folder": str(vault)})
        review = done(running, agent_id, REVIEW)
        (search,) = found(running, review["session_id"], "search_notes")
        study = done(running, agent_id, MAP)
    assert sorted(hit["path"] for hit in search["results"]) == sorted(
        f"vault/{name}.md" for name in TODAY
    )
    assert search["total"] == 3
    assert {hit["modified"] for hit in search["results"]} == {
        f"{day} 00:00",
        f"{day} 03:00",
        f"{day} 07:50",
    }
    assert f"結果: vault/daily-review {day}.md" in review["report"]
    assert "結果: vault/機械学習_学習マップ.md" in study["report"]
    after = held(vault)
    made = {name: after.pop(name).decode() for name in after.keys() - before.keys()}
    assert after == before, "no note of the owner was changed"
    assert made.keys() == {f"daily-review {day}.md", "機械学習_学習マップ.md"}
    assert all(name.rpartition("/")[2] in made[f"daily-review {day}.md"] for name in TODAY)
    assert all(f"[[{name}]]" in made["機械学習_学習マップ.md"] for name in LEARNED)
