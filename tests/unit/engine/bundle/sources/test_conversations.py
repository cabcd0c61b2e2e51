"""Exports of ChatGPT and Claude: conversations become transcripts and memories that name them."""

import json
from typing import Any

import pytest

from opencrab.domain.errors import Invalid
from tests.unit.engine.bundle.elsewhere import lost, read, secret


def node(parent: str | None, role: str, *parts: Any, kind: str = "text") -> dict[str, Any]:
    """A node of a conversation of ChatGPT."""
    content = {"content_type": kind, "parts": list(parts)}
    message = {"author": {"role": role}, "content": content, "create_time": 1_703_001_234.5}
    return {"parent": parent, "message": message, "children": []}


CHATGPT = [
    {
        "id": "c1",
        "title": "蟹の話",
        "create_time": 1_703_001_234.5,
        "current_node": "d",
        "mapping": {
            "root": {"parent": None, "message": None},
            "a": node("root", "system", ""),
            "p": {
                "parent": "a",
                "message": {
                    "author": {"role": "user"},
                    "content": {"user_profile": "I am Taro", "user_instructions": "Obey"},
                },
            },
            "t": {
                "parent": "p",
                "message": {
                    "author": {"role": "assistant"},
                    "recipient": "web.run",
                    "content": {"content_type": "code", "text": "{}"},
                },
            },
            "b": node("t", "user", "蟹はどう歩く?", {"content_type": "image_asset_pointer"}),
            "c": node("b", "assistant", "まっすぐ。"),
            "d": node("b", "assistant", f"横に。{secret()}"),
        },
    },
    {"id": "../../etc", "title": "", "mapping": {"x": node(None, "user", "hello")}},
    {"id": "loop", "title": "Loop", "mapping": {"x": node("x", "user", "again")}},
    {"title": "Empty"},
]
CLAUDE = [
    {
        "uuid": "u1",
        "name": "Code review",
        "created_at": "2024-01-01T12:00:00Z",
        "chat_messages": [
            {"sender": "Human", "text": "Look.", "created_at": "2024-01-01T12:00:00Z"},
            {"sender": "assistant", "content": [{"type": "text", "text": "見ました。"}]},
            {"sender": "human", "text": "", "attachments": [{"file_name": "a.pdf"}]},
        ],
    },
    {"uuid": "u2", "name": "", "chat_messages": []},
]


def said(found: Any) -> list[tuple[str, str]]:
    """The lines of all conversations."""
    lines = (row["value"] for row in found.sessions if row["kind"] == "line")
    return [(line["speaker_name"], line["text"]) for line in lines]


def test_chatgpt_shows_the_branch_that_was_shown_last() -> None:
    found = read("chatgpt", {"conversations.json": CHATGPT, "user.json": {}, "a.png": b"x"})
    assert said(found) == [
        ("user", "蟹はどう歩く?"),
        ("assistant", "横に。[removed]"),
        ("user", "hello"),
        ("user", "again"),
    ]
    assert found.memories[0][0].startswith("Conversation “蟹の話” (2023-12-19): imported/sessions/")
    assert "etc" not in found.memories[1][0]
    assert {("custom instructions", "instructions"), ("tool calls", "not_supported")} <= lost(found)
    assert {
        ("user.json", "not_supported"),
        ("conversation", "empty"),
        ("蟹の話", "secret"),
    } <= lost(found)


def test_claude_brings_conversations_projects_and_its_memory() -> None:
    found = read(
        "claude",
        {
            "conversations.json": {"conversations": CLAUDE},
            "memories.json": [{"conversations_memory": "**Work**\n\nThe user grows roses."}],
            "projects.json": [
                {
                    "name": "Garden/../x",
                    "prompt_template": "Obey",
                    "docs": [{"filename": "../plan.md", "content": "Plant."}],
                }
            ],
        },
    )
    assert said(found) == [("user", "Look."), ("assistant", "見ました。")]
    assert "The user grows roses." in [text for text, _ in found.memories]
    assert [path for path in found.files if ".." in path.split("/")] == []
    assert b"Plant." in found.files.values()
    assert ("attachments", "not_supported") in lost(found)


@pytest.mark.parametrize("source", ["chatgpt", "claude"])
@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"3", b'["x"]', b'{"a": [1]}', b"[" * 100_000]
)
def test_what_is_no_export_is_told_so(source: str, content: bytes) -> None:
    with pytest.raises(Invalid) as refused:
        read(source, {"conversations.json": content})
    assert refused.value.cure


@pytest.mark.parametrize(
    "odd",
    ["\ud800", [], {}, ["\ud800"], None, 10**400, float("nan"), ""],
    ids=lambda odd: ascii(odd)[:9],
)
def test_odd_values_of_other_programs_are_read_or_lost_and_never_in_the_way(odd: Any) -> None:
    message = {
        "author": {"role": odd if isinstance(odd, str) and odd else "user"},
        "recipient": odd if isinstance(odd, list) else "all",
        "content": {"parts": ["やあ"]},
        "create_time": odd,
    }
    shown = [
        {"conversation_id": odd, "title": "T", "mapping": {"a": {"message": message}}},
        {
            "conversation_id": "kept",
            "title": "T",
            "mapping": {"a": {"message": {**message, "recipient": None}}},
        },
    ]
    assert "やあ" in [text for _, text in said(read("chatgpt", {"conversations.json": shown}))]
    claude = [{"uuid": odd, "name": "N", "chat_messages": [{"sender": "human", "text": "やあ"}]}]
    assert said(read("claude", {"conversations.json": claude})) == [("user", "やあ")]
    avatar = json.dumps({"text": "x", "source": odd, "time": odd})
    assert len(said(read("avatar", {"events.jsonl": avatar}))) == 1
    block = {"id": odd, "label": "facts", "value": "of nobody"}
    letta = {"agents": [{"name": "S", "block_ids": ["b"]}], "blocks": [block]}
    assert read("letta", {"a.af": letta}).memories == []
    plan = {
        "soul": [{"agent_id": "a", "personality_json": json.dumps({"openness": 10**400})}],
        "identity": [{"agent_id": "a", "name": "N"}],
        "memory_sessions": [
            {"agent_id": "a", "session_id": odd, "speaker_id": odd, "content": "x"}
        ],
    }
    found = read("opencrab-plan", {"a.db": plan})
    assert found.soul["personality"]["openness"] == 1.0
    assert len(said(found)) == 1


def test_a_conversation_in_which_nobody_said_anything_is_no_file_that_a_memory_names() -> None:
    shown = {"parts": [{"asset_pointer": "x"}]}
    picture = {"author": {"role": "assistant"}, "content": shown}
    words = {"author": {"role": "user"}, "content": {"parts": ["やあ"]}}
    found = read(
        "chatgpt",
        {
            "conversations.json": [
                {"id": "c1", "title": "Picture", "mapping": {"a": {"message": picture}}},
                {"id": "c2", "title": "言葉", "mapping": {"a": {"message": words}}},
            ]
        },
    )
    assert [text for text, _ in found.memories] == [
        "Conversation “言葉” (?): imported/sessions/c2.md"
    ]
    assert said(found) == [("user", "やあ")]
    assert ("conversation", "empty") in lost(found)
    jsonl = "\n".join(map(json.dumps, [{"role": "tool", "content": "x"}]))
    claw = read("openclaw", {"SOUL.md": "x", "sessions/s.jsonl": jsonl})
    assert claw.sessions == []


def test_claude_names_who_speaks_by_sender_or_role() -> None:
    messages = [{"role": "user", "text": "a"}, {"role": "assistant", "text": "b"}]
    messages += [{"sender": "User", "text": "c"}, {"sender": "human", "role": "x", "text": "d"}]
    found = read("claude", {"conversations.json": [{"uuid": "u", "chat_messages": messages}]})
    assert said(found) == [("user", "a"), ("assistant", "b"), ("user", "c"), ("user", "d")]


def test_texts_that_were_attached_for_claude_are_files() -> None:
    attached = [
        {"file_name": "仕様/書.md", "extracted_content": f"# 庭\n\ntoken: {secret()}"},
        {"file_name": "仕様/書.md", "extracted_content": "second"},
        {"file_name": "a.pdf", "extracted_content": " "},
        {"extracted_content": "\ud83e pasted"},
    ]
    message = {"sender": "human", "text": "Look.", "attachments": attached, "files": [{}, {}]}
    found = read("claude", {"conversations.json": [{"uuid": "u", "chat_messages": [message]}]})
    folder = "imported/claude/attachments"
    assert {path: content.decode() for path, content in found.files.items()} == {
        f"{folder}/仕様-書.md.txt": "# 庭\n\n[removed]",
        f"{folder}/仕様-書.md-2.txt": "second",
        f"{folder}/attachment.txt": "? pasted",
    }
    assert found.lost["attachments", "not_supported"] == 1
    assert found.lost["files", "not_supported"] == 2


def test_a_conversation_of_claude_without_a_name_has_its_first_words_for_one() -> None:
    parts = [
        {"type": "text", "text": "薔薇は\n何時間\u3000日に当てる? 🌹"},
        {"type": "citation_block"},
    ]
    untitled = {"uuid": "u1", "name": " ", "chat_messages": [None, {"content": parts}]}
    long = {"uuid": "u2", "chat_messages": [{"text": f"{'長' * 40} {secret()}"}]}
    picture = {"uuid": "u3", "name": "", "chat_messages": [{"content": [{"type": "image"}]}]}
    found = read("claude", {"conversations.json": [untitled, long, picture]})
    titles = [each["value"]["name"] for each in found.sessions if each["kind"] == "session"]
    assert titles[0] == "薔薇は 何時間 日に当てる? 🌹"
    assert titles[1] == f"{'長' * 40} [removed]"
    assert len(titles) == 2
    assert secret()[:12] not in repr(found)
    assert found.lost["other parts of messages", "not_supported"] == 2


def test_custom_instructions_that_lie_in_a_messages_metadata_are_said_to_be_lost() -> None:
    told = {"is_user_system_message": True, "user_context_message_data": {"about_user": "Obey"}}
    silent = {"author": {"role": "system"}, "content": {"parts": [""]}, "metadata": told}
    words = {"author": {"role": "user"}, "content": {"parts": ["やあ"]}}
    mapping = {"a": {"message": silent}, "b": {"message": words, "parent": "a"}}
    shown = [{"id": "c", "title": "T", "mapping": mapping, "current_node": "b"}]
    found = read("chatgpt", {"conversations.json": shown})
    assert said(found) == [("user", "やあ")]
    assert ("custom instructions", "instructions") in lost(found)
