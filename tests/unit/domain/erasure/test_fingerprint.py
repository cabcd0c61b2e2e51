"""Traces: what repeats something is recognised in both languages, and what does not is left."""

from datetime import UTC, datetime

import pytest

from opencrab.domain.erasure.fingerprint import (
    MOST_NAMES,
    ErasureFingerprints,
    erasable_texts_in_json,
    erasure_sentence_digests,
)

SAID = "蟹座の合言葉は夕凪七号です。またね。"
ENGLISH = "The harbour password is moonlit otter! Bye."


@pytest.fixture
def traces() -> ErasureFingerprints:
    found = ErasureFingerprints(lines={"s1": {3, 4}}, ids={"01memory"})
    found.add_name("山田花子", "Alma")
    found.add_words(SAID, ENGLISH)
    return found


@pytest.mark.parametrize(
    "text",
    [
        "彼女は「蟹座の合言葉は夕凪七号です」と言いました",
        "花子: 蟹座の合言葉は夕凪七号です",
        "You said: THE HARBOUR PASSWORD is moonlit otter.",
        "山田花子さんによろしく",
        "Alma's boat",
        "ask Alma",
        "found s1:3 and others",
        "memory 01memory",
    ],
)
def test_what_repeats_it_is_recognised(traces: ErasureFingerprints, text: str) -> None:
    assert traces.matches_any("else", text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "またね",
        "Bye.",
        "Almanac",
        "s1:30",
        "s2:3",
        "合言葉",
        "the harbour",
        "山田さん",
    ],
)
def test_what_everybody_says_is_nobodys(traces: ErasureFingerprints, text: str) -> None:
    assert not traces.matches_any(text)


def test_a_whole_text_counts_however_short_it_is() -> None:
    traces = ErasureFingerprints()
    traces.add_words("猫が好き", whole=True)
    assert traces.matches_any("「猫が好き」")
    assert not traces.matches_any("猫")


def test_a_name_of_one_letter_names_nobody() -> None:
    traces = ErasureFingerprints()
    traces.add_name("花", "", " ")
    assert not traces.matches_any("花見に行く", " ", "")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("です", "毎週月曜は会議です。"),
        ("ですます", "敬語はですますで書く。"),
        ("はな", "はなれて暮らす"),
        ("the", "The owner's sister lives in Kyoto."),
        ("What", "What is for lunch?"),
        ("Al", "ask Al"),
        ("2026", "It was in 2026."),
    ],
)
def test_a_name_that_anybody_may_write_names_nobody(name: str, text: str) -> None:
    traces = ErasureFingerprints()
    traces.add_name(name)
    assert not traces.matches_any(text)


@pytest.mark.parametrize("name", ["花子", "はなこ", "ハナコ", "はな子", "Hana", "12345678"])
def test_a_name_with_weight_names_somebody(name: str) -> None:
    traces = ErasureFingerprints()
    traces.add_name(name)
    assert traces.matches_any(f"「{name}」")


@pytest.mark.parametrize("name", ["花子", "Hanako"])
def test_a_name_that_two_people_have_names_neither(name: str) -> None:
    traces = ErasureFingerprints()
    traces.add_name(name)
    traces.add_others(name.upper())
    assert not traces.matches_any(f"{name}!")


@pytest.mark.parametrize("greeting", ["今日もよろしくお願いします", "How can I help you today?"])
def test_a_sentence_counts_when_nobody_else_said_it_before(greeting: str) -> None:
    first, then = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)
    said = erasure_sentence_digests(greeting)
    own, common = ErasureFingerprints(), ErasureFingerprints()
    own.add_said(dict.fromkeys(said, first), dict.fromkeys(said, then))
    common.add_said(dict.fromkeys(said, then), dict.fromkeys(said, first))
    common.add_words(greeting)
    assert own.matches_any(greeting)
    assert not common.matches_any(greeting)


def test_no_more_than_some_names_are_looked_for() -> None:
    traces = ErasureFingerprints()
    traces.add_name("花子", *(f"名前{n:04}" for n in range(1_000)))
    assert len(traces.names) == MOST_NAMES
    assert traces.matches_any("花子さん")


def test_texts_inside_json_are_read_without_its_escapes() -> None:
    inner = '{"content": "猫\\n犬", "n": 1}'
    assert list(erasable_texts_in_json({"a": inner, "b": ["x", {"c": "y"}], "d": None})) == [
        '{"content": "猫\n犬", "n": 1}',
        "x",
        "y",
    ]
