"""What files of other people's agents taught: traits that no specimen of ours had before."""

import json
from typing import Any

import pytest

from tests.unit.engine.bundle.elsewhere import lost, read


def spoken(found: Any) -> list[tuple[str, str]]:
    """Who said what."""
    rows = [each["value"] for each in found.sessions if each["kind"] == "line"]
    return [(row["speaker_name"], row["text"]) for row in rows]


def letta_message(role: str, text: str, *calls: tuple[str, Any]) -> dict[str, Any]:
    made = [{"function": {"name": name, "arguments": given}} for name, given in calls]
    return {"role": role, "content": [{"type": "text", "text": text}], "tool_calls": made or None}


def envelope(kind: str, **more: Any) -> str:
    return json.dumps({"type": kind, "time": "2025-04-01 12:00 AM", **more}, indent=2)


def test_an_agent_of_letta_speaks_by_its_tool_and_hears_in_envelopes() -> None:
    messages = [
        letta_message("user", envelope("login", last_login="Never")),
        letta_message("user", envelope("user_message", message="海の話をして")),
        letta_message(
            "assistant",
            "The user asks about the sea.",
            ("send_message", '{"message": "潮は満ちる。"}'),
        ),
        letta_message("assistant", "I shall note it.", ("core_memory_append", "{}")),
        letta_message("user", envelope("heartbeat", reason="continue")),
        letta_message(
            "assistant", "hm", ("send_message", "{broken"), ("send_message", {"message": "x"})
        ),
        letta_message("user", '{"type": "recipe", "salt": 1}'),
    ]
    agent = {"name": "Sam", "core_memory": [], "messages": messages}
    found = read("letta", {"sam.af": {"agents": [agent]}})
    assert spoken(found) == [
        ("user", "海の話をして"),
        ("assistant", "潮は満ちる。"),
        ("assistant", "x"),
        ("user", '{"type": "recipe", "salt": 1}'),
    ]
    assert ("thoughts", "not_supported") in lost(found)


def test_an_agent_of_letta_that_speaks_plainly_says_what_stands_beside_its_calls() -> None:
    messages = [letta_message("assistant", "I look.", ("Bash", '{"command": "ls"}'))]
    agent = {"name": "Sam", "core_memory": [], "messages": messages}
    assert spoken(read("letta", {"sam.af": {"agents": [agent]}})) == [("assistant", "I look.")]


def chatgpt(*messages: dict[str, Any]) -> Any:
    mapping, parent = dict[str, Any](), None
    for number, message in enumerate(messages):
        mapping[f"n{number}"] = {"parent": parent, "message": message}
        parent = f"n{number}"
    conversation = {"id": "c", "title": "T", "mapping": mapping, "current_node": parent}
    return read("chatgpt", {"conversations.json": [conversation]})


def chatgpt_message(role: str, content: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"author": {"role": role}, "recipient": "all", "content": content, **more}


def test_thoughts_hidden_messages_and_marks_of_chatgpt_are_no_words() -> None:
    said = {
        "content_type": "text",
        "parts": ["潮は \ue200cite\ue202turn0search3\ue201満ちる \ue200x\ue201."],
    }
    hidden = {"is_visually_hidden_from_conversation": True}
    found = chatgpt(
        chatgpt_message("user", {"content_type": "text", "parts": ["memo"]}, metadata=hidden),
        chatgpt_message("assistant", {"content_type": "thoughts", "thoughts": [{"content": "hm"}]}),
        chatgpt_message(
            "assistant", {"content_type": "reasoning_recap", "content": "6s 考えました"}
        ),
        chatgpt_message("assistant", said),
    )
    assert spoken(found) == [("assistant", "潮は満ちる.")]
    assert {("thoughts", "not_supported"), ("hidden messages", "not_supported")} <= lost(found)


def test_thoughts_and_tool_calls_of_claude_are_said_to_be_left_out() -> None:
    blocks = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "tool_use", "name": "web"},
        {"type": "tool_result", "content": []},
        {"type": "text", "text": "横に。"},
    ]
    talk = {"uuid": "u", "name": "T", "chat_messages": [{"sender": "assistant", "content": blocks}]}
    found = read("claude", {"conversations.json": [talk]})
    assert spoken(found) == [("assistant", "横に。")]
    assert found.lost["thoughts and tool calls", "not_supported"] == 3


@pytest.mark.parametrize(
    "line",
    [
        "- **Password:** GjZaIqPbYe7cZLtBd",
        "- **API key**: `GjZaIqPbYe7cZLtBd`",
        "API Key：GjZaIqPbYe7cZLtBd",
        "パスワード: GjZaIqPbYe7cZLtBd",
        "**密码**：GjZaIqPbYe7cZLtBd",
        '"token": "GjZaIqPbYe7cZLtBd"',
    ],
)
def test_a_password_in_markdown_is_removed(line: str) -> None:
    found = read("openclaw", {"SOUL.md": "# Me\n", "MEMORY.md": f"## Account\n\n{line}\n"})
    assert "GjZaIqPb" not in json.dumps(found.memories, default=str)
    assert found.lost["MEMORY.md", "secret"] == 1


def test_where_a_password_is_kept_may_be_told() -> None:
    text = "- **Password:** same as before (stored in `secrets/x.txt`)\n"
    found = read("openclaw", {"SOUL.md": "# Me\n", "MEMORY.md": text})
    assert found.lost["MEMORY.md", "secret"] == 0


def test_code_and_rules_in_a_memory_are_neither_headings_nor_memories() -> None:
    text = "## Router\n\nInstalled:\n```bash\n# installs it\n\nrun ```x``` now\n```\n"
    text += "\n---\n\n* * *\n## 海\n- 潮\n"
    found = read("openclaw", {"SOUL.md": "# Me\n", "MEMORY.md": text})
    assert [told for told, _ in found.memories] == [
        "Router: Installed:\n```bash\n# installs it\n\nrun ```x``` now\n```",
        "海: 潮",
    ]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("- **名字**：虾皮\n- **头像**：a.png", "虾皮"),
        ("- **Name:**小黑\n  _(pick something you like)_", "小黑"),
        ("- **名前:** 蟹江", "蟹江"),
        ("- **Name:**\n  _(pick something you like)_", "folder"),
    ],
)
def test_a_name_is_found_in_other_languages_too(text: str, name: str) -> None:
    assert read("openclaw", {"IDENTITY.md": f"# IDENTITY.md - Who Am I?\n\n{text}\n"}).name == name


def test_a_section_sign_within_an_entry_of_hermes_divides_nothing() -> None:
    text = "BGB § 433 is about sales.\n§\nRuns macOS.\nPrefers zsh.\n§ \n潮の表"
    wanted = ["BGB § 433 is about sales.", "Runs macOS.\nPrefers zsh.", "潮の表"]
    for place in ("memories/MEMORY.md", "MEMORY.md"):
        found = read("hermes", {"SOUL.md": "You are Hermes.", place: text, "USER.md": "Taro"})
        assert [told for told, _ in found.memories] == wanted
        assert found.traits["User"] == "Taro"


def test_a_copy_of_the_memories_of_hermes_at_the_top_is_not_taken_twice() -> None:
    files = {"SOUL.md": "Be.", "MEMORY.md": "old", "memories/MEMORY.md": "new"}
    found = read("hermes", files)
    assert [told for told, _ in found.memories] == ["new"]
    assert ("MEMORY.md", "not_supported") in lost(found)


def test_notes_whose_names_are_one_here_are_all_taken() -> None:
    files = {
        "Tide.md": "1",
        "tide.md": "2",
        "Cafe\u0301.md": "3",
        "Caf\u00e9.md": "4",
        "What is a tide?.md": "5",
        "con.md": "6",
        ".smart-env/data.ajson": "7",
        ".obsidian/app.json": "{}",
    }
    found = read("obsidian", files)
    assert sorted(content.decode() for content in found.files.values()) == list("123456")
    assert set(found.files) >= {"vault/Tide.md", "vault/tide-2.md", "vault/What is a tide-.md"}
    renamed = {what for what, why in lost(found) if why == "renamed"}
    assert len(renamed) == 4


def test_a_long_text_of_a_persona_is_kept_whole_in_a_file() -> None:
    long = "海" * 5_000
    card = {"name": "Kani", "description": long}
    found = read("character-card", {"card.json": card})
    assert found.files["imported/character_card/whole-description.md"].decode() == long
    assert ("description", "cut_to_file") in lost(found)
    soul = read("openclaw", {"SOUL.md": long})
    assert len(soul.traits["Soul"]) == 4_000
    assert soul.files["imported/openclaw/whole-SOUL.md"].decode() == long


def test_a_card_has_the_names_of_pygmalion_or_lies_in_an_archive() -> None:
    old = {
        "char_name": "蟹江",
        "char_persona": "横に歩く",
        "world_scenario": "潮だまり",
        "example_dialogue": "{{char}}: 横に。",
        "char_greeting": "やあ",
    }
    found = read("character-card", {"a.json": old})
    assert found.name == "蟹江"
    assert "横に歩く" in found.traits.values()
    assert "潮だまり" in found.traits.values()
    book = {
        "entries": {
            "0": {"key": ["潮", "tide"], "content": "潮は満ちる"},
            "1": {"keys": "海", "content": "広い"},
        }
    }
    card = {"spec": "chara_card_v3", "data": {"name": "Kani", "character_book": book}}
    packed = read("character-card", {"assets/icon.png": b"\x89PNG", "card.json": card})
    assert packed.name == "Kani"
    assert [told for told, _ in packed.memories] == ["潮, tide: 潮は満ちる", "海: 広い"]
