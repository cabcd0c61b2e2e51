"""The walks: a word enters by a text field, turns of all kinds follow, and prompts are searched."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from opencrab.domain.turn.record import CallResult, ModelResult
from opencrab.engine.goals import instructions
from tests.crash.errand import OWNER
from tests.crash.outside import Reply
from tests.hostile.routes.entries import ENTRIES
from tests.hostile.routes.fields import Field, Kind, actions, example, placed
from tests.hostile.routes.rooms import NEEDED, Rooms

READ_FIRST = ("ws_read", {"path": "foreign.md"})
BESIDE = {
    "guidance": {"skill_name": "sea-walks"}, "situation_pattern": {"skill_name": "sea-walks"},
    "content": {"path": "Sea"}, "new_path": {"path": "Sea"},
    "target_id": {"target_name": "海"},
}  # fmt: skip
"""What a field makes necessary, where the action has it."""

OF_TASKS = {"plan_goal": "", "finish_task": "-T1", "fail_task": "-T1", "report": "/report"}
"""Actions that only a turn of a goal can use, and which of its turns it is."""


@dataclass(frozen=True)
class Walk:
    """What became of a word: whether it entered, and the routes it took to prompts."""

    field: Field
    entered: bool
    why: str
    met: frozenset[str]
    routes: tuple[str, ...]
    violations: tuple[str, ...]


NOT_TAKEN: dict[str, tuple[str, ...]] = {
    "an id, a name or a kind: no action takes other words there": (
        "update_impression target_id", "find_actions group", "use_action name",
        "save_memory category", "create_my_skill actions.[]", "retire_my_skill name",
        "restore_my_skill name", "use_skill name",
        "search_my_history kind", "search_my_history since", "search_my_history until",
        "summarize_and_save summary_type", "save_memory replaces", "save_memory links.[]",
        "forget_memory memory_id", "browse_history id", "browse_history session_id",
        "browse_history before", "test_belief belief_id", "link_knowledge relation",
        "rate_peer peer_id", "talk_to_peer peer", "invite_to_discussion agents.[]",
        "send_message to", "send_speech reply_to",
        "plan_goal goal_id", "start_task task_id", "finish_task task_id", "fail_task task_id",
        "withdraw_promise goal_id", "create_note template", "apply_template template_name",
        "evaluate_response metrics_id", "compare_models models.[]", "select_llm model_alias",
        "select_llm reason", "evaluate_response better_model_suggestion",
        "compare_models task_type", "get_llm_metrics after", "recall_model_experiences before",
        "search_notes modified_after", "form_belief test",
    ),
    "an id whose pattern takes no such slug, or that must be there": (
        "test_belief belief_id as a slug", "plan_goal goal_id as a slug",
        "finish_task task_id as a slug", "fail_task task_id as a slug",
        "withdraw_promise goal_id as a slug", "withdraw_promise reason",
        "select_llm model_alias as a slug", "compare_models models.[] as a slug",
    ),
    "what is not there is neither read nor changed": (
        "ws_read path", "ws_list path", "ws_edit path", "ws_edit old_string", "ws_delete path",
        "read_note path", "update_note path", "create_link source_note", "create_link target_note",
        "rename_note path", "retire_my_skill reason", "create_link context",
    ),
    "refused to a turn that has read foreign words": ("test_belief evidence.[]",),
    "only the facilitator of a discussion may": ("broadcast_guidance text",),
    "only the turn may that is asked for it when a discussion has ended": (
        "write_outcome decisions.[]", "write_outcome open_points.[]", "write_outcome tasks.[].who",
        "write_outcome tasks.[].what", "write_outcome tasks.[].done_when", "answer_task reason",
    ),
    "this house has no world and no web": (
        "web_fetch url", "web_search query", "world_messages target", "world_send message",
        "world_send payload.{}",
    ),
    "the arguments of another action, which is walked itself": ("use_action arguments.{}",),
}  # fmt: skip
"""Fields by which the word does not get in, and why; the others must take it."""

VOUCHED = {"action set_purpose purpose": "an owner has agreed with these very words"}
"""Fields whose words may stand in a clean prompt, and why."""


def walk(source: Field, folder: Path) -> Walk:
    """Let the word in by this field, and look for it in every prompt after that."""
    with closing(Rooms(folder, source.word)) as rooms:
        why = _ENTER[source.kind](rooms, source)
        if source.kind == "action":
            rooms.heard.clear()
        rooms.listen()
        heard = tuple(dict.fromkeys(each.sink for each in rooms.heard))
        wrong = tuple(
            f"{source} -> {each.sink}: …{each.near}"
            for each in rooms.heard
            if not each.tainted and str(source) not in VOUCHED
        )
    return Walk(source, not why, why, frozenset(rooms.met), heard, wrong)


def _enters_by_an_action(rooms: Rooms, source: Field) -> str:
    """A turn that has read foreign words calls the action with the word in this field."""
    action = actions()[source.owner]
    schema = action.arguments.model_json_schema()
    kind = Kind(schema, schema.get("$defs", {}))
    plain = example(kind, NEEDED)
    beside = BESIDE.get(source.path[0], {}) if action.group != "workspace" else {}
    plain |= {name: value for name, value in beside.items() if name in schema["properties"]}
    given = placed(kind, source.path, plain, NEEDED, source.word)
    try:
        action.arguments.model_validate(given)
    except ValidationError as error:
        return f"closed: {error.errors()[0]['type']}"
    call = (source.owner, given)
    if source.owner in OF_TASKS:
        _carry_out(rooms, call)
    else:
        rooms.say(rooms.session("crab"), _calling(call))
    return _failure(rooms)


def _calling(call: tuple[str, dict[str, Any]]) -> tuple[Reply, ...]:
    return Reply(calls=(READ_FIRST,)), Reply(calls=(call,)), Reply("終わり")


def _carry_out(rooms: Rooms, call: tuple[str, dict[str, Any]]) -> None:
    """A goal is carried out, and in the turn that may do so the call is made."""
    house = rooms.house
    asked = instructions.NewInstruction(instruction="浜辺を歩く")
    goal = instructions.start_instruction_as_goal(
        house.runtime, "crab", asked, OWNER, key="walk"
    ).id
    name, given = call
    given = given | {"goal_id": goal} if "goal_id" in given else given
    given = given | {"task_id": f"{goal}-T1"} if "task_id" in given else given
    plan = ("plan_goal", {"goal_id": goal, "tasks": NEEDED["tasks"]})
    finish = {"result": "歩いた"}
    report = ("report", {"summary": "歩いた", "results": []})
    tasks = {f"-T{n}": ("finish_task", {**finish, "task_id": f"{goal}-T{n}"}) for n in range(1, 6)}
    for suffix, usual in {"": plan, **tasks, "/report": report}.items():
        mine = (name, given) if OF_TASKS[name] == suffix else usual
        house.scripts[f"crab@{goal}{suffix}"] = _calling(mine)
    rooms.settle()
    for _ in range(9):
        house.later(61)
        rooms.settle()


def _failure(rooms: Rooms) -> str:
    """Why no call with the word in it succeeded; "" if one did."""
    why = "never called"
    for turn_id in dict.fromkeys(each.id for each in rooms.newest):
        records = rooms.house.home.journal.load(turn_id).records
        answers = [each.answer for each in records if isinstance(each, ModelResult) and each.answer]
        calls = {
            call.id for each in answers for call in each.calls if rooms.word in str(call.arguments)
        }
        for record in records:
            if isinstance(record, CallResult) and record.call_id in calls:
                if record.result.success:
                    return ""
                why = f"{record.state.value}: {record.result.error}"
    return why


def _enters_otherwise(rooms: Rooms, source: Field) -> str:
    """A way in that is no argument of an action."""
    ENTRIES[source](rooms)
    return ""


_ENTER = {"action": _enters_by_an_action} | {each.kind: _enters_otherwise for each in ENTRIES}


def excused() -> dict[str, str]:
    """Return why a field does not take the word, by its name."""
    return {f"action {name}": why for why, names in NOT_TAKEN.items() for name in names}


def problems(done: Walk) -> Iterator[str]:
    """What is wrong with a walk: a word in a clean prompt, or a field that nobody has looked at."""
    yield from done.violations
    why = excused().get(str(done.field))
    if not done.entered and why is None:
        yield f"{done.field} does not take a word, and nothing says why: {done.why}"
    if done.entered and why is not None:
        yield f"{done.field} takes a word, and is excused because of: {why}"


def every_walk(sources: tuple[Field, ...], folder: Path) -> Iterator[Walk]:
    """Walk by each of these fields, in a house of its own."""
    for number, source in enumerate(sources):
        yield walk(source, folder / f"walk{number}")


def routes_summary(done: Sequence[Walk], wrong: int) -> str:
    """A line for those who read only this: a route leads from a field to a kind of prompt."""
    sinks = {sink for each in done for sink in each.met}
    taken = [each for each in done if each.entered]
    heard = sum(len(each.routes) for each in done)
    return (
        f"hostile: {len(done) * len(sinks):,} laundering routes walked, from {len(done)} text "
        f"fields ({len(taken)} took the word) to {len(sinks)} kinds of prompts; it arrived by "
        f"{heard:,}; {wrong} violations: {'FAILED' if wrong else 'OK'}"
    )
