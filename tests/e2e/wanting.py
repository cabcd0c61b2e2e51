"""An agent that wants things of its own accord, and what its heartbeat does about them."""

from typing import Any

from opencrab.domain.agents.heartbeat import Heartbeat
from opencrab.domain.value import Language
from opencrab.engine.autonomy.due_items import admit_due_item
from opencrab.engine.goals.queue import GoalBoard
from tests.crash.outside import Reply, Script
from tests.e2e.house import House


def rows(count: int, **changes: Any) -> list[dict[str, Any]]:
    row = {"name": "見る", "precondition": "…", "postcondition": "…", **changes}
    return [{**row, "name": f"見る{n}"} for n in range(1, count + 1)]


def plans(count: int = 5, action: str = "plan_goal", **changes: Any) -> Script:
    return (Reply(calls=((action, {"goal_id": "G1", "tasks": rows(count, **changes)}),)),)


def does(task: str) -> Script:
    write = ("ws_write", {"path": f"{task}.md", "content": "見た"})
    return (
        Reply(calls=(write,)),
        Reply(calls=(("finish_task", {"task_id": task, "result": "見た"}),)),
    )


def gives_up(task: str) -> Script:
    return (Reply(calls=(("fail_task", {"task_id": task, "cause": "暗い"}),)),)


REPORT: Script = (Reply(calls=(("report", {"summary": "海は深い\nとても"}),)),)


def lives(house: House, language: Language = Language.EN, **scripts: Script) -> None:
    """An agent that acts unasked; scripts are named like `G1`, `G1_T1` and `G1_report`."""
    agent = house.agent("crab", (Reply("うん"),), language)
    alive = Heartbeat(instructions="海を知る", enabled=False)
    house.home.agents.save(agent.replaced(heartbeat=alive))
    for place in range(1, 31):
        house.scripts[f"crab@G1-T{place}"] = does(f"G1-T{place}")
    house.scripts["crab@G1"] = plans()
    house.scripts["crab@G1/report"] = REPORT
    for key, script in scripts.items():
        name = key.replace("_T", "-T").replace("_report", "/report")
        house.scripts[f"crab@{name}"] = script


def begins(house: House, way: Any) -> Any:
    """What a heartbeat does for one of its reasons."""
    profile, now = house.home.agents.get("crab"), house.clock.now()
    board = GoalBoard.of(house.home.facts, profile, now)
    begun = way(house.runtime, board, now)
    house.home.facts.commit(*board.facts, due=tuple(board.due))
    for item in board.due:
        admit_due_item(house.runtime, item)
        house.home.due.remove(item.id)
    return begun
