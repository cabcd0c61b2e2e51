"""What comes back from Gemini: every body and every stream is an answer or ModelCallFailed."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.adapters.providers.google.answer import google_answer
from opencrab.adapters.providers.google.endpoint import GoogleWire
from opencrab.adapters.providers.wire.lenient import parse_provider_json
from opencrab.domain.models.fault import Fault, ModelCallFailed
from opencrab.domain.money.budget import Usage
from opencrab.domain.turn.record import ModelAnswer
from tests.unit.adapters.providers.recorded import PARTY, read_stream

WIRE = GoogleWire()


def _body(*parts: Any, finish: Any = "STOP", **changes: Any) -> dict[str, Any]:
    candidate = {"content": {"role": "model", "parts": list(parts)}, "finishReason": finish}
    return {"candidates": [candidate], **changes}


def _calling(name: Any = "ws_write", **fields: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, **fields}}


def _fault(body: Any) -> ModelCallFailed:
    with pytest.raises(ModelCallFailed) as caught:
        google_answer(body, PARTY)
    return caught.value


def test_words_become_text() -> None:
    answer = google_answer(_body({"text": "こん"}, {"text": "にちは🦀"}, modelVersion="m"), PARTY)
    assert (answer.text, answer.finish, answer.model) == ("こんにちは🦀", "STOP", "m")
    assert answer.calls == ()
    assert answer.replay is None


def test_without_a_version_the_model_is_the_one_that_was_asked() -> None:
    assert google_answer(_body({"text": "蟹"}), PARTY).model == PARTY.model


def test_calls_count_although_the_reason_is_stop_and_words_beside_them_are_an_intent() -> None:
    answer = google_answer(
        _body({"text": "書きます"}, _calling(args={"path": "蟹.md"}), _calling("ws_list")), PARTY
    )
    assert [(call.id, call.name, call.arguments) for call in answer.calls] == [
        ("c0", "ws_write", {"path": "蟹.md"}),
        ("c1", "ws_list", {}),
    ]
    assert answer.text == ""
    assert answer.thought is not None
    assert answer.thought.intent == "書きます"


def test_thoughts_are_kept_apart_from_words() -> None:
    answer = google_answer(
        _body(
            {"text": "考え中", "thought": True},
            {"text": "`<think>` はい"},
        ),
        PARTY,
    )
    assert answer.text == "`<think>` はい"
    assert answer.thought is not None
    assert answer.thought.judgment == "考え中"


def test_two_hundred_calls_have_two_hundred_ids() -> None:
    answer = google_answer(_body(*(_calling(args={"n": n}) for n in range(200))), PARTY)
    assert len({call.id for call in answer.calls}) == 200


@pytest.mark.parametrize(
    "arguments", [[1], "{", 5, {"a": float("nan")}, {"a": [[]] * 2, "b": 1e999}]
)
def test_arguments_that_are_none_are_kept_as_text(arguments: Any) -> None:
    (call,) = google_answer(_body(_calling(args=arguments)), PARTY).calls
    assert call.arguments is None
    assert call.raw


def test_half_an_emoji_is_replaced() -> None:
    answer = google_answer(
        parse_provider_json(b'{"candidates":[{"content":{"parts":[{"text":"\\ud83e"}]}}]}'), PARTY
    )
    assert answer.text == "\ufffd"


@pytest.mark.parametrize(
    ("reason", "finish"), [(1, "STOP"), (2, "MAX_TOKENS"), (99, "OTHER"), ("STOP", "STOP"), (0, "")]
)
def test_a_reason_may_be_a_number(reason: Any, finish: str) -> None:
    assert google_answer(_body({"text": "蟹"}, finish=reason), PARTY).finish == finish


@pytest.mark.parametrize("finish", ["STOP", "MAX_TOKENS", 2])
def test_an_answer_may_be_empty(finish: Any) -> None:
    usage = {"promptTokenCount": 5, "thoughtsTokenCount": 3}
    answer = google_answer({**_body(finish=finish), "usageMetadata": usage}, PARTY)
    assert (answer.text, answer.calls) == ("", ())
    assert answer.usage == Usage(input_tokens=5, output_tokens=3, reasoning_tokens=3)


@pytest.mark.parametrize(
    "finish",
    ["SAFETY", "RECITATION", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII", "MODEL_ARMOR", 3, 4],
)
def test_an_answer_that_was_withheld_is_blocked_and_counted(finish: Any) -> None:
    usage = {"promptTokenCount": 5, "candidatesTokenCount": 7}
    for parts in ((), ({"text": "よくない考え", "thought": True},), ({"text": ""},)):
        error = _fault({**_body(*parts, finish=finish), "usageMetadata": usage})
        assert error.fault is Fault.BLOCKED
        assert error.usage == Usage(input_tokens=5, output_tokens=7)


def test_what_was_said_before_it_was_withheld_is_an_answer() -> None:
    assert google_answer(_body({"text": "はじめ"}, finish="SAFETY"), PARTY).finish == "SAFETY"


@pytest.mark.parametrize(
    "feedback",
    [
        {"blockReason": "SAFETY"},
        {"blockReason": "MODEL_ARMOR"},
        {"blockReason": 1},
        {"blockReasonMessage": "だめ"},
    ],
)
def test_a_blocked_prompt_is_blocked_and_counted(feedback: dict[str, Any]) -> None:
    error = _fault({"promptFeedback": feedback, "usageMetadata": {"promptTokenCount": "9"}})
    assert error.fault is Fault.BLOCKED
    assert error.usage == Usage(input_tokens=9)


@pytest.mark.parametrize(
    "body",
    [
        _body({"text": "書きます"}, finish="MALFORMED_FUNCTION_CALL"),
        _body(finish="MALFORMED_FUNCTION_CALL"),
        _body(finish="UNEXPECTED_TOOL_CALL"),
        _body(finish="OTHER"),
        _body(finish=None),
        {"candidates": [{}]},
        {"candidates": []},
        {"candidates": [None], "promptFeedback": {"safetyRatings": []}},
        {},
        {"candidates": [{"finishReason": {}}]},
    ],
)
def test_what_is_no_answer_is_nonsense_and_counted(body: dict[str, Any]) -> None:
    error = _fault({**body, "usageMetadata": {"promptTokenCount": 5}})
    assert error.fault is Fault.NONSENSE
    assert error.usage == Usage(input_tokens=5)


def test_what_was_not_counted_does_not_count_as_nothing() -> None:
    assert _fault(_body(finish="SAFETY")).usage is None


def test_input_has_the_cached_and_those_of_actions_and_output_the_thoughts() -> None:
    usage = {
        "promptTokenCount": "100",
        "cachedContentTokenCount": 60,
        "toolUsePromptTokenCount": 10,
        "candidatesTokenCount": 5,
        "thoughtsTokenCount": "7",
        "totalTokenCount": 122,
        "serviceTier": "standard",
    }
    assert google_answer(_body({"text": "蟹"}, usageMetadata=usage), PARTY).usage == Usage(
        input_tokens=110, output_tokens=12, cached_tokens=60, reasoning_tokens=7
    )


def test_what_the_total_holds_beyond_the_input_is_output() -> None:
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 40}
    found = google_answer(_body({"text": "蟹"}, usageMetadata=usage), PARTY).usage
    assert (found.input_tokens, found.output_tokens) == (10, 30)


@pytest.mark.parametrize(
    "usage",
    [None, [], {}, {"promptTokenCount": -5}, {"promptTokenCount": float("nan")}],
)
def test_counts_that_make_no_sense_are_none(usage: Any) -> None:
    assert google_answer(_body({"text": "蟹"}, usageMetadata=usage), PARTY).usage == Usage()


def test_signatures_survive_the_store() -> None:
    answer = google_answer(
        _body(
            {**_calling(id="v1"), "thoughtSignature": "c2ln+/=="},
            _calling("ws_list"),
            {**_calling("ws_read"), "thoughtSignature": "\ud83e"},
        ),
        PARTY,
    )
    assert ModelAnswer.model_validate_json(answer.model_dump_json()) == answer
    assert answer.replay == {
        "of": "google",
        "model": PARTY.model,
        "calls": [{"id": "v1", "signature": "c2ln+/=="}, {}, {}],
    }


def test_a_signature_may_come_with_an_empty_text() -> None:
    answer = google_answer(_body({"text": "蟹"}, {"text": "", "thoughtSignature": "YQ=="}), PARTY)
    assert answer.replay == {"of": "google", "model": PARTY.model, "calls": [], "text": "YQ=="}


def test_more_signatures_than_can_be_kept_are_forgotten() -> None:
    huge = {**_calling(), "thoughtSignature": "a" * 1_000_000}
    assert google_answer(_body(huge), PARTY).replay is None


FOLDER = Path("cassettes") / "vendor-fixtures" / "google-firebase"


def _published(wire: Path, name: str) -> ModelAnswer:
    body = (wire / FOLDER / name).read_bytes()
    if name.endswith(".txt"):
        # Two of these files were saved without the blank line that ends a frame.
        return read_stream(WIRE, [body, b"\r\n\r\n"])
    return google_answer(parse_provider_json(body), PARTY)


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("streaming-failure-prompt-blocked-safety.txt", Fault.BLOCKED),
        ("vertexai-streaming-failure-error-mid-stream.txt", Fault.SERVER_ERROR),
        ("unary-failure-only-prompt-feedback.json", Fault.BLOCKED),
        ("vertexai-unary-failure-prompt-blocked-safety.json", Fault.BLOCKED),
    ],
)
def test_failures_that_google_tests_its_own_library_with_are_read(
    wire: Path, name: str, fault: Fault
) -> None:
    with pytest.raises(ModelCallFailed) as caught:
        _published(wire, name)
    assert caught.value.fault is fault


@pytest.mark.parametrize(
    ("name", "finish"),
    [
        ("streaming-failure-recitation-no-content.txt", "RECITATION"),
        ("streaming-success-no-content-parts.txt", "STOP"),
        ("streaming-success-empty-parts.txt", "STOP"),
        ("streaming-success-thinking-function-call-thought-summary-signature.txt", "STOP"),
        ("unary-success-basic-reply-short.json", "STOP"),
        ("unary-failure-finish-reason-safety.json", "SAFETY"),
    ],
)
def test_answers_that_google_tests_its_own_library_with_are_read(
    wire: Path, name: str, finish: str
) -> None:
    answer = _published(wire, name)
    assert answer.finish == finish
    assert answer.text or answer.calls


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["candidates", "content", "parts", "text", "functionCall", "name", "args", "error",
             "thought", "thoughtSignature", "finishReason", "usageMetadata", "promptFeedback",
             "blockReason", "message", "code", "status", "details", "id", "x"]
        ),
        inner,
        max_size=4,
    ),
    max_leaves=20,
)  # fmt: skip
BODIES = JSON | st.builds(lambda part, reason: _body(part, finish=reason), JSON, JSON)


@given(body=BODIES)
def test_any_body_is_an_answer_or_unanswered(body: Any) -> None:
    try:
        answer = google_answer(body, PARTY)
    except ModelCallFailed:
        return
    assert ModelAnswer.model_validate_json(answer.model_dump_json()) == answer
