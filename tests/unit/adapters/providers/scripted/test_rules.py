"""The rules of the model that is none: simple requests in Japanese and English."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.adapters.providers.scripted.rules import scripted_reply
from opencrab.domain.turn.record import ModelAnswer
from opencrab.ports.models.model import ActionSchema, CallReturn, ChatMessage, ChatRequest


def _action(name: str, *arguments: str) -> ActionSchema:
    properties = {argument: {"type": "string"} for argument in arguments}
    schema = {"type": "object", "properties": properties, "required": list(arguments)}
    return ActionSchema(name=name, description=name, parameters=schema)


ACTIONS = (
    _action("send_speech", "content"),
    _action("send_noreact"),
    _action("generate_inner_voice", "content"),
    _action("ws_write", "path", "content"),
    _action("ws_read", "path"),
    _action("ws_list"),
)


def _reply(words: str, *since: ChatMessage | CallReturn, actions: Any = ACTIONS) -> ModelAnswer:
    turns = (ChatMessage("user", words, name="rin"), *since)
    return scripted_reply(ChatRequest("", actions, "", turns, 100))


@pytest.mark.parametrize(
    ("words", "action", "arguments"),
    [
        ("write memo.txt: hello", "ws_write", {"path": "memo.txt", "content": "hello"}),
        (
            "Could you please write to a/b.md： x\ny",
            "ws_write",
            {"path": "a/b.md", "content": "x\ny"},
        ),
        (
            "memo.txtに『こんにちは』と書いて",
            "ws_write",
            {"path": "memo.txt", "content": "こんにちは"},
        ),
        ("「おはよう」と日記.mdに書いて", "ws_write", {"path": "日記.md", "content": "おはよう"}),
        (
            "tomorrow.md に「10時にお茶」と書く",
            "ws_write",
            {"path": "tomorrow.md", "content": "10時にお茶"},
        ),
        (
            "plan.md に書いてください: 散歩、読書\n睡眠",
            "ws_write",
            {"path": "plan.md", "content": "散歩、読書\n睡眠"},
        ),
        (
            "memo.txtに書き込んで：12:30に昼食",
            "ws_write",
            {"path": "memo.txt", "content": "12:30に昼食"},
        ),
        (
            "私の a.b.mdに晴れと書いておいて",
            "ws_write",
            {"path": "a.b.md", "content": "晴れ"},
        ),
        (
            "memo.txtに「x」と書いていただけますか",
            "ws_write",
            {"path": "memo.txt", "content": "x"},
        ),
        ("日記.mdに今日は晴れと書いて", "ws_write", {"path": "日記.md", "content": "今日は晴れ"}),
        (
            'write "tea at ten" to tomorrow.md.',
            "ws_write",
            {"path": "tomorrow.md", "content": "tea at ten"},
        ),
        (
            "Write “it's late” into memo.txt",
            "ws_write",
            {"path": "memo.txt", "content": "it's late"},
        ),
        ("memo.txt を読む", "ws_read", {"path": "memo.txt"}),
        ("read memo.txt", "ws_read", {"path": "memo.txt"}),
        ("Please read memo.txt.", "ws_read", {"path": "memo.txt"}),
        ("memo.txtを読んで", "ws_read", {"path": "memo.txt"}),
        ("list files", "ws_list", {}),
        ("ファイル一覧", "ws_list", {}),
        ("say hello", "send_speech", {"content": "hello"}),
        ("「やあ」と言って", "send_speech", {"content": "やあ"}),
        ("think about crabs", "generate_inner_voice", {"content": "crabs"}),
        ("蟹について考えて", "generate_inner_voice", {"content": "蟹"}),
        ("stay silent", "send_noreact", {}),
        ("黙っていて", "send_noreact", {}),
    ],
)
def test_a_simple_request_becomes_its_action(
    words: str, action: str, arguments: dict[str, str]
) -> None:
    answer = _reply(words)
    (call,) = answer.calls
    assert (call.name, call.arguments, answer.finish) == (action, arguments, "tool_calls")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("元気？", "「元気？」と受け取りました"),
        ("How are you?", "I received: “How are you?”"),
        ("I read a book yesterday", "not a language model"),
        ("本を読みました", "言語モデルではなく"),
        ("AI に人が負けると書いて", "言語モデルではなく"),
        ("AIに書いてほしいこと: 詩", "言語モデルではなく"),
        ("README.md に書いてある注意: 開くな", "言語モデルではなく"),
        ("README.mdに書きました：済", "言語モデルではなく"),
        ("memo.txtに昨日行ったと書いています", "言語モデルではなく"),
        ("『やあ』とmemo.txtに書いた", "言語モデルではなく"),
        ("memo.txtに「x」と書けない", "言語モデルではなく"),
    ],
)
def test_everything_else_is_told_what_this_is(words: str, told: str) -> None:
    answer = _reply(words)
    assert told in answer.text
    assert not answer.calls
    assert "opencrab setup" in answer.text


def test_an_action_that_is_not_offered_is_not_called() -> None:
    assert not _reply("read memo.txt", actions=ACTIONS[:1]).calls


def test_arguments_go_under_the_names_that_the_action_gives_them() -> None:
    other = (_action("ws_write", "file", "text"),)
    (call,) = _reply("write memo.txt: やあ", actions=other).calls
    assert call.arguments == {"file": "memo.txt", "text": "やあ"}


def read(result: str) -> CallReturn:
    return CallReturn("c0", "ws_read", result)


@pytest.mark.parametrize(
    ("words", "result", "told"),
    [
        ("memo.txtを読んで", read('{"content": "本日は晴天"}'), "本日は晴天"),
        ("read memo.txt", read('{"error": "no such file"}'), "did not work"),
        ("memo.txtを読んで", read('{"error": "無"}'), "できませんでした: 無"),
        ("ファイル一覧", CallReturn("c0", "ws_list", '{"entries": []}'), "（何もありません）"),
        ("list files", CallReturn("c0", "ws_list",
         '{"entries": [{"name": "a", "is_dir": true}, {"name": "b.md", "is_dir": false}]}'),
         "- a/"),
        ("write a.md: x", CallReturn("c0", "ws_write", '{"path": "a.md"}'), "Written.\na.md"),
        ("read a", CallReturn("c0", "ws_read", "not json"), "not json"),
    ],
)  # fmt: skip
def test_what_came_of_an_action_is_told(words: str, result: CallReturn, told: str) -> None:
    assert told in _reply(words, ChatMessage("assistant", ""), result).text


def test_nothing_is_told_of_an_action_that_spoke_itself() -> None:
    assert (
        _reply("say hi", ChatMessage("assistant", ""), CallReturn("c0", "send_speech", "{}")).text
        == ""
    )


def test_a_long_result_is_cut() -> None:
    content = json.dumps({"content": "長" * 9_000})
    assert len(_reply("read a.md", CallReturn("c0", "ws_read", content)).text) < 2_000


def test_it_is_silent_when_nobody_waits_for_an_answer() -> None:
    answered = _reply("元気？", ChatMessage("assistant", "元気です。"))
    assert [call.name for call in answered.calls] == ["send_noreact"]
    assert scripted_reply(ChatRequest("", (), "", (), 10)).text == ""


@given(st.text(max_size=300), st.text(max_size=300))
def test_no_words_and_no_result_confuse_it(words: str, content: str) -> None:
    for answer in (_reply(words), _reply(words, CallReturn("c0", "ws_read", content))):
        answer.model_dump_json()
        assert all(call.arguments is not None for call in answer.calls)


@pytest.mark.timeout(10)
@pytest.mark.parametrize(
    "words", ["a" * 60_000, "「" * 60_000, "/" * 60_000, "write " * 10_000, " " * 60_000]
)
def test_long_words_are_read_in_no_time(words: str) -> None:
    _reply(words)


def test_woken_in_a_discussion_it_says_one_thing_and_is_done() -> None:
    floor = "OpenCrab: [議論であなたの番です。なければ declare_done]"
    actions = (*ACTIONS, _action("declare_done"))
    first = _reply(floor, actions=actions)
    assert first.text
    assert "OpenCrab" not in first.text
    assert "declare_done" not in first.text
    turns = (ChatMessage("assistant", first.text), ChatMessage("user", floor, name="rin"))
    second = scripted_reply(ChatRequest("", actions, "", turns, 100))
    assert [call.name for call in second.calls] == ["declare_done"]
    assert [call.name for call in _reply("OpenCrab: [events]").calls] == ["send_noreact"]
