"""The model that is none: the same answer for the same request, and a bill that is true."""

import json
from threading import Thread
from typing import Any

import pytest

from opencrab.adapters.providers.scripted.model import Scripted
from opencrab.adapters.providers.scripted.script import ScriptedAnswer, ScriptedCall
from opencrab.domain.models.fault import Fault, ModelCallFailed
from opencrab.domain.money.budget import Price, Usage
from opencrab.domain.turn.record import ActionCall, ModelAnswer
from opencrab.ports.models.model import (
    ActionSchema,
    CallReturn,
    ChatMessage,
    ChatRequest,
    Image,
    ModelInfo,
)

PRICE = Price(input_per_million=1_000_000, output_per_million=2_000_000)
ASKED = ChatMessage("user", "こんにちは", name="rin")


def _request(*turns: ChatMessage | CallReturn, **changes: Any) -> ChatRequest:
    wanted: dict[str, Any] = {
        "model": "",
        "actions": (),
        "system": "",
        "turns": turns or (ASKED,),
        "max_output_tokens": 50,
    }
    return ChatRequest(**{**wanted, **changes})


def _chat(model: Scripted, *turns: ChatMessage | CallReturn) -> ModelAnswer:
    request = _request(*turns)
    return model.chat(request, model.encode(request))


def test_a_script_is_followed_answer_by_answer() -> None:
    call = ScriptedCall("ws_write", {"path": "日記.md"})
    model = Scripted((ScriptedAnswer(calls=(call,)), ScriptedAnswer(text="書きました。")))
    first = _chat(model)
    (made,) = first.calls
    assert (made.name, made.arguments, first.finish) == (call.name, call.arguments, "tool_calls")
    said = ChatMessage("assistant", "", calls=first.calls)
    assert _chat(model, ASKED, said, CallReturn(made.id, made.name, "{}")).text == "書きました。"


def test_the_same_request_gets_the_same_answer_however_often() -> None:
    model = Scripted((ScriptedAnswer(text="一"), ScriptedAnswer(text="二")))
    assert [_chat(model).text for _ in range(3)] == ["一", "一", "一"]


def test_an_ended_script_says_so() -> None:
    model = Scripted((ScriptedAnswer(text="一"),))
    assert "ended" in _chat(model, ASKED, ChatMessage("assistant", "一")).text


def test_broken_arguments_of_a_script_are_read_as_a_models_would_be() -> None:
    model = Scripted((ScriptedAnswer(calls=(ScriptedCall("ws_write", '{"path": "日'),)),))
    (call,) = _chat(model).calls
    assert call.arguments is None
    assert call.raw == '{"path": "日'


def test_without_a_script_it_says_what_it_is() -> None:
    assert "言語モデルではなく" in _chat(Scripted()).text
    english = _chat(Scripted(), ChatMessage("user", "Hello", name="rin")).text
    assert "not a language model" in english


@pytest.mark.parametrize(
    ("error", "fault", "billed"),
    [
        ("unavailable", Fault.SERVER_ERROR, 1), ("nonsense", Fault.NONSENSE, 1),
        ("timeout", Fault.TIMEOUT, 1), ("never_sent", Fault.UNREACHABLE, 0),
        ("refused", Fault.AUTH, 0), ("invalid", Fault.BAD_REQUEST, 0),
        ("rate_limited", Fault.RATE_LIMITED, 0),
    ],
)  # fmt: skip
def test_a_failure_is_billed_only_where_a_provider_would(
    error: str, fault: Fault, billed: int
) -> None:
    model = Scripted((ScriptedAnswer(error=error),), price=PRICE)
    with pytest.raises(ModelCallFailed) as caught:
        _chat(model)
    assert caught.value.fault is fault
    assert model.bill.calls == billed
    assert (model.bill.micro_usd > 0) == bool(billed)


def test_the_bill_is_the_sum_of_all_calls_even_from_many_threads() -> None:
    usage = Usage(input_tokens=10, output_tokens=5)
    model = Scripted((ScriptedAnswer(text="はい", usage=usage),), price=PRICE)
    threads = [Thread(target=_chat, args=(model,)) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert model.bill.calls == 20
    assert model.bill.micro_usd == 20 * PRICE.cost(usage) == 400


def test_an_answer_never_costs_more_than_was_set_aside() -> None:
    model = Scripted(price=PRICE)
    for words in ("長い" * 3_000, "a" * 5_000, "🦀", "x"):
        request = _request(ChatMessage("user", words, name="rin"))
        body = model.encode(request)
        answer = model.chat(request, body)
        reserved = PRICE.reservation(request_tokens=len(body), max_output_tokens=50)
        assert 0 < PRICE.cost(answer.usage) <= reserved


def test_it_takes_its_time_when_told_to() -> None:
    paused: list[float] = []
    script = (ScriptedAnswer(text="はい", delay_ms=1_500),)
    model = Scripted(script, pause=paused.append)
    answer = _chat(model)
    assert (answer.text, answer.first_token_ms) == ("はい", 1_500)
    assert paused == [1.5]
    assert _chat(Scripted()).first_token_ms == 0


def test_it_takes_its_time_before_it_fails_as_well() -> None:
    paused: list[float] = []
    model = Scripted((ScriptedAnswer(error="timeout", delay_ms=200),), pause=paused.append)
    with pytest.raises(ModelCallFailed):
        _chat(model)
    assert paused == [0.2]


def test_it_encodes_as_a_provider_would() -> None:
    assert json.loads(Scripted().encode(_request()))["messages"][-1]["content"] == "こんにちは"
    assert "not a language model" in Scripted().info.notes[0]


def test_everything_that_is_said_is_encoded() -> None:
    call = ActionCall(id="c0", name="ws_write", arguments={"path": "日記.md"})
    picture = ChatMessage("user", "見て", images=(Image("image/png", "aWNvbg=="),))
    turns = (
        picture,
        ChatMessage("assistant", "", calls=(call,)),
        CallReturn("c0", "ws_write", "済み"),
    )
    action = ActionSchema(name="ws_write", description="書く", parameters={})
    request = _request(*turns, actions=(action,), system="蟹です\ud83d")
    body = Scripted().encode(request).decode()
    assert all(word in body for word in ("日記.md", "済み", "書く", "蟹です?"))
    assert "aWNvbg==" not in body
    seeing = Scripted(info=ModelInfo(name="scripted:eyes", vision=True))
    assert "aWNvbg==" in seeing.encode(request).decode()
    assert seeing.info.name == "scripted:eyes"


def test_a_model_without_functions_is_offered_none_and_calls_none() -> None:
    info = ModelInfo(name="scripted:plain", functions=False)
    action = ActionSchema(name="ws_list", description="一覧", parameters={})
    request = _request(ChatMessage("user", "list files", name="rin"), actions=(action,))
    script = (ScriptedAnswer(text="はい", calls=(ScriptedCall("ws_list", {}),)),)
    for model in (Scripted(script, info=info), Scripted(info=info)):
        answer = model.chat(request, model.encode(request))
        assert (answer.calls, answer.finish) == ((), "stop")
        assert answer.text
        assert "ws_list" not in model.encode(request).decode()
    assert Scripted().chat(request, b"").calls
