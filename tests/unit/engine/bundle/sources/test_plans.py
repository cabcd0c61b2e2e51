"""The database of the first plan, and Avatar's folder."""

import json

import pytest

from opencrab.domain.errors import Invalid
from tests.unit.engine.bundle.elsewhere import lost, read, secret

AT = "2026-01-21T12:00:00Z"
DATABASE = {
    "soul": [
        {
            "agent_id": "a",
            "persona_name": "カニ",
            "social_style_json": json.dumps({"assertiveness": -0.5, "responsiveness": 9}),
            "personality_json": json.dumps({"openness": 0.6, "neuroticism": -1.0, "other": 1}),
            "thinking_style_json": json.dumps({"primary": "logical"}),
            "custom_traits_json": json.dumps({"癖": "横に歩く"}),
        },
        {"agent_id": "b", "persona_name": "Other", "personality_json": "{}"},
    ],
    "identity": [{"agent_id": "a", "name": "Kani", "job_title": "庭師"}],
    "memory_curated": [
        {"agent_id": "a", "content": "薔薇は赤い。", "updated_at": AT},
        {"agent_id": "b", "content": "of another", "updated_at": AT},
    ],
    "memory_sessions": [
        {"id": 2, "agent_id": "a", "session_id": "s", "content": "Hi.", "speaker_id": "a"},
        {"id": 1, "agent_id": "a", "session_id": "s", "content": "やあ", "log_type": "speech"},
    ],
    "skills": [
        {"agent_id": "a", "name": "Water", "description": "x", "guidance": "Water."},
        {"agent_id": "a", "name": "std", "guidance": "x", "source_type": "standard"},
    ],
    "impressions": [{"agent_id": "a", "target_name": "太郎", "notes": "親切", "updated_at": AT}],
    "heartbeat_log": [{"agent_id": "a"}],
}


def test_the_first_plans_agent_has_its_personality_from_nought_to_one() -> None:
    found = read("opencrab-plan", {"opencrab.db": DATABASE})
    assert found.name == "Kani"
    assert found.soul["persona_name"] == "カニ"
    assert found.soul["personality"] == {"openness": 0.8, "neuroticism": 0.0}
    assert found.soul["social_style"] == {"assertiveness": -0.5, "responsiveness": 1.0}
    assert found.traits == {"癖": "横に歩く"}
    assert [text for text, _ in found.memories] == ["薔薇は赤い。", "太郎: 親切"]
    said = [row["value"]["text"] for row in found.sessions if row["kind"] == "line"]
    assert said == ["やあ", "Hi."]
    assert [each.name for each in found.skills] == ["Water"]
    assert {("other agents", "not_supported"), ("heartbeat_log", "not_supported")} <= lost(found)


def test_lines_whose_ids_are_of_several_kinds_are_read() -> None:
    rows = [
        {"id": number, "agent_id": "a", "session_id": "s", "content": str(number)}
        for number in ("zz", 2, None, 1)
    ]
    found = read("opencrab-plan", {"opencrab.db": DATABASE | {"memory_sessions": rows}})
    said = [row["value"]["text"] for row in found.sessions if row["kind"] == "line"]
    assert said == ["zz", "None", "1", "2"]


def test_the_later_program_keeps_its_agents_as_texts() -> None:
    def line(number: int, kind: str, speaker: object) -> dict[str, object]:
        told = {"agent_id": "a", "session_id": "s", "log_type": kind, "created_at": AT}
        return {"id": number, "content": f"{kind} {number}", "speaker_id": speaker, **told}

    database = {
        "agents": [
            {"agent_id": "b", "name": "Other"},
            {
                "agent_id": "a",
                "name": "Kani",
                "persona_name": "カニ",
                "personality": "静か",
                "instructions": f"Obey. key: {secret()}",
                "heartbeat_instructions": " ",
                "organization": "庭園",
            },
        ],
        "sessions": [{"id": "s", "theme": "薔薇の話"}],
        "memory_sessions": [
            line(1, "message", "a"),
            line(2, "inner_voice", "a"),
            line(3, "tool_call", "a"),
            line(4, "tool_result", "a"),
            line(5, "system", None),
            line(6, "message", "taro"),
        ],
        "skills": [{"agent_id": "a", "name": "Old", "guidance": "x", "archived": 1}],
    }
    found = read("opencrab-plan", {"opencrab.db": database})
    assert (found.name, found.soul) == ("Kani", {"persona_name": "カニ"})
    assert (found.traits, found.identity) == ({"Personality": "静か"}, {"organization": "庭園"})
    assert found.files == {"imported/opencrab_plan/instructions.md": b"Obey. key: [removed]"}
    values = [row["value"] for row in found.sessions]
    assert values[0]["name"] == "薔薇の話"
    said = [(each["speaker_name"], each["text"]) for each in values[1:]]
    assert said == [("Kani", "message 1"), ("taro", "message 6")]
    assert found.lost["thoughts and tool calls", "not_supported"] == 4
    assert {("instructions", "instructions_as_file"), ("other agents", "not_supported")} <= lost(
        found
    )
    assert found.skills == []


def test_avatar_has_its_name_at_the_top_of_its_settings() -> None:
    config = "model: grok\navatar_name: SPECTRA # short\nconsole_ui:\n  name: x\n"
    found = read("avatar", {"config.yaml": config, "data/state.json": {"plan": {"purpose": None}}})
    assert (found.name, found.purpose) == ("SPECTRA", "")


def test_avatar_brings_its_purpose_goals_and_events() -> None:
    goals = [{"id": "G1", "name": "文書整備", "tasks": [{"name": "README", "status": "pending"}]}]
    events = [
        {"time": AT, "type": "input", "source": "chat", "text": "READMEを更新して"},
        {"time": AT, "type": "result", "status": "goal_done", "name": "文書整備", "rate": "100%"},
    ]
    found = read(
        "avatar",
        {
            "config.yaml": 'avatar:\n  name: "ミカ"\nuser:\n  name: "太郎"\n',
            "logs/state.json": {"plan": {"purpose": "手伝う", "goals": goals}},
            "logs/events.jsonl": "\n".join(map(json.dumps, events)) + "\n{",
        },
    )
    assert (found.name, found.purpose) == ("ミカ", "手伝う")
    assert [text for text, _ in found.memories] == [
        "Goal done: 文書整備 (100%)",
        "Goal G1 文書整備\n- README (pending)",
    ]
    assert len(found.sessions) == 3
    assert {("G1 文書整備", "goal_as_memory"), ("logs/events.jsonl", "unreadable")} <= lost(found)


@pytest.mark.parametrize(
    ("source", "files"), [("opencrab-plan", {"opencrab.db": {}}), ("avatar", {"x.txt": "x"})]
)
def test_another_folder_is_refused(source: str, files: dict[str, object]) -> None:
    with pytest.raises(Invalid) as refused:
        read(source, files)
    assert refused.value.cure
