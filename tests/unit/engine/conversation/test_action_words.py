"""What actions did, in words: every built-in one in both languages, and unknown ones by name."""

import json
from typing import Any

import pytest

from opencrab.actions import GROUPS, Registry
from opencrab.domain.access.authority import Authority
from opencrab.domain.conversation.message import Line, LineKind
from opencrab.domain.value import Language
from opencrab.engine.conversation.action_words import session_action_in_words
from tests.contract.example import NOW

REGISTRY = Registry(GROUPS)
NAMES = sorted(action.name for group in GROUPS for action in group.actions)


def line(name: str, arguments: Any, kind: LineKind = LineKind.ACTION) -> Line:
    data = {"name": name, "arguments": arguments, "result": "", "state": "completed"}
    return Line(
        session_id="s", group="g", kind=kind, speaker_id="a", speaker_name="Ada",
        authority=Authority.SELF, text=name, data=data, at=NOW,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("language", "said"),
    [(Language.EN, "Read notes/計画.md"), (Language.JA, "「notes/計画.md」を読む")],
)
def test_an_action_is_said_in_words(language: Language, said: str) -> None:
    kept = json.dumps({"path": "notes/計画.md"}, ensure_ascii=False)
    assert session_action_in_words(REGISTRY, line("ws_read", kept), language) == said


@pytest.mark.parametrize("name", NAMES)
def test_every_built_in_action_has_words(name: str) -> None:
    english, japanese = (
        session_action_in_words(REGISTRY, line(name, "{}"), language)
        for language in (Language.EN, Language.JA)
    )
    assert english
    assert japanese
    assert english != japanese
    assert "{" not in english + japanese


def test_arguments_that_were_cut_are_said_as_far_as_they_are_whole() -> None:
    kept = json.dumps({"path": "a, b: {c}.md", "content": "x" * 500})[:200] + "…"
    assert (
        session_action_in_words(REGISTRY, line("ws_write", kept), Language.EN)
        == "Write a, b: {c}.md"
    )
    assert (
        session_action_in_words(REGISTRY, line("ws_write", '{"path": "a'), Language.EN) == "Write …"
    )
    assert session_action_in_words(REGISTRY, line("ws_write", "null"), Language.EN) == "Write …"


def test_an_unknown_action_is_named_and_other_lines_have_none() -> None:
    assert session_action_in_words(REGISTRY, line("gone\n\x1b[2J", "{}"), Language.EN) == (
        "Use gone ⟨U+001B⟩[2J"
    )
    assert session_action_in_words(REGISTRY, line("gone", "{}"), Language.JA) == "goneを使う"
    assert session_action_in_words(REGISTRY, line("x", "{}", LineKind.SPEECH), Language.EN) is None
