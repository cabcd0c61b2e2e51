"""Which models get their thoughts back, and what is kept of an answer for that."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.adapters.providers.anthropic.replay import (
    anthropic_blocks_to_replay,
    anthropic_history_is_append_only,
    anthropic_replay_blocks,
    anthropic_tool_name,
)
from opencrab.domain.turn.record import ActionCall
from opencrab.ports.models.model import ChatMessage

SIGNED = {"type": "thinking", "thinking": "考える", "signature": "EqYC"}
USE = {"type": "tool_use", "id": "toolu_1", "name": "ws_read", "input": {}, "caller": {}}


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("claude-opus-4.6", "claude-opus-4-6"),
        ("claude-haiku-4.5", "claude-haiku-4-5"),
        ("claude-3.5-sonnet-20241022", "claude-3-5-sonnet-20241022"),
        ("claude-sonnet-5", "claude-sonnet-5"),
        ("tiny-1.5", "tiny-1.5"),
        ("claude.local", "claude.local"),
    ],
)
def test_a_version_has_a_hyphen_at_anthropic(ours: str, theirs: str) -> None:
    assert anthropic_tool_name(ours) == theirs


@pytest.mark.parametrize(
    ("model", "bound"),
    [
        ("claude-opus-4-6", False),
        ("claude-opus-4-8", False),
        ("claude-3-5-sonnet-20241022", False),
        ("claude-opus-5", False),
        ("claude-opus-5-20260724", False),
        ("claude-fable-5", False),
        ("claude-fable-5-1", True),
        ("claude-opus-5-5", True),
        ("claude-sonnet-5-5-20260928", True),
        ("claude-haiku-6", True),
        ("tiny", False),
    ],
)
def test_newer_models_bind_their_thoughts_to_all_that_came_before(
    model: str, *, bound: bool
) -> None:
    assert anthropic_history_is_append_only(model) is bound
    assert (anthropic_blocks_to_replay([SIGNED, USE], model) is None) is bound


def test_an_answer_without_thoughts_keeps_nothing() -> None:
    assert (
        anthropic_blocks_to_replay([{"type": "text", "text": "はい"}, USE], "claude-sonnet-5")
        is None
    )


def test_a_thought_without_signature_is_not_kept() -> None:
    assert anthropic_blocks_to_replay([{**SIGNED, "signature": ""}, USE], "tiny") is None


def test_what_is_kept_comes_back_from_the_journal_as_it_was() -> None:
    hidden = {"type": "thinking", "thinking": "", "signature": "EooC"}
    other = {"type": "server_tool_use"}
    blocks: list[dict[str, Any]] = [SIGNED, {"type": "text", "text": "では"}, USE, hidden, other]
    kept = json.loads(json.dumps(anthropic_blocks_to_replay(blocks, "claude-sonnet-5")))
    said = ChatMessage(
        "assistant", "", calls=(ActionCall(id="c", name="x", arguments={}),), replay=kept
    )
    assert anthropic_replay_blocks(said, "claude-sonnet-5") == [
        SIGNED,
        {"type": "text", "text": "では"},
        {"type": "tool_use", "id": "toolu_1"},
        hidden,
    ]
    assert anthropic_replay_blocks(said, "claude-opus-5") is None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["vendor", "model", "blocks", "type", "id", "text", "signature"]),
            inner | st.sampled_from(["anthropic", "m", "thinking", "tool_use", "text"]),
            max_size=5,
        )
    ),
    max_leaves=15,
)


@given(st.dictionaries(st.sampled_from(["vendor", "model", "blocks"]), json_values))
def test_whatever_was_kept_gives_blocks_with_as_many_calls_or_none(kept: dict[str, Any]) -> None:
    said = ChatMessage(
        "assistant", "", calls=(ActionCall(id="c", name="x", arguments={}),), replay=kept
    )
    blocks = anthropic_replay_blocks(said, "m")
    assert blocks is None or [block["type"] for block in blocks].count("tool_use") == 1
