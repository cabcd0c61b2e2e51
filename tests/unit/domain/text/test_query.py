"""What of a question is looked for."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.domain.text.query import (
    LONGEST_QUESTION,
    MOST_COUNTED,
    has_text_time_word,
    parse_query_text,
)


def test_what_all_questions_have_is_not_looked_for() -> None:
    assert parse_query_text("When did you go to the hot spring?").terms == ("go", "hot", "spring")
    assert parse_query_text("どこの温泉に行きましたか?").terms[:3] == ("どこ", "この", "の温")
    assert "した" not in parse_query_text("どこの温泉に行きましたか?").terms


@pytest.mark.parametrize("text", ["What did June like?", "june", "六月は何が好き?"])
def test_a_speaker_called_like_a_month_is_who_is_asked_for(text: str) -> None:
    now = datetime(2026, 11, 30, tzinfo=UTC)
    asked = parse_query_text(text, ["June", "六月"], now)
    assert (len(asked.named), asked.times) == (1, ())
    assert parse_query_text(text, [], now).times


def test_but_something_always_is() -> None:
    assert parse_query_text("who are you").terms == ("who", "are", "you")
    assert parse_query_text("でした").terms == ("でし", "した")
    assert parse_query_text("").terms == parse_query_text("🦀?").terms == ()


def test_terms_are_distinct_and_long_questions_are_cut() -> None:
    assert parse_query_text("tea TEA \uff34\uff45\uff21").terms == ("tea",)
    assert len(parse_query_text("あ " * LONGEST_QUESTION * 3).terms) == 1
    assert parse_query_text("x " * LONGEST_QUESTION + "needle").terms == ("x",)


def test_a_speaker_who_is_named_is_no_word_to_look_for() -> None:
    asked = parse_query_text(
        "What did Ken Sato say about tea?", ["Ken Sato", "Ken Ito", "花子", ""]
    )
    assert asked.named == {"Ken Sato"}
    assert asked.terms == ("say", "tea")
    assert parse_query_text("花子の好きなお茶は?", ["花子", "太郎"]).named == {"花子"}
    assert parse_query_text("Ken?", ["Ken"]).terms == ("ken",)


@pytest.mark.parametrize("text", ["When was it?", "いつですか", "what time is it", "何曜日?"])
def test_a_question_for_a_time_is_known_as_one(text: str) -> None:
    assert parse_query_text(text).asks_when


@pytest.mark.parametrize("text", ["Whenever", "いくつ?", "what a day"])
def test_other_questions_are_not(text: str) -> None:
    assert not parse_query_text(text).asks_when


def test_texts_that_tell_a_time_are_known() -> None:
    assert all(map(has_text_time_word, ["last week", "On Friday", "来週", "3月に", "in 2024"]))
    assert not any(map(has_text_time_word, ["lasting", "海へ", "42", ""]))


@given(st.text(), st.lists(st.text(), max_size=4))
def test_any_text_is_a_question(text: str, speakers: list[str]) -> None:
    asked = parse_query_text(text, speakers)
    assert len(set(asked.terms)) == len(asked.terms)
    assert asked.named <= set(speakers)


@pytest.mark.parametrize(
    ("text", "name", "terms"),
    [
        ("What about crabs?", "crabs", {"crabs"}),
        ("蟹味噌です", "蟹味噌", {"蟹味", "味噌"}),
        ("whatever", "Whatever", {"whatever"}),
    ],
)
def test_a_name_hides_no_word_that_alone_tells_what_is_meant(
    text: str, name: str, terms: set[str]
) -> None:
    asked = parse_query_text(text, [name])
    assert asked.named == {name}
    assert terms <= set(asked.terms)


@pytest.mark.parametrize("words", ["w{} ", "{}番目の話。"])
def test_of_a_very_long_question_both_ends_are_looked_for(words: str) -> None:
    text = "harbour 港町 " + "".join(map(words.format, range(1_000)))[:3_900] + " otter 川獺"
    asked = parse_query_text(text)
    assert len(asked.terms) <= MOST_COUNTED
    assert {"harbour", "港町", "otter", "川獺"} <= set(asked.terms)
