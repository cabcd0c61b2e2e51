"""Embeds: whatever is put into them fits Discord, and is shown as it was written."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from opencrab.gateways.discord.text.embeds import (
    EMBEDS_TOGETHER,
    Colour,
    Style,
    cut_discord_text,
    discord_embed_lines_that_fit,
    discord_embeds_message,
    discord_text_length,
    discord_timestamp,
    escape_discord_markdown,
    make_button,
    make_embed,
    one_discord_line,
)
from tests.contract.example import NOW
from tests.unit.gateways.discord.showing import HOSTILE, accepted

HARD = "漢字かなカナ。🦀👩‍👩‍👧🇯🇵👍🏽が\\`*_~|<>#[]()@-+1. \n\u202e:/"
texts = some.text(some.sampled_from(HARD) | some.characters(exclude_categories=["Cs"]))
long_texts = some.builds(lambda text, times: text * times, texts, some.integers(0, 600))
embeds = some.builds(
    make_embed,
    long_texts,
    long_texts,
    colour=some.sampled_from(Colour),
    fields=some.lists(some.tuples(long_texts, long_texts), max_size=30),
    footer=long_texts,
)


def counted(made: dict[str, Any]) -> int:
    """What an embed counts among all embeds of its message."""
    texts = [made["title"], made.get("description", ""), made.get("footer", {}).get("text", "")]
    texts += [text for field in made.get("fields", ()) for text in (field["name"], field["value"])]
    return sum(map(discord_text_length, texts))


@given(some.lists(embeds, max_size=12))
def test_any_message_fits_discord(made: list[dict[str, Any]]) -> None:
    payload = discord_embeds_message(*made)
    accepted(payload)
    assert sum(map(counted, payload["embeds"])) <= EMBEDS_TOGETHER


@given(long_texts, some.integers(0, 300))
def test_a_cut_leaves_no_half_of_anything(text: str, most: int) -> None:
    whole = escape_discord_markdown(text)
    made = cut_discord_text(whole, most)
    assert discord_text_length(made) <= most
    if discord_text_length(whole) > most > 0:
        kept = made.removesuffix("…")
        assert whole.startswith(kept)
        assert made != kept
        assert len(re.search(r"\\*$", kept)[0]) % 2 == 0  # type: ignore[index]


@given(some.lists(texts, max_size=60), some.integers(40, 1_024))
def test_rows_that_do_not_fit_are_counted(rows: list[str], most: int) -> None:
    listed = [one_discord_line(row, 200) for row in rows]
    made = discord_embed_lines_that_fit(listed, most)
    assert discord_text_length(made) <= most
    left = re.search(r"\n… \+(\d+)$", made)
    shown = len(listed) - (int(left[1]) if left else 0)
    assert made.count("\n") == max(shown - (left is None), 0) if listed else not made


@pytest.mark.parametrize("emoji", ["🦀", "👩‍👩‍👧", "🇯🇵", "👍🏽", "1️⃣", "が"])
def test_a_cut_goes_around_an_emoji(emoji: str) -> None:
    text = f"ab{emoji}{emoji}c"
    whole = {"", "a", "ab", f"ab{emoji}", f"ab{emoji * 2}"}
    for most in range(1, discord_text_length(text)):
        assert cut_discord_text(text, most).removesuffix("…") in whole


@pytest.mark.parametrize("text", ["now <t:1767603600:R> and so on", "x \\* y \\* z \\* w"])
def test_a_cut_goes_around_a_time_and_an_escape(text: str) -> None:
    for most in range(1, discord_text_length(text)):
        kept = cut_discord_text(text, most).removesuffix("…")
        assert "<" not in kept or ">" in kept
        assert not kept.endswith("\\")


def test_what_people_wrote_is_shown_as_they_wrote_it() -> None:
    shown = escape_discord_markdown(HOSTILE)
    assert "@everyone" not in shown
    for raw in ("**", "||", "](", "<@1>"):
        assert raw not in re.sub(r"\\.", "", shown)
    assert escape_discord_markdown("# head\n- list\n1. one\n> said").count("\\") == 4
    assert escape_discord_markdown("abc\u202etxt.exe") == "abctxt.exe"
    assert escape_discord_markdown("猫が好き。v1.5, 50%") == "猫が好き。v1.5, 50%"
    assert "https\\://" in escape_discord_markdown("https://e.example")


def test_nothing_is_shown_as_a_dash() -> None:
    made = make_embed("  ", " ", fields=[("", "  "), ("x", "")], footer=" ")
    assert made["title"] == "—"
    assert [each["value"] for each in made["fields"]] == ["—", "—"]
    assert "footer" not in made
    assert "description" not in made
    accepted(discord_embeds_message(made))


def test_a_message_of_words_and_buttons_is_taken() -> None:
    payload = discord_embeds_message(
        make_embed("題", "本文"), rows=[[make_button("承認" * 60, "oc:ap:x:y", Style.YES)], []]
    )
    accepted(payload)
    assert len(payload["components"]) == 1
    accepted(discord_embeds_message(make_embed("題", "本文")))


def test_a_time_is_shown_in_the_readers_own_words() -> None:
    assert discord_timestamp(NOW) == f"<t:{int(NOW.timestamp())}:R>"
