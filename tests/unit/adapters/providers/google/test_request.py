"""What goes out to Gemini: bodies that its schema accepts, roles that alternate, calls in pairs."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.adapters.providers.google.request import UNSIGNED, google_request_body
from opencrab.domain.turn.record import ActionCall, ModelAnswer
from opencrab.ports.models.model import (
    ActionSchema,
    CallReturn,
    ChatMessage,
    ChatRequest,
    Image,
    ModelInfo,
)

INFO = ModelInfo(name="google:gemini-2.5-flash", vision=True)
WRITE = ActionSchema(
    name="ws_write",
    description="ファイルを書く",
    parameters={"type": "object", "properties": {"size": {"exclusiveMinimum": 0}}},
)
CALL = ActionCall(
    id="c0", name="ws_write", arguments={"path": "日記.md", "content": "今日は晴れ🦀"}
)
OTHER = ActionCall(id="c1", name="ws_read", arguments=None, raw='{"path": ')

Check = Callable[[Any], None]


@pytest.fixture(scope="session")
def check(wire: Path) -> Check:
    """Judges a body by Google's own schema, which allows no unknown field and one kind a part."""
    path = wire / "specs" / "google" / "generativelanguage.schema.json"
    spec = json.loads(path.read_text(encoding="utf-8"))
    kinds = spec["$defs"]["Part"]["x-oneof"]["data"]
    schema = {"$ref": "#/$defs/GenerateContentRequest", "$defs": spec["$defs"]}
    validator = jsonschema.Draft202012Validator(schema)

    def judge(body: Any) -> None:
        validator.validate(body)
        for content in body["contents"]:
            assert content["parts"]
            assert all(len(part.keys() & set(kinds)) == 1 for part in content["parts"])

    return judge


def _request(*turns: ChatMessage | CallReturn, **changes: Any) -> ChatRequest:
    wanted: dict[str, Any] = {
        "model": "gemini-2.5-flash",
        "actions": (WRITE,),
        "system": "あなたは蟹です。You are a crab.",
        "turns": turns or (ChatMessage("user", "こんにちは。Hello! 🦀", name="rin"),),
        "max_output_tokens": 200,
    }
    return ChatRequest(**{**wanted, **changes})


def _body(
    *turns: ChatMessage | CallReturn, info: ModelInfo = INFO, **changes: Any
) -> dict[str, Any]:
    return google_request_body(_request(*turns, **changes), info)


@pytest.mark.parametrize(
    "request_",
    [
        _request(),
        _request(temperature=0.4, stop=("終", "", "b", "c", "d", "e", "f")),
        _request(require_action=True),
        _request(actions=(), require_action=True),
        _request(system=""),
        _request(turns=()),
        _request(ChatMessage("user", "見て", images=(Image("image/png", "iVBORw0KGgo="),))),
        _request(
            ChatMessage("user", "書いて"),
            ChatMessage("assistant", "はい", calls=(CALL, OTHER)),
            CallReturn("c0", "ws_write", '{"ok":true}'),
            CallReturn("c1", "ws_read", "壊れた"),
            ChatMessage("assistant", "書きました。"),
        ),
    ],
)
def test_every_kind_of_request_fits_the_published_schema(
    request_: ChatRequest, check: Check
) -> None:
    check(google_request_body(request_, INFO))


def test_the_schema_would_notice_a_field_that_does_not_exist(check: Check) -> None:
    with pytest.raises(jsonschema.ValidationError):
        check({**_body(), "max_tokens": 1})


def test_all_our_actions_become_valid_declarations(
    our_actions: tuple[ActionSchema, ...], check: Check
) -> None:
    body = _body(actions=our_actions)
    check(body)
    declarations = body["tools"][0]["functionDeclarations"]
    assert [each["name"] for each in declarations] == [schema.name for schema in our_actions]
    for each in declarations:
        jsonschema.Draft202012Validator.check_schema(each["parametersJsonSchema"])


def test_a_request_is_the_same_each_time() -> None:
    assert json.dumps(_body()) == json.dumps(_body())


def test_the_system_text_and_the_limits_have_their_own_places() -> None:
    body = _body(temperature=0.2, stop=("終わり", ""))
    assert body["systemInstruction"] == {"parts": [{"text": "あなたは蟹です。You are a crab."}]}
    assert body["generationConfig"] == {
        "maxOutputTokens": 200,
        "temperature": 0.2,
        "stopSequences": ["終わり"],
    }


def test_no_more_than_five_stop_sequences_are_sent() -> None:
    assert len(_body(stop=tuple("abcdefg"))["generationConfig"]["stopSequences"]) == 5


def test_a_model_that_stops_at_no_text_is_named_none() -> None:
    body = _body(stop=("終わり",), info=ModelInfo(name="google:gemma", stop=False))
    assert "stopSequences" not in body["generationConfig"]


def test_what_a_model_cannot_do_is_left_out() -> None:
    blind = ModelInfo(name="google:gemma", functions=False, temperature=False)
    picture = ChatMessage("user", "見て", images=(Image("image/png", "iVBORw0KGgo="),))
    body = _body(picture, info=blind, temperature=0.2, require_action=True)
    assert not {"tools", "toolConfig"} & body.keys()
    assert "temperature" not in body["generationConfig"]
    assert body["contents"] == [{"role": "user", "parts": [{"text": "見て"}]}]


def test_a_demanded_call_is_mode_any() -> None:
    assert _body(require_action=True)["toolConfig"] == {"functionCallingConfig": {"mode": "ANY"}}
    assert "toolConfig" not in _body()


def test_a_call_and_its_result_are_shown_as_objects() -> None:
    contents = _body(
        ChatMessage("user", "書いて"),
        ChatMessage("assistant", "", calls=(CALL,)),
        CallReturn("c0", "ws_write", "可"),
    )["contents"]
    assert [content["role"] for content in contents] == ["user", "model", "user"]
    assert contents[1]["parts"] == [{"functionCall": {"name": "ws_write", "args": CALL.arguments}}]
    assert contents[2]["parts"] == [
        {"functionResponse": {"name": "ws_write", "response": {"result": "可"}}}
    ]


def test_a_call_that_never_came_back_is_answered_and_a_stray_result_is_told() -> None:
    contents = _body(
        ChatMessage("assistant", "", calls=(CALL, OTHER)),
        ChatMessage("user", "待って"),
        CallReturn("c1", "ws_read", "遅い"),
        CallReturn("zz", "ws_list", "誰も聞いていない"),
    )["contents"]
    assert [content["role"] for content in contents] == ["user", "model", "user"]
    answers = [part.get("functionResponse") for part in contents[2]["parts"][:2]]
    assert [answer["name"] for answer in answers] == ["ws_write", "ws_read"]
    assert "error" in answers[0]["response"]
    assert answers[1]["response"] == {"result": "遅い"}
    assert contents[2]["parts"][2:] == [
        {"text": "ws_list: 誰も聞いていない"},
        {"text": "待って"},
    ]


def test_arguments_that_nobody_could_read_are_shown_as_they_came() -> None:
    contents = _body(ChatMessage("assistant", "", calls=(OTHER,)))["contents"]
    assert contents[1]["parts"][0]["functionCall"]["args"] == {"unreadable": '{"path": '}


@pytest.mark.parametrize("name", ["", "書く", "1st", "a b\n", "x" * 200])
def test_a_name_that_a_model_invented_is_made_one_that_google_takes(name: str) -> None:
    call = ActionCall(id="c0", name=name, arguments={})
    contents = _body(ChatMessage("assistant", "", calls=(call,)), CallReturn("c0", name, "なし"))[
        "contents"
    ]
    sent = contents[1]["parts"][0]["functionCall"]["name"]
    assert sent.isascii()
    assert 0 < len(sent) <= 64
    assert not sent[0].isdigit()
    assert contents[2]["parts"][0]["functionResponse"]["name"] == sent


SIGNED = {
    "of": "google",
    "model": "gemini-2.5-flash",
    "calls": [{"id": "v1", "signature": "c2ln+/=="}, {}],
    "text": "dGV4dA==",
}


def test_signatures_and_ids_go_back_to_their_places() -> None:
    replay = json.loads(ModelAnswer(replay=SIGNED).model_dump_json())["replay"]
    contents = _body(
        ChatMessage("assistant", "読む", calls=(CALL, OTHER), replay=replay),
        CallReturn("c0", "ws_write", "可"),
    )["contents"]
    text, first, second = contents[1]["parts"]
    assert text == {"text": "読む", "thoughtSignature": "dGV4dA=="}
    assert first["thoughtSignature"] == "c2ln+/=="
    assert first["functionCall"]["id"] == "v1"
    assert "thoughtSignature" not in second
    assert "id" not in second["functionCall"]
    assert contents[2]["parts"][0]["functionResponse"]["id"] == "v1"


@pytest.mark.parametrize(
    "change", [{"model": "gemini-3-pro"}, {"of": "anthropic"}, {"of": None}, {"model": None}]
)
def test_what_another_model_signed_is_not_replayed(change: dict[str, Any]) -> None:
    said = ChatMessage("assistant", "読む", calls=(CALL,), replay={**SIGNED, **change})
    text, call = _body(said)["contents"][1]["parts"]
    assert "thoughtSignature" not in text
    assert "thoughtSignature" not in call
    assert "id" not in call["functionCall"]


@pytest.mark.parametrize(
    "calls", [None, "x", [None], [{"id": 5, "signature": {"a": 1}}], [], [[], []]]
)
def test_a_replay_that_makes_no_sense_is_left_out(calls: Any) -> None:
    said = ChatMessage("assistant", "", calls=(CALL,), replay={**SIGNED, "calls": calls})
    assert _body(said)["contents"][1]["parts"] == [
        {"functionCall": {"name": "ws_write", "args": CALL.arguments}}
    ]


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("gemini-3-pro-preview", UNSIGNED),
        ("models/gemini-3.1-flash", UNSIGNED),
        ("gemini-10", UNSIGNED),
        ("gemini-2.5-pro", None),
        ("gemma-3-27b", None),
    ],
)
def test_a_new_model_is_told_that_the_first_call_of_a_step_is_not_its_own(
    model: str, expected: str | None
) -> None:
    parts = _body(ChatMessage("assistant", "", calls=(CALL, OTHER)), model=model)["contents"][1][
        "parts"
    ]
    assert [part.get("thoughtSignature") for part in parts] == [expected, None]


TEXTS = st.sampled_from(["", "こんにちは", "Hello", "🦀\n", "\x00 "])
IDS = st.sampled_from(["c0", "c1", "h12", ""])
NAMES = st.sampled_from(["ws_write", "書く", ""])
CALLS = st.builds(
    ActionCall,
    id=IDS,
    name=NAMES,
    arguments=st.none() | st.dictionaries(TEXTS, TEXTS, max_size=2),
    raw=TEXTS,
)
REPLAYS = st.none() | st.just(SIGNED) | st.just({"of": "google", "model": "gemini-3-pro"})
TURNS = st.lists(
    st.builds(CallReturn, IDS, NAMES, TEXTS)
    | st.builds(
        ChatMessage,
        st.just("assistant"),
        TEXTS,
        calls=st.lists(CALLS, max_size=3).map(tuple),
        replay=REPLAYS,
    )
    | st.builds(
        ChatMessage,
        st.just("user"),
        TEXTS,
        images=st.just(()) | st.just((Image("image/png", "iVBORw0KGgo="),)),
    ),
    max_size=9,
)


@given(turns=TURNS, model=st.sampled_from(["gemini-2.5-flash", "gemini-3-pro"]))
def test_any_conversation_alternates_and_answers_each_call_at_once(
    check: Check, turns: list[ChatMessage | CallReturn], model: str
) -> None:
    body = google_request_body(_request(turns=tuple(turns), model=model), INFO)
    check(body)
    contents = body["contents"]
    assert [content["role"] for content in contents] == [
        "model" if place % 2 else "user" for place in range(len(contents))
    ]
    assert contents[-1]["role"] == "user"
    for before, content in zip([{"parts": []}, *contents], contents, strict=False):
        asked = [part["functionCall"] for part in before["parts"] if "functionCall" in part]
        came = [part["functionResponse"] for part in content["parts"] if "functionResponse" in part]
        assert [call["name"] for call in asked] == [answer["name"] for answer in came]
        assert [call.get("id") for call in asked] == [answer.get("id") for answer in came]
    shown = json.dumps(body, ensure_ascii=False)
    contents_said = [turn.text for turn in turns if isinstance(turn, ChatMessage)]
    results = [turn.content for turn in turns if isinstance(turn, CallReturn)]
    for text in contents_said + results:
        assert json.dumps(text, ensure_ascii=False)[1:-1] in shown
