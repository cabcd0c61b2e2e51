"""Long texts are cut where a reader pauses, and nothing of them is lost."""

import re
import unicodedata
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.domain.text.message_split import LIMIT, first_piece_of_text, split_text_to_limit
from tests.cases import for_each

FAMILY = "👨‍👩‍👧‍👦"
WALES = "🏴󠁧󠁢󠁷󠁬󠁳󠁿"
CLUSTERS = (FAMILY, WALES, "👋🏽", "🇯🇵", "❤️", "が", "e\u0301", "3️⃣", "ｶﾞ", "한")

WORDS = st.sampled_from(
    (
        *(
            "word",
            "言葉",
            "これは文です。",
            "It ends. ",
            "本当！？",
            "「はい。」",
            " ",
            "\n",
            "\n\n",
        ),
        *("`code it`", "https://example.org/a/b?c=d", "<:crab:123456789012345678>", *CLUSTERS),
    )
)
CODE = st.lists(st.sampled_from(("x = 1\n", "    return 蟹\n", "\n", "# 終わり。\n")), min_size=1)
BLOCK = st.builds(
    lambda language, lines, times: f"\n```{language}\n{''.join(lines) * times}end\n```\n",
    st.sampled_from(("", "py", "c++")),
    CODE,
    st.integers(1, 60),
)
PROSE = st.builds(lambda word, times: word * times, WORDS, st.integers(1, 200))
TEXTS = st.lists(PROSE | BLOCK, min_size=1, max_size=12).map("".join)


def units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def ink(text: str) -> str:
    """What is left of a text without white space and without the marks around code."""
    return re.sub(r"\s+", "", re.sub(r"```[a-z+]*\n?", "", text))


@given(TEXTS, st.sampled_from((80, 333, LIMIT)))
def test_every_piece_fits_and_nothing_but_white_space_is_lost(text: str, limit: int) -> None:
    found = split_text_to_limit(text, limit)
    assert all(piece.strip() and units(piece) <= limit for piece in found)
    assert "".join(map(ink, found)) == ink(text)
    assert all(piece.count("```") % 2 == 0 for piece in found)


@given(st.text(max_size=3_000), st.sampled_from((60, 333)))
def test_any_text_at_all_is_cut_into_what_can_be_sent(text: str, limit: int) -> None:
    found = split_text_to_limit(text, limit)
    assert all(piece.strip() and units(piece) <= limit for piece in found)
    if "```" not in text:
        assert "".join("".join(found).split()) == "".join(text.split())


@given(TEXTS)
def test_the_same_text_is_always_cut_in_the_same_way(text: str) -> None:
    assert split_text_to_limit(text) == split_text_to_limit(text)


@pytest.mark.parametrize("text", ["", " ", "\n\u3000\n"])
def test_of_nothing_there_is_no_piece(text: str) -> None:
    assert split_text_to_limit(text) == ()


@pytest.mark.parametrize("text", ["hello", " こんにちは\n", "```py\nnever closed", "蟹" * LIMIT])
def test_what_fits_is_left_as_it_is(text: str) -> None:
    assert split_text_to_limit(text) == (text,)


def test_the_limit_is_counted_as_the_stricter_side_counts() -> None:
    assert split_text_to_limit("a" * (2 * LIMIT)) == ("a" * LIMIT, "a" * LIMIT)
    assert split_text_to_limit("🦀" * (LIMIT // 2)) == ("🦀" * (LIMIT // 2),)
    assert [len(piece) for piece in split_text_to_limit("🦀" * LIMIT)] == [LIMIT // 2, LIMIT // 2]


@pytest.mark.parametrize(
    ("first", "between", "second"),
    [
        ("a b. " * 300, "\n\n", "c\nd. " * 200),
        ("line of words. " * 100, "\n", "last line " * 100),
        ("一つの文です" * 200 + "。", "", "次の文です" * 200),
        ("「はい" * 450 + "。」", "", "次の文です" * 200),
        ("本当に" * 450 + "！？", "", "次の文" * 300),
        ("one two " * 200 + "done.", " ", "Next " * 300),
        ("one,two," * 200 + "three", " ", "four,five," * 150),
    ],
    ids=["paragraph", "line", "sentence", "quotation", "two marks", "English sentence", "word"],
)
def test_it_is_cut_where_a_reader_pauses(first: str, between: str, second: str) -> None:
    assert split_text_to_limit(f"{first}{between}{second}")[0] == first.strip()


def test_a_pause_right_at_the_beginning_does_not_make_a_short_piece() -> None:
    found = split_text_to_limit("Hi.\n\n" + "one two three " * 300)
    assert units(found[0]) > LIMIT // 2


@for_each("cluster", CLUSTERS)
@for_each("before", range(12))
def test_nothing_that_is_one_sign_to_a_reader_is_torn(cluster: str, before: int) -> None:
    found = split_text_to_limit("x" * before + cluster * 400, 100)
    assert "".join(found) == "x" * before + cluster * 400
    for piece in found[1:]:
        assert piece.startswith(cluster)


@pytest.mark.parametrize(
    "whole",
    [
        *("`rm -rf build`", "<:crab:123456789012345678>", "<@!1234>"),
        *("[the docs](https://e.org/a)", f"https://example.org/{'a' * 20}"),
    ],
)
def test_what_must_stay_together_stays_together(whole: str) -> None:
    found = split_text_to_limit(f"{'x' * 80}{whole}。{'y' * 80}", 100)
    assert any(whole in piece for piece in found)


def test_a_block_of_code_moves_whole_to_the_next_piece() -> None:
    block = "```py\n" + "print('蟹')\n" * 60 + "```"
    found = split_text_to_limit(
        "Here it is:\n" + "words and words\n" * 100 + block + "\nThat was it."
    )
    assert any(block in piece for piece in found)


def test_a_long_block_is_closed_at_the_cut_and_opened_again_with_its_language() -> None:
    lines = [f"    value_{number} = {number}" for number in range(300)]
    found = split_text_to_limit("Look:\n```py\n" + "\n".join(lines) + "\n```\nDone.")
    assert len(found) > 2
    assert found[0].startswith("Look:\n```py\n")
    for piece in found[:-1]:
        assert piece.endswith("\n```")
    for piece in found[1:]:
        assert piece.startswith("```py\n    value_")
    shown = [line for piece in found for line in piece.split("\n") if line.startswith("    ")]
    assert shown == lines
    assert found[-1].endswith("```\nDone.")


def test_a_block_that_is_never_closed_is_closed_in_every_piece() -> None:
    found = split_text_to_limit("```\n" + "a line\n" * 900)
    assert all(piece.startswith("```\n") and piece.endswith("\n```") for piece in found)


def test_no_piece_ends_with_the_opening_of_a_block() -> None:
    for before in range(60, 100):
        found = split_text_to_limit("x" * before + "\n```py\n" + "a = 1\n" * 40 + "```", 100)
        assert not any(re.search(r"```(?:py)?\s*(?:```)?$", piece[4:-4]) for piece in found)


@pytest.mark.parametrize(
    "text",
    [
        *("`" * 65_536, "``` " * 16_384, "[" * 65_536, "<" * 65_536, "." * 65_536, "。" * 21_845),
        *("\n" * 65_535 + "x", " " * 65_535 + "x", "\u0301" * 32_768, "🇯" * 16_384),
        *("a\n\u0301" * 16_384, "`a" * 32_768, "\u200d" * 21_845, "```\n" + "\n\u0301" * 21_844),
        *("[a](" * 16_384, "https://" * 8_192, "<@" * 32_768, ".)" * 32_768, "\r\n" * 32_768),
    ],
    ids=lambda text: ascii(text[:6]),
)
def test_hostile_text_is_cut_in_the_time_that_any_text_takes(text: str) -> None:
    begun = process_time()
    found = split_text_to_limit(text)
    assert process_time() - begun < 1.0
    assert all(piece.strip() and units(piece) <= LIMIT for piece in found)


@pytest.mark.parametrize("text", ["言葉。" * 2_000, "word. " * 2_000], ids=["ja", "en"])
def test_the_beginning_of_a_text_says_that_it_goes_on(text: str) -> None:
    shown = first_piece_of_text(text, 500)
    assert shown.endswith("\n…")
    assert units(shown) <= 500
    assert text.startswith(shown.removesuffix("\n…"))
    assert first_piece_of_text("short", 500) == "short"


def test_the_clusters_are_what_they_claim_to_be() -> None:
    assert unicodedata.category(WALES[1]) == "Cf"
    assert len(FAMILY) == 7
