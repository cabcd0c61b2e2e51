"""Every action, with the worker killed around it: it is done once, as if nothing had happened.

`make soak` kills at every point of the turn; `make test` at some.
"""

import json
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from opencrab.actions import GROUPS
from opencrab.adapters.skill_files import FileSkills
from opencrab.domain.conversation.session import Participant, Session
from opencrab.domain.memory.belief_index import belief_id_in_memory
from opencrab.domain.models.routing import Routing
from opencrab.domain.turn.record import CallResult
from opencrab.engine.turn.admission import admit_turns_of_message
from opencrab.ports.web import WebPage, WebResult
from tests.conftest import ROOT
from tests.contract.homes import sqlite
from tests.crash.errand import Errand, Trouble
from tests.crash.outside import Reply
from tests.crash.scenarios import message
from tests.crash.scheduling import Killed
from tests.searching import searching
from tests.soak import SOAK
from tests.world.reference import ReferenceWorld, settle

SHARE = 4
IN_ERRANDS = {"plan_goal", "finish_task", "fail_task", "report", "use_action"}
"""They need a goal, and `test_errand` kills around them; the last one only wraps others."""

IN_DISCUSSIONS = {"write_outcome", "answer_task", "withdraw_promise"}
"""They need a discussion that has ended: `test_discussion_crashes` kills around them."""

Call = tuple[str, dict[str, Any]]

ELSEWHERE = "elsewhere"
"""A conversation of another agent, which agents reach."""

NOTE: Call = ("create_note", {"title": "海", "content": "波の話。"})
OTHER: Call = ("create_note", {"title": "Crab", "content": "Sideways."})
FILE: Call = ("ws_write", {"path": "notes/a.md", "content": "一行目\nsecond\n"})
SKILL: Call = (
    "create_my_skill",
    {
        "name": "tide-tables",
        "description": "潮の表を読む",
        "situation_pattern": "tide|潮",
        "guidance": "Look at the table.",
    },
)
MEMORY: Call = ("save_memory", {"category": "fact", "content": "蟹は横に歩く"})
BELIEF: Call = ("form_belief", {"claim": "蟹は横に歩く", "evidence": ["海辺"]})
LESSON = {"lesson": "横に歩く"}

CALLS: dict[str, tuple[Call, ...]] = {
    "send_speech": (("send_speech", {"content": "やあ"}),),
    "send_noreact": (("send_noreact", {}),),
    "generate_inner_voice": (("generate_inner_voice", {"content": "ふむ"}),),
    "declare_done": (("declare_done", {}),),
    "update_impression": (("update_impression", {"target_id": "owner", "notes": "親切"}),),
    "broadcast_guidance": (("broadcast_guidance", {"text": "短く話そう"}),),
    "set_phase": (("set_phase", {"phase": "convergent"}),),
    "find_actions": (("find_actions", {"query": "note"}),),
    "ws_read": (FILE, ("ws_read", {"path": "notes/a.md"})),
    "ws_write": (FILE,),
    "ws_edit": (
        FILE,
        ("ws_edit", {"path": "notes/a.md", "old_string": "second", "new_string": "二"}),
    ),
    "ws_list": (("ws_list", {}),),
    "ws_delete": (FILE, ("ws_delete", {"path": "notes/a.md"})),
    "ws_mkdir": (("ws_mkdir", {"path": "海"}),),
    "learn_from_experience": (
        ("learn_from_experience", {"experience": "歩いた", "outcome": "success", **LESSON}),
    ),
    "learn_from_peer": (
        ("learn_from_peer", {"peer_name": "Ken", "observation": "泳ぐ", **LESSON}),
    ),
    "reflect_and_learn": (("reflect_and_learn", {"reflection": "今日", **LESSON}),),
    "create_my_skill": (SKILL,),
    "retire_my_skill": (SKILL, ("retire_my_skill", {"name": "tide-tables"})),
    "restore_my_skill": (
        SKILL,
        ("retire_my_skill", {"name": "tide-tables"}),
        ("restore_my_skill", {"name": "tide-tables"}),
    ),
    "use_skill": (("use_skill", {"name": "task-execution"}),),
    "search_my_history": (MEMORY, ("search_my_history", {"query": "蟹"})),
    "browse_history": (("browse_history", {"first": 1}),),
    "summarize_and_save": (("summarize_and_save", {"content": "今日のまとめ"}),),
    "save_memory": (MEMORY, ("save_memory", {"category": "core", "content": "蟹は横に歩きます"})),
    "forget_memory": (MEMORY, ("forget_memory", {"memory_id": "nobody-knows"})),
    "set_purpose": (("set_purpose", {"purpose": "海を守る"}),),
    "add_goal": (("add_goal", {"name": "掃除"}),),
    "start_task": (("add_goal", {"name": "掃除"}), ("start_task", {"task_id": "G1"})),
    "create_note": (NOTE,),
    "search_notes": (NOTE, ("search_notes", {"query": "波"})),
    "read_note": (NOTE, ("read_note", {"path": "海"})),
    "update_note": (NOTE, ("update_note", {"path": "海", "content": "追記", "append": True})),
    "create_link": (NOTE, OTHER, ("create_link", {"source_note": "海", "target_note": "Crab"})),
    "get_vault_structure": (NOTE, ("get_vault_structure", {})),
    "apply_template": (("apply_template", {"template_name": "meeting"}),),
    "rename_note": (NOTE, ("rename_note", {"path": "海", "new_path": "sea"})),
    "web_fetch": (("web_fetch", {"url": "https://example.org/"}),),
    "web_search": (("web_search", {"query": "蟹"}),),
    "select_llm": (
        ("select_llm", {"purpose": "creative", "model_alias": "fast", "reason": "速い"}),
    ),
    "get_available_models": (("get_available_models", {}),),
    "get_current_llm_config": (("get_current_llm_config", {}),),
    "world_messages": (("world_messages", {"target": "Mint"}),),
    "world_send": (("world_send", {"message": "TRANSFER", "payload": {"to": "x", "amount": 1}}),),
    "form_belief": ((BELIEF[0], {**BELIEF[1], "test": "file:海.md"}),),
    "test_belief": (
        BELIEF,
        ("test_belief", {"belief_id": belief_id_in_memory("蟹は横に歩く"), "outcome": "success"}),
    ),
    "note_working_memory": (("note_working_memory", {"content": "下書き", "append": True}),),
    "link_knowledge": (
        ("link_knowledge", {"origin": "蟹", "relation": "lives_in", "target": "sea"}),
    ),
    "rate_peer": (("rate_peer", {"peer_id": "ken", "outcome": "success"}),),
    "list_peers": (("list_peers", {}),),
    "talk_to_peer": (("talk_to_peer", {"peer": "Ken", "purpose": "潮", "message": "満潮は?"}),),
    "invite_to_discussion": (
        ("invite_to_discussion", {"agents": ["Ken"], "subject": "潮", "message": "満潮は?"}),
    ),
    "send_message": (("send_message", {"to": ELSEWHERE, "content": "満潮は6時"}),),
    "ask_for_help": (("ask_for_help", {"text": "潮の表がほしい"}),),
    "offer": (("offer", {"text": "地図があります"}),),
    "read_notices": (("offer", {"text": "地図"}), ("read_notices", {})),
    "evaluate_response": (
        ("evaluate_response", {"quality_score": 0.8, "task_success": True, "evaluation": "良い"}),
    ),
    "analyze_llm_usage": (("analyze_llm_usage", {}),),
    "get_llm_metrics": (("get_llm_metrics", {}),),
    "compare_models": (("compare_models", {"models": ["fast", "fake:other"]}),),
    "recall_model_experiences": (("recall_model_experiences", {"model": "fast"}),),
    "save_model_insight": (
        (
            "save_model_insight",
            {"situation": "短", "observation": "速", "recommendation": "使う"},
        ),
    ),
    "optimize_model_selection": (("optimize_model_selection", {"apply_immediately": True}),),
}
"""For each action calls of one turn, of which the last one is its own."""


BESIDE = {"talk_to_peer"}
"""Actions on which another agent answers in the session, before or after the turn has ended."""


class Everywhere:
    """A web of one page, and a search that finds it."""

    def prefix(self, url: str) -> str | None:
        return url

    def fetch(self, url: str) -> WebPage:
        return WebPage(url=url, title="Crab", text="Crabs walk sideways.")

    def search(self, query: str, limit: int) -> tuple[WebResult, ...]:
        return (WebResult(title=query, url="https://example.org/", snippet="…"),)[:limit]


@pytest.fixture(scope="module")
def errand(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Errand]:
    """One installation with everything that actions can reach."""
    made = Errand(sqlite, tmp_path_factory.mktemp("actions"))
    home = made.runtime.home
    made.house.agent("Ken", (Reply("九時です"),))
    now = made.house.clock.now()
    home.sessions.create(
        Session(
            id=ELSEWHERE,
            participants=(Participant(agent_id="Ken"),),
            created_by="owner",
            created_at=now,
            updated_at=now,
        )
    )
    made.runtime = replace(
        made.runtime,
        search=searching(home, made.house.clock, tmp_path_factory.mktemp("search")),
        skills=FileSkills(ROOT / "skills"),
        web=Everywhere(),
        web_search=Everywhere(),
        world=ReferenceWorld(made.house.clock).link(tmp_path_factory.mktemp("secrets")),
    )
    yield made
    made.house.close()


def play(errand: Errand, calls: tuple[Call, ...], trouble: Trouble) -> str:
    """What is there after a turn with these calls, whoever made it and whenever."""
    errand.plays += 1
    errand.problems, errand.turns, errand.trouble = [], {}, Trouble()
    name = f"crab-{errand.plays}"
    agent = errand.house.agent(name, (*tuple(Reply(calls=(call,)) for call in calls), Reply("ok")))
    errand.house.provider.routing = Routing(
        default="fake:none", aliases={"fast": f"fake:{name}"}, selectable=("fast",)
    )
    policy = ("read", "self", "shared", "external")
    home = errand.house.home
    home.agents.save(agent.replaced(policy=policy))
    if calls[-1][0].startswith("world_"):
        settle(errand.runtime, name)
    now = errand.house.clock.now()
    session = Session(
        id=f"s-{errand.plays}",
        participants=(Participant(agent_id=name),),
        facilitator_id=name,
        created_by="owner",
        created_at=now,
        updated_at=now,
    )
    home.sessions.create(session)
    (turn,) = admit_turns_of_message(errand.runtime, session.id, message("お願い", "m1", None))
    errand.trouble = trouble
    errand.agent_id = name
    errand.rest()
    assert errand.problems == []
    return _left(errand, name, turn.id, session.id)


def _left(errand: Errand, agent_id: str, turn_id: str, session_id: str) -> str:
    home = errand.house.home
    records = home.journal.load(turn_id).records
    kinds = (
        *("memory", "experience", "impression", "skill", "goal", "mind", "foreign_name"),
        *("memory_gate", "forgotten", "rewritten", "belief", "peer", "outlook", "working"),
        "belief_tests",
        *("node", "edge", "knowledge", "adjustment"),
    )
    left = {
        "status": home.journal.header(turn_id).status.value,
        "ends": [(r.name, r.state.value) for r in records if isinstance(r, CallResult)],
        "files": {
            info.path: home.files.read(agent_id, info.path)[1].decode()
            for info in home.files.list(agent_id)
        },
        "facts": {kind: [f.body for f in home.facts.page(agent_id, kind)] for kind in kinds},
        "lines": _lines(errand, session_id, [r.name for r in records if isinstance(r, CallResult)]),
        "elsewhere": [
            line.text
            for line in home.journal.lines(ELSEWHERE, limit=1_000)
            if line.speaker_id == agent_id
        ],
        "purpose": home.agents.get(agent_id).agent.purpose,
        "grades": [row.quality_score for row in home.usage.rows(agent_id) if row.quality_score],
    }
    text = json.dumps(left, ensure_ascii=False, sort_keys=True)
    for name, place in ((agent_id, "AGENT"), (turn_id, "TURN"), (session_id, "SESSION")):
        text = text.replace(name, place)
    # A longer name costs more, and so does a call that was made again.
    text = re.sub(r'"spent_micro_usd": \d+', '"spent_micro_usd": …', text)
    return re.sub(r"\d{4}-\d\d-\d\d(T[0-9:.]+(Z|\+00:00))?|[0-9a-z]{26}|[0-9a-f]{40}", "…", text)


def _lines(errand: Errand, session_id: str, called: list[str]) -> list[tuple[str, str]]:
    """What was said and done in the session; in any order where others speak beside the turn."""
    lines = errand.house.home.journal.lines(session_id, limit=100)
    told = [(line.kind.value, line.text) for line in lines]
    return sorted(told) if BESIDE & set(called) else told


def kill(point: str) -> None:
    raise Killed(point)


def test_every_action_is_tried() -> None:
    listed = {action.name for group in GROUPS for action in group.actions}
    assert set(CALLS) == listed - IN_ERRANDS - IN_DISCUSSIONS


@pytest.mark.parametrize("name", CALLS)
def test_a_worker_that_dies_around_an_action_changes_nothing_about_it(
    errand: Errand, name: str
) -> None:
    calm = Trouble()
    wanted = play(errand, CALLS[name], calm)
    assert f'["{name}", "' in wanted
    points = range(1, len(calm.seen) + 1)
    some = points if SOAK else random.Random(name).sample(points, SHARE)
    for point in some:
        for after in (False, True):
            trouble = Trouble(at={point: kill}, after=after)
            assert play(errand, CALLS[name], trouble) == wanted, (
                point,
                after,
                calm.seen[point - 1],
            )
