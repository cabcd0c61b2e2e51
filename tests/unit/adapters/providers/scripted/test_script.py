"""Scripts of the scripted model: read from files, chosen by what a person said last."""

import json
from pathlib import Path
from typing import Any

import pytest

from opencrab.adapters.providers.scripted.script import (
    ScriptedAnswer,
    ScriptedCall,
    last_scripted_words,
    load_script_of_scripted_model,
    scripted_answer,
    scripted_turns_since_user_message,
)
from opencrab.domain.errors import Invalid
from opencrab.domain.models.fault import Fault
from opencrab.domain.money.budget import Usage
from opencrab.ports.models.model import CallReturn, ChatMessage, ChatRequest

TOML = """
[[answers]]
when = "天気"
text = "晴れです。"
usage = { input_tokens = 3, output_tokens = 4 }

[[answers]]
delay_ms = 20
[[answers.calls]]
name = "ws_write"
arguments = { path = "日記.md" }
"""


def _request(*turns: ChatMessage | CallReturn) -> ChatRequest:
    return ChatRequest("", (), "", turns, 10)


def test_a_script_in_toml_is_read(tmp_path: Path) -> None:
    path = tmp_path / "台本.toml"
    path.write_text(TOML, encoding="utf-8")
    assert load_script_of_scripted_model(path) == (
        ScriptedAnswer(
            text="晴れです。", when="天気", usage=Usage(input_tokens=3, output_tokens=4)
        ),
        ScriptedAnswer(delay_ms=20, calls=(ScriptedCall("ws_write", {"path": "日記.md"}),)),
    )


@pytest.mark.parametrize("wrap", [True, False])
def test_a_script_in_json_may_be_a_list_alone(tmp_path: Path, wrap: bool) -> None:  # noqa: FBT001
    path = tmp_path / "script.json"
    answers: Any = [{"text": "はい"}, {"error": "unavailable"}]
    path.write_text(json.dumps({"answers": answers} if wrap else answers), encoding="utf-8")
    assert load_script_of_scripted_model(path) == (
        ScriptedAnswer(text="はい"),
        ScriptedAnswer(error="unavailable"),
    )


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("a.json", "{", "cannot read"), ("a.toml", "= 1", "cannot read"),
        ("a.json", '{"reply": []}', "no list"), ("a.json", '{"answers": 3}', "no list"),
        ("a.json", '["はい"]', "answer 1"), ("a.json", '[{}, {"say": 1}]', "answer 2.*'say'"),
        ("a.json", '[{"error": "rain"}]', "rain"), ("a.json", '[{"delay_ms": "soon"}]', "answer 1"),
        ("a.json", '[{"calls": [{"nome": "x"}]}]', "'nome'"),
        ("a.json", '[{"calls": 3}]', "answer 1"),
        ("a.json", '[{"usage": {"tokens": 3}}]', "answer 1"),
    ],
)  # fmt: skip
def test_what_is_no_script_is_invalid_and_named(
    tmp_path: Path, name: str, text: str, told: str
) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(Invalid, match=told):
        load_script_of_scripted_model(path)


def test_a_script_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match=r"gone\.toml"):
        load_script_of_scripted_model(tmp_path / "gone.toml")


def test_a_file_that_is_no_text_is_invalid(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(Invalid, match="cannot read"):
        load_script_of_scripted_model(path)


def test_answers_for_certain_words_come_before_all_others() -> None:
    weather, other = ScriptedAnswer(text="晴れ", when="天気"), ScriptedAnswer(text="はい")
    script = (other, weather)
    assert scripted_answer(script, _request(ChatMessage("user", "天気は？", name="rin"))) is weather
    assert scripted_answer(script, _request(ChatMessage("user", "元気？", name="rin"))) is other
    assert scripted_answer((weather,), _request(ChatMessage("user", "元気？", name="rin"))) is None
    assert scripted_answer((), _request()) is None


def test_a_new_question_begins_the_script_again() -> None:
    one, two = ScriptedAnswer(text="一"), ScriptedAnswer(text="二")
    asked, answered = ChatMessage("user", "ねえ", name="rin"), ChatMessage("assistant", "一")
    assert scripted_answer((one, two), _request(asked)) is one
    assert scripted_answer((one, two), _request(asked, answered)) is two
    assert scripted_answer((one, two), _request(asked, answered, asked)) is one
    assert scripted_answer((one, two), _request(asked, answered, answered)) is None


def test_what_a_person_said_is_told_from_the_facts_around_it() -> None:
    words = ChatMessage("user", "凛 (rin): おはよう", name="rin")
    fact = ChatMessage("user", "It is 9 o'clock.")
    assert last_scripted_words(_request(words, fact)) == "おはよう"
    assert last_scripted_words(_request(fact)) == "It is 9 o'clock."
    assert last_scripted_words(_request()) == ""
    assert (
        last_scripted_words(_request(ChatMessage("user", "a\nb (rin): c", name="rin")))
        == "a\nb (rin): c"
    )


def test_what_happened_since_is_everything_after_a_persons_words() -> None:
    result = CallReturn("c0", "ws_list", "{}")
    turns = (ChatMessage("user", "見て", name="rin"), ChatMessage("assistant", ""), result)
    assert scripted_turns_since_user_message(_request(*turns)) == turns[1:]
    assert scripted_turns_since_user_message(_request(result)) == (result,)


@pytest.mark.parametrize("fault", Fault)
def test_every_fault_can_be_scripted_by_its_name(fault: Fault) -> None:
    failure = ScriptedAnswer(error=fault.value).failure
    assert failure is not None
    assert failure.fault is fault
    assert failure.may_be_billed is fault.may_be_billed
    assert "script" in failure.message


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("unavailable", Fault.SERVER_ERROR), ("never_sent", Fault.UNREACHABLE),
        ("refused", Fault.AUTH), ("invalid", Fault.BAD_REQUEST),
    ],
)  # fmt: skip
def test_usual_faults_have_short_names(name: str, fault: Fault) -> None:
    failure = ScriptedAnswer(error=name).failure
    assert failure is not None
    assert failure.fault is fault


def test_an_answer_without_an_error_is_no_failure() -> None:
    assert ScriptedAnswer(text="はい").failure is None


def test_an_answer_is_read_as_a_providers_would_be() -> None:
    calls = (ScriptedCall("a", '{"x": "日'), ScriptedCall("b", {"y": 1}))
    answer = ScriptedAnswer(text="<think>うーん</think>書きます", calls=calls).answer
    assert [(call.id, call.name, call.arguments) for call in answer.calls] == [
        ("c0", "a", None),
        ("c1", "b", {"y": 1}),
    ]
    assert answer.calls[0].raw == '{"x": "日'
    assert answer.thought is not None
    assert (answer.thought.judgment, answer.thought.intent) == ("うーん", "書きます")
    plain = ScriptedAnswer(text="はい\ud83d").answer
    assert (plain.text, plain.thought, plain.finish) == ("はい\ufffd", None, "stop")
