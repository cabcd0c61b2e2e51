"""Speaking, thinking, staying silent and being done, in Japanese and English."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import ValidationError

from opencrab.domain.access.impact import Impact
from opencrab.domain.turn.action import (
    ActionResult,
    DeclaredDone,
    Effect,
    InnerVoiceNoted,
    SilenceChosen,
    SpeechSent,
)
from opencrab.domain.value import MESSAGE_BYTES
from opencrab.ports.turn.action import ActionContext
from tests.unit.actions.knowing import REGISTRY, desk, run

SPEECH = ("send_speech", "send_noreact", "generate_inner_voice", "declare_done")
both_languages = pytest.mark.parametrize("words", ["こんにちは、美香です 🦀", "Hello, I am Mika"])


@pytest.fixture
def at(tmp_path: Path) -> Iterator[ActionContext]:
    """Where Mika speaks."""
    with desk(tmp_path) as place:
        yield place.at


@both_languages
def test_speech_is_for_everybody(words: str, at: ActionContext) -> None:
    result = run(at, "send_speech", content=words)
    assert result == ActionResult.ok(SpeechSent(text=words), said=True)


@both_languages
def test_a_thought_is_for_nobody_else(words: str, at: ActionContext) -> None:
    result = run(at, "generate_inner_voice", content=words)
    assert result == ActionResult.ok(InnerVoiceNoted(text=words), said=False)


@both_languages
def test_silence_may_have_a_reason(words: str, at: ActionContext) -> None:
    assert run(at, "send_noreact", reason=words).side_effects == (SilenceChosen(reason=words),)
    assert run(at, "send_noreact").side_effects == (SilenceChosen(),)


@both_languages
def test_being_done_is_declared(words: str, at: ActionContext) -> None:
    assert run(at, "declare_done", reason=words).side_effects == (DeclaredDone(reason=words),)
    assert run(at, "declare_done").success


@pytest.mark.parametrize("name", SPEECH)
def test_speech_commits_with_its_result(name: str) -> None:
    action = REGISTRY.find(name)
    assert action is not None
    assert (action.impact, action.effect) == (Impact.SPEECH, Effect.TRANSACTIONAL)


@pytest.mark.parametrize(
    ("name", "arguments", "ends"),
    [
        ("send_speech", {"content": "やあ"}, True),
        ("send_speech", {"content": "hi", "more": True}, False),
        ("generate_inner_voice", {"content": "hm"}, False),
        ("send_noreact", {}, True),
        ("declare_done", {}, True),
    ],
)
def test_the_arguments_tell_whether_the_turn_goes_on(
    name: str, arguments: dict[str, object], *, ends: bool
) -> None:
    action = REGISTRY.find(name)
    assert action is not None
    checked = action.arguments.model_validate(arguments)
    assert action.ends_turn(checked, ActionResult.ok()) is ends


@pytest.mark.parametrize("name", ["send_speech", "generate_inner_voice"])
@pytest.mark.parametrize("blank", [" ", "\n\t", "\u3000"])
def test_blanks_are_no_words(name: str, blank: str, at: ActionContext) -> None:
    result = run(at, name, content=blank)
    assert result == ActionResult.failure("content is blank: write words or use send_noreact")


@pytest.mark.parametrize("name", ["send_speech", "generate_inner_voice"])
@pytest.mark.parametrize(
    "content",
    ["", "a\x00", "\ud83e", "x" * (MESSAGE_BYTES + 1), "海" * (MESSAGE_BYTES // 3 + 1), 7],
)
def test_what_fits_no_message_is_refused_before_it_runs(
    name: str, content: object, at: ActionContext
) -> None:
    with pytest.raises(ValidationError, match="content"):
        run(at, name, content=content)


def test_the_longest_message_can_be_said(at: ActionContext) -> None:
    most = "海" * (MESSAGE_BYTES // 3)
    assert run(at, "send_speech", content=most).side_effects == (SpeechSent(text=most),)


@pytest.mark.parametrize("name", SPEECH)
def test_an_unknown_argument_is_refused(name: str, at: ActionContext) -> None:
    with pytest.raises(ValidationError, match="loudly"):
        run(at, name, content="やあ", loudly=True)
