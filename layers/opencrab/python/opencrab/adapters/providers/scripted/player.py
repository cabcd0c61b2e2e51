"""The player: a small deterministic stand-in for a capable model, for `opencrab admin simulate`.

It knows only its prompt: instructions, goals with their conditions, other agents' words, and what
it called in this turn. It does what the prompt asks for, and keeps or breaks its promises by seed.
The rules are explained in docs/explanation/simulation.md.
"""

import json
from datetime import timedelta
from typing import Any

from opencrab.adapters.providers.scripted.instruction_plan import scripted_plan
from opencrab.adapters.providers.scripted.player_prompt import (
    PlayerPrompt,
    is_mark_of_scripted_player,
    scripted_player_chance,
)

KEEPER, BREAKER = 0.98, 0.26
"""The share of its promises that a keeper and a breaker keeps: 80 % of all, with 1 of 4 breakers.
"""

_CLAIMS, _HELP, _SEIZES, _NOTES = 0.5, 0.15, 0.5, 0.2
"""How often it says that it did what it did not, asks for help, seizes, and learns from news."""

_STEPS, _INVITED = 5, 4
_DUE = timedelta(hours=2)

Answer = tuple[str, dict[str, Any]] | str
"""One call, by name and arguments, or the words that end the turn."""

_SILENCE: Answer = ("send_noreact", {})


def scripted_breakers_among(seed: int, names: tuple[str, ...]) -> frozenset[str]:
    """Return the quarter of the agents that breaks most of its promises, by seed."""
    ranked = sorted(names, key=lambda name: scripted_player_chance(seed, "character", name))
    return frozenset(ranked[: len(names) // 4 or len(names) // 2])


def plan_of_scripted_player(instructions: str) -> str:
    """Return the plan of standing instructions: each thing without a time ends with a file."""
    plan = json.loads(scripted_plan(instructions, lambda _words: None))
    goals = [
        goal for goal in plan["goals"] if not is_mark_of_scripted_player("silence", goal["do"])
    ]
    for number, goal in enumerate(goals, 1):
        if not goal["when"] or goal["when"] == "once":
            goal["done_when"] = f"file:work/{number}-*.md"
    return json.dumps({"goals": goals}, ensure_ascii=False)


def next_step_of_scripted_player(prompt: PlayerPrompt, breakers: frozenset[str]) -> Answer:
    """Return what the player does next in its turn."""
    if prompt.task is not None:
        return _task(prompt, prompt.task)
    if prompt.goal is not None:
        return _goal(prompt, prompt.goal, breakers)
    return _among_others(prompt)


def _among_others(prompt: PlayerPrompt) -> Answer:
    """Do what other agents, a schedule or news ask for."""
    ways = {"write_outcome": _outcome, "answer_task": _task_answer, "declare_done": _discussion}
    asked = next((way for word, way in ways.items() if word in prompt.trigger), None)
    if asked is not None:
        return asked(prompt)
    if prompt.says("files"):
        return _discussion(prompt)
    if prompt.says("discuss"):
        return _meeting(prompt)
    return prompt.words("answer") if prompt.is_question else _look(prompt)


def _task(prompt: PlayerPrompt, task: str) -> Answer:
    """Write the file that the task ends with, and finish it."""
    path = (prompt.files or (f"notes/{task}.md",))[-1]
    if prompt.called("ws_write") is None:
        return _write(prompt, path, task)
    if prompt.called("finish_task") is None:
        return "finish_task", {"task_id": task, "result": prompt.words("written", path=path)}
    return prompt.words("written", path=path)


def _goal(prompt: PlayerPrompt, goal: str, breakers: frozenset[str]) -> Answer:
    if prompt.says("promise"):
        return _promise(prompt, goal, breakers)
    if "talk_to_peer" in prompt.trigger:
        return _ask_peer(prompt)
    if prompt.says("steps") and prompt.called("plan_goal") is None and not prompt.is_reporting:
        return "plan_goal", {"goal_id": goal, "tasks": _plan(prompt, goal)}
    if prompt.says("opportunity") and prompt.chance("seizes", prompt.trigger) > _SEIZES:
        return _SILENCE
    return _first_deed(prompt, goal) or _report(prompt, goal)


def _first_deed(prompt: PlayerPrompt, goal: str) -> Answer | None:
    """Return what it does for a goal before it reports; None once that is done."""
    if prompt.called("ws_write") or prompt.called("learn_from_experience"):
        return None
    if "learn_from_experience" in prompt.trigger:
        return _use("learn_from_experience", **_lesson(prompt))
    if not prompt.called("ask_for_help") and prompt.chance("help", goal) < _HELP:
        return _use("ask_for_help", text=prompt.words("help"))
    return _write(prompt, _first_path(prompt, goal), goal)


def _promise(prompt: PlayerPrompt, goal: str, breakers: frozenset[str]) -> Answer:
    """Keep a promise, or break it: in silence, or with the claim that it was kept."""
    path = _first_path(prompt, goal)
    share = BREAKER if prompt.name in breakers else KEEPER
    if prompt.chance("keeps", path) < share:
        return _report(prompt, goal) if prompt.called("ws_write") else _write(prompt, path, goal)
    if prompt.chance("claims", path) < _CLAIMS and prompt.called("report") is None:
        return "report", {"summary": prompt.words("claim")}
    return _SILENCE


def _ask_peer(prompt: PlayerPrompt) -> Answer:
    """Look who is there, and ask the agent that the goal names."""
    if "read_notices" in prompt.trigger and prompt.called("read_notices") is None:
        return _use("read_notices")
    listed = prompt.called("list_peers")
    if listed is None:
        return _use("list_peers")
    if prompt.called("talk_to_peer") is not None:
        return prompt.words("asked")
    named = [peer["id"] for peer in _peers(listed.result) if peer["name"] in prompt.trigger]
    if not named:
        return _SILENCE
    return _use(
        "talk_to_peer",
        peer=named[-1],
        purpose=prompt.words("purpose"),
        message=prompt.words("question"),
    )


def _meeting(prompt: PlayerPrompt) -> Answer:
    """Invite the others to a discussion of who does what."""
    if prompt.called("invite_to_discussion") is not None:
        return _SILENCE
    listed = prompt.called("list_peers")
    if listed is None:
        return _use("list_peers")
    peers = [peer["id"] for peer in _peers(listed.result)]
    if not peers:
        return _SILENCE
    due = prompt.now + _DUE
    return _use(
        "invite_to_discussion",
        agents=sorted(peers, key=lambda peer: prompt.chance(prompt.now, peer))[:_INVITED],
        subject=prompt.words("subject", hour=f"{prompt.now:%m-%d %H:%M}"),
        message=prompt.words("opening", due=f"{due:%H:%M}", path=_offered_path(prompt)),
    )


def _discussion(prompt: PlayerPrompt) -> Answer:
    """Offer a file once, and then declare to have nothing left to add."""
    if any(not who for who, _path in prompt.offers):
        return ("declare_done", {}) if prompt.called("declare_done") is None else _SILENCE
    return prompt.words("offer", path=_offered_path(prompt))


def _outcome(prompt: PlayerPrompt) -> Answer:
    """Write who does what, as each of them has said."""
    due = (prompt.now + _DUE).isoformat()
    tasks = [
        {
            "who": who or prompt.name,
            "what": prompt.words("task", path=path),
            "due": due,
            "done_when": f"file:{path}",
        }
        for who, path in prompt.offers
    ]
    if not tasks or prompt.called("write_outcome") is not None:
        return _SILENCE
    return _use("write_outcome", decisions=[prompt.words("decision")], tasks=tasks)


def _task_answer(prompt: PlayerPrompt) -> Answer:
    """Take over the tasks that the outcome gives it; a breaker does so too."""
    for number in prompt.asked_tasks:
        if not any(each.arguments.get("task") == number for each in prompt.calls):
            return _use("answer_task", task=number, takes_over=True)
    return _SILENCE


def _look(prompt: PlayerPrompt) -> Answer:
    """Learn from news now and then, else stay silent."""
    if not prompt.calls and prompt.chance("news", prompt.note) < _NOTES:
        return _use("learn_from_experience", **_lesson(prompt))
    return _SILENCE


def _peers(result: str) -> list[dict[str, Any]]:
    """Return the agents that list_peers found."""
    try:
        found = json.loads(result).get("peers", [])
    except ValueError:
        return []
    return [peer for peer in found if peer.get("id") and peer.get("name")]


def _plan(prompt: PlayerPrompt, goal: str) -> list[dict[str, Any]]:
    """Return a plan of five files, each of which code can see."""
    paths = [f"notes/{goal}-{number}.md" for number in range(1, _STEPS + 1)]
    return [
        {
            "name": prompt.words("step", number=number, path=path),
            "precondition": prompt.words("none"),
            "postcondition": f"file:{path}",
        }
        for number, path in enumerate(paths, 1)
    ]


def _lesson(prompt: PlayerPrompt) -> dict[str, Any]:
    return {
        "experience": prompt.words("experience"),
        "outcome": "success",
        "lesson": prompt.words("lesson"),
    }


def _first_path(prompt: PlayerPrompt, goal: str) -> str:
    """Return the file that a goal must end with, else one of the player's own."""
    path = next(iter(prompt.files), f"notes/{goal}-*.md")
    return path.replace("*", f"{prompt.now:%m%d-%H%M}")


def _offered_path(prompt: PlayerPrompt) -> str:
    number = int(prompt.chance("path") * 16**4)
    return f"plans/{prompt.now:%m%d-%H}-{number:04x}.md"


def _write(prompt: PlayerPrompt, path: str, goal: str) -> Answer:
    return "ws_write", {"path": path, "content": prompt.words("content", goal=goal) + "\n"}


def _report(prompt: PlayerPrompt, goal: str) -> Answer:
    written = prompt.called("ws_write")
    path = goal if written is None else str(written.arguments.get("path", goal))
    if prompt.called("report") is not None:
        return _SILENCE
    return "report", {"summary": prompt.words("written", path=path)}


def _use(action: str, **arguments: object) -> Answer:
    return "use_action", {"name": action, "arguments": arguments}
