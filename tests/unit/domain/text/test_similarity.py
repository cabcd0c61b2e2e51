"""Two texts say the same when little but their little words differs."""

import pytest

from opencrab.domain.text.similarity import ALIKE, TextTerms, text_dice_coefficient


def test_sets_are_alike_by_what_they_have_in_common() -> None:
    one, other = frozenset("abcd"), frozenset("cdef")
    assert (
        text_dice_coefficient(one, other),
        text_dice_coefficient(one, one),
        text_dice_coefficient(one, frozenset()),
    ) == (0.5, 1.0, 0.0)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (
            ("港で旅人に道を聞かれた", "地図を広げて順路を教える"),
            ("港で旅人に道を聞かれました", "地図を広げて順路を教える。"),
            True,
        ),
        (("港で道を聞かれた", "地図を見せる"), ("駅で道を聞かれた", "本を見せる"), False),
        (
            ("A guest asked for the way to the harbour", "Show the map first"),
            ("A guest asked me for the way to the harbour.", "First show the MAP"),
            True,
        ),
        (
            ("They asked me the way to the harbour", "Show the map first"),
            ("They asked me the way to the market", "Show the book first"),
            False,
        ),
        (("はい", "。"), ("はい", "。"), False),
        (("one", "two"), ("one", "two"), False),
    ],
)
def test_only_what_says_the_same_of_the_same_is_alike(
    one: tuple[str, str], other: tuple[str, str], *, same: bool
) -> None:
    texts = "\n".join(one), "\n".join(other)
    first, second = map(TextTerms.of, texts)
    assert (first.similarity_to(second) >= ALIKE) is same
    assert first.similarity_to(second) == second.similarity_to(first)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Always pay before the manager confirms it", "Never pay before the manager confirms it"),
        ("Pay the manager before the harbour opens", "Pay the manager after the harbour opens"),
        (
            "Pay the refund, don't wait for the manager",
            "Don't pay the refund, wait for the manager",
        ),
        ("Restart the harbour server with a backup", "Restart the harbour server without a backup"),
        ("Wait 5 minutes and restart the server", "Wait 50 minutes and restart the server"),
        ("Wait two minutes and restart the server", "Wait ten minutes and restart the server"),
        ("Change the harbour port from 80 to 443", "Change the harbour port from 443 to 80"),
        ("港で地図を広げて順路を教える", "港で地図を広げて順路を教えない"),
        ("港で地図を広げて順路を教えます", "港で地図を広げて順路を教えません"),
        ("必ず地図を広げて順路を教える", "必ず地図を広げず順路を教える"),
        ("港での写真撮影は許可されている", "港での写真撮影は禁止されている"),
        ("港で地図を広げて順路を話す", "港で地図を広げて順路を話すな。"),
        ("港で五分待ってから順路を教える", "港で十分待ってから順路を教える"),
        ("港で3人以上なら順路を教える", "港で3人以下なら順路を教える"),
    ],
)
def test_what_says_the_opposite_or_another_number_is_not_alike(one: str, other: str) -> None:
    assert TextTerms.of(one).similarity_to(TextTerms.of(other)) == 0.0
    assert TextTerms.of(one).similarity_to(TextTerms.of(one)) == 1.0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "Never give travellers a lift to the harbour",
            "Do NOT give travellers a lift to the harbour",
        ),
        ("You mustn’t pay at the harbour desk", "You mustn't pay at the harbour desk"),
        ("港で地図を広げて順路を教えない", "港で地図を広げて順路を教えません"),
        ("旅人に5分で順路を教えた", "旅人に５分で順路を教えた。"),
    ],
)
def test_one_negation_is_like_another_of_the_same(one: str, other: str) -> None:
    assert TextTerms.of(one).similarity_to(TextTerms.of(other)) >= ALIKE
