"""Error texts: what errors say in English, as people read it who chose another language."""

import string
from operator import add

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencrab.domain.value import Language
from opencrab.gateways.language.error_texts import error_text_in, translate_error_text
from tests import error_texts
from tests.soak import examples


def _quoted(value: str) -> str:
    """A value of several words as messages have it: where it ends is not seen without quotes."""
    return repr(value.replace("'", "")) if " " in value else value


VALUES = st.text(
    st.characters(codec="utf-8", exclude_characters="{}"), min_size=1, max_size=30
).map(_quoted)


def test_a_text_is_found_with_its_values_whatever_they_are() -> None:
    english = "this needs a key with scope 'owner'; yours has 'chat'"
    told = error_text_in(Language.JA, english)
    assert told != english
    assert "'owner'" in told
    assert "'chat'" in told


def test_english_stays_as_it_is() -> None:
    assert error_text_in(Language.EN, "add it") == "add it"
    assert translate_error_text(Language.EN, "add it") is None


@pytest.mark.parametrize("text", ["", "蟹", "nobody ever wrote this", "{}", "{0} {}", "'\ud800"])
def test_what_nobody_translated_stays_as_it_is(text: str) -> None:
    assert error_text_in(Language.JA, text) == text
    assert translate_error_text(Language.JA, text) is None


def test_an_explanation_at_the_end_is_translated_too() -> None:
    inner = "there is no agent 'xyz'"
    template = next(
        text for text in error_texts.templates() if text.endswith(": {}") and text.count("{}") == 1
    )
    told = error_text_in(Language.JA, _filled(template, [inner]))
    assert told.endswith(error_text_in(Language.JA, inner))
    assert not told.endswith(inner)


@pytest.mark.parametrize("place", ["name", "/etc/蟹.toml", "a.b: c"])
def test_a_place_before_a_text_stays(place: str) -> None:
    told = error_text_in(Language.JA, f"{place}: add it")
    assert told == f"{place}: {error_text_in(Language.JA, 'add it')}"


@pytest.mark.parametrize("text", ["a: " * 50_000, ": " * 50_000, "x" * 500_000])
def test_a_long_text_of_any_form_is_told(text: str) -> None:
    assert error_text_in(Language.JA, text) == text


def test_a_sentence_before_a_text_is_no_place() -> None:
    assert error_text_in(Language.JA, "nobody knows: add it") == "nobody knows: add it"


@pytest.mark.parametrize(
    ("english", "japanese"),
    [
        (
            "path 'my notes/x' names a folder",
            "パス 'my notes/x' に問題があります: フォルダーを指しています",
        ),
        (
            "openai refused the key in OPENAI_API_KEY: (401) Incorrect API key: oc",
            "openai が OPENAI_API_KEY のキーを拒否しました: (401) Incorrect API key: oc",
        ),
        (
            "rate limited by openai (HTTP 429); retry in 3 s: slow down",
            "openai の呼び出し回数の制限に達しました(HTTP 429); retry in 3 s: slow down",
        ),
        ("check the api_key of this provider", "このプロバイダーの api_key を確認してください"),
        (
            "skill 'crab' is active: it is not on trial",
            "スキル 'crab' の状態は active です: 試用中ではありません",
        ),
        (
            "gateway.email.address must be the agent's e-mail address",
            "gateway.email.address には次の形の値が必要です: エージェントのメールアドレス",
        ),
        (
            "the MCP server kani cannot be used: it is not on the public internet",
            "MCP サーバー kani は使えません: 公開インターネット上にありません",
        ),
    ],
)
def test_words_within_a_text_are_translated_and_no_template_swallows_them(
    english: str, japanese: str
) -> None:
    assert error_text_in(Language.JA, english) == japanese


def test_what_is_quoted_is_nobodys_words() -> None:
    assert "'add it'" in error_text_in(Language.JA, "there is no agent 'add it'")


@settings(max_examples=examples(100))
@given(st.data())
def test_every_value_of_a_text_is_in_its_translation(data: st.DataObject) -> None:
    template = data.draw(st.sampled_from(sorted(error_texts.templates())))
    values = [data.draw(VALUES) for _ in range(template.count("{}"))]
    told = error_text_in(Language.JA, _filled(template, values))
    for value in values:
        assert value in told or error_text_in(Language.JA, value) in told


@settings(max_examples=examples(100))
@given(st.text(string.printable + "エラー'{}:", max_size=200))
def test_any_text_is_told(text: str) -> None:
    assert isinstance(error_text_in(Language.JA, text), str)


def _filled(template: str, values: list[str]) -> str:
    first, *others = template.split("{}")
    return first + "".join(map(add, values, others))
