"""Secrecy: the key is hidden wherever it may stand, and nothing else is."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.adapters.providers.wire.secrecy import ProviderKeyRedactor
from opencrab.domain.turn.record import ActionCall, ModelAnswer, Reflection

KEY = "sk-crab-0123456789"
SECRECY = ProviderKeyRedactor(KEY)


def test_an_answer_is_without_the_key_in_all_its_parts() -> None:
    calls = (
        ActionCall(id="c0", name="ws_write", arguments={"道": [f"鍵{KEY}", {KEY: 1}], "n": 1.5}),
        ActionCall(id="c1", name="ws_write", arguments=None, raw=f'{{"{KEY}'),
    )
    answer = ModelAnswer(
        text=f"鍵は{KEY}です",
        calls=calls,
        thought=Reflection(judgment=KEY, intent=KEY),
        memory_update=KEY,
        replay={"model": "crab-1", "reasoning_content": KEY},
        first_token_ms=3,
    )
    hidden = SECRECY.redact_answer(answer)
    assert KEY not in hidden.model_dump_json()
    assert hidden.text == "鍵は***です"
    assert hidden.calls[0].arguments == {"道": ["鍵***", {"***": 1}], "n": 1.5}
    assert (hidden.calls[1].raw, hidden.first_token_ms) == ('{"***', 3)


@given(st.text(), st.text(min_size=1, max_size=15))
def test_what_does_not_tell_the_key_stays_as_it_is(text: str, short: str) -> None:
    answer = ModelAnswer(text=text.replace("\ud800", ""))
    assert SECRECY.redact_answer(answer) is answer
    assert ProviderKeyRedactor(short).redact_text(f"{text}{short}") == f"{text}{short}"


@pytest.mark.parametrize("key", ['sk-"crab"-0123456789', "sk-\\crab\\-0123456789"])
def test_a_key_may_have_signs_that_json_writes_otherwise(key: str) -> None:
    assert ProviderKeyRedactor(key).redact_answer(ModelAnswer(text=f"a{key}b")).text == "a***b"
    assert json.loads(ProviderKeyRedactor(key).redact_error(json.dumps({"no": key}).encode())) == {
        "no": "***"
    }


@pytest.mark.parametrize(
    ("said", "left"),
    [
        (f'{{"e": ["{KEY}", 1]}}'.encode(), b'{"e": ["***", 1]}'),
        (f'{{"e": "{KEY}"}}'.replace("sk", "\\u0073k").encode(), b'{"e": "***"}'),
        (f"<h1>{KEY}</h1>".encode(), b"<h1>***</h1>"),
        (f"cut {KEY[:7]}".encode(), b"cut ***"),
        (b"[" * 100_000, b"[" * 100_000),
        (b"", b""),
    ],
)
def test_an_error_is_without_the_key_and_its_beginning(said: bytes, left: bytes) -> None:
    assert SECRECY.redact_error(said) == left


def test_without_a_key_nothing_is_hidden() -> None:
    assert ProviderKeyRedactor("").redact_error(b"***") == b"***"
    assert ProviderKeyRedactor("").redact_text("蟹") == "蟹"
    assert ProviderKeyRedactor("").redact_json({"a": ""}) == {"a": ""}
    assert ProviderKeyRedactor("").redact_answer(ModelAnswer(text="蟹")).text == "蟹"
