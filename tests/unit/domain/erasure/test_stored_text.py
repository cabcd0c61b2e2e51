"""The quick test of stored rows: it may let through too much, but never misses a repetition."""

import json
import unicodedata

import pytest

from opencrab.domain.conversation.message import Line
from opencrab.domain.erasure import stored_text
from opencrab.domain.erasure.fingerprint import ErasureFingerprints
from opencrab.domain.erasure.stored_text import StoredTextFilter, _normalize_letters
from tests.contract.example import line

JAPANESE = "ガニ座の合言葉は夕凪七号です。またね。"
WIDE = "".join(chr(ord(letter) + 0xFEE0) for letter in "moonlit")
ENGLISH = "The harbour password is moonlit otter №7! Bye."


def filter_of(*texts: str, ids: tuple[str, ...] = ()) -> StoredTextFilter:
    found = ErasureFingerprints(ids=set(ids))
    found.add_words(*texts, whole=True)
    words = found.stored_text_filter()
    assert words is not None
    return words


@pytest.mark.parametrize(
    "text",
    [
        JAPANESE,
        ENGLISH,
        ENGLISH.upper(),
        "「ｶﾞﾆ座の合言葉は夕凪七号です」と",
        "カ\u3099ニ座の合言葉は夕凪七号です",
        "THE harbour\u00a0password is moonlit otter no7",
        f"The harbour password is {WIDE} otter No7",
        'before.\nThe harbour password is moonlit otter №7."after"',
    ],
)
def test_a_stored_repetition_is_let_through_in_any_width_and_case(text: str) -> None:
    traces = ErasureFingerprints()
    traces.add_words(JAPANESE, ENGLISH, whole=True)
    assert traces.matches_any(text)
    words = filter_of(JAPANESE, ENGLISH)
    written = json.dumps({"content": text}, ensure_ascii=False)
    for stored in (line(text), line("x", data={"arguments": written})):
        told = stored.model_dump_json()
        assert words.may_match(told)
        assert words.may_match(f"{line('もう一つ').model_dump_json()}\n{told}")
        assert Line.model_validate_json(told) == stored
        needles = words.needles()
        assert needles is not None
        assert (
            any(each in told for each in needles.exact)
            or not told.isascii()
            or _has(told, needles.ascii)
        )


@pytest.mark.parametrize(
    "text", ["合言葉は何ですか？", "The harbour is moonlit！", "①番の話です。"]
)
def test_another_row_is_not_read(text: str) -> None:
    assert not filter_of(JAPANESE, ENGLISH, ids=("01memory",)).may_match(
        line(text).model_dump_json()
    )


def test_an_id_is_found_as_it_is() -> None:
    words = filter_of(ids=("01memory", "01other"))
    assert words.may_match('{"links":["01other"]}')
    assert not words.may_match('{"links":["01OTHER"]}')
    assert not filter_of().may_match("{}")


def test_names_lines_and_words_of_earlier_calls_need_every_row() -> None:
    by_name = ErasureFingerprints()
    by_name.add_name("山田花子")
    earlier = ErasureFingerprints(sentences={"a hash without its words"})
    for traces in (by_name, earlier, ErasureFingerprints(lines={"s1": {3}})):
        assert traces.stored_text_filter() is None


def test_each_character_that_becomes_a_letter_is_normalized() -> None:
    missed = [
        character
        for number in range(0xA0, 0x110000)
        if unicodedata.decomposition(character := chr(number))
        and _letters(unicodedata.normalize("NFKC", character))
        != _letters(_normalize_letters(character))
    ]
    assert missed == []
    joined = [
        pair
        for number in range(0xA0, 0x110000)
        if len(parts := unicodedata.decomposition(chr(number)).split()) == 2
        and "<" not in parts[0]
        and (pair := "".join(chr(int(each, 16)) for each in parts))
        and _letters(unicodedata.normalize("NFKC", pair)) != _letters(_normalize_letters(pair))
    ]
    assert joined == []


def test_a_mark_that_joins_is_found_behind_another_mark() -> None:
    missed = [
        text
        for number in range(0x300, 0x110000)
        if unicodedata.combining(mark := chr(number))
        and (text := f"a{mark}\u0301")
        and _letters(unicodedata.normalize("NFKC", text)) != _letters(_normalize_letters(text))
    ]
    assert missed == []


def test_needles_are_what_is_stored_as_it_is_in_any_width() -> None:
    needles = filter_of(JAPANESE, ENGLISH, ids=("01memory",)).needles()
    assert needles is not None
    assert set(needles.exact) == {"01memory", "座の", "またね"}
    assert set(needles.ascii) == {"password"}
    katakana, short = filter_of("カニカニカニカニ"), filter_of("Go to ox by me in it.")
    assert (katakana.needles(), short.needles()) == (None, None)
    assert filter_of(ids=tuple(f"0{number}" for number in range(17))).needles() is None


def test_no_other_character_becomes_one_that_is_looked_for() -> None:
    others = {
        became
        for number in range(0x110000)
        if not 0xD800 <= number < 0xE000
        for became in unicodedata.normalize("NFKC", chr(number)).casefold()
        if became != chr(number)
    }
    assert others == stored_text._characters_of_others()


def _has(told: str, words: tuple[str, ...]) -> bool:
    return any(each in told.casefold() for each in words)


def _letters(text: str) -> str:
    return "".join(each for each in text.casefold() if each.isalnum())
