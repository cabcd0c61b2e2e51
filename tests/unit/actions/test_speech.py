"""Speaking, thinking, staying silent and being done, in Japanese and English."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import ValidationError

from opencrab.domain.access.impact import Impact
from opencrab.domain.conversation.message import SENT_AS, Audience, LineKind
from opencrab.domain.turn.action import (
    ActionResult,
    AnsweredLine,
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


@pytest.mark.parametrize("words", ["はい、鍵は灯台です", "Yes, the key is at the lighthouse"])
@pytest.mark.parametrize(
    ("wanted", "sequence", "sent_as"),
    [("2", 2, ""), ("jun", 3, "discord:77/900"), (" taro ", 2, ""), ("m-1", 1, "")],
)
def test_speech_may_reply_to_a_line_or_to_the_last_words_of_somebody(
    words: str, wanted: str, sequence: int, sent_as: str, tmp_path: Path
) -> None:
    with desk(tmp_path) as place:
        place.hear("鍵はどこ?", message_id="m-1")
        place.hear("Where is the key?")
        place.hear("ねえ", speaker_id="jun", data={SENT_AS: "discord:77/900"})
        place.hear("秘密", speaker_id="jun", kind=LineKind.INNER_VOICE, audience=Audience.SELF)
        result = run(place.at, "send_speech", content=words, reply_to=wanted)
        answered = AnsweredLine(sequence=sequence, sent_as=sent_as)
        assert result.side_effects == (SpeechSent(text=words, reply_to=answered),)


@pytest.mark.parametrize("wanted", ["9", "nobody", "0", "-1", "1", "\uff19", "1" * 40])
def test_a_reply_to_what_nobody_said_is_refused(wanted: str, tmp_path: Path) -> None:
    with desk(tmp_path) as place:
        place.hear("(hm)", kind=LineKind.INNER_VOICE, audience=Audience.SELF)
        result = run(place.at, "send_speech", content="はい", reply_to=wanted)
        assert result.error is not None
        assert result.error.startswith("nobody here said")
        assert not result.side_effects
