"""Of a client's message only its user's words make a title."""

import pytest

from opencrab.domain.value import Language
from opencrab.engine.conversation.client_heading import client_heading, newest_words_of_client


@pytest.mark.parametrize("language", Language)
@pytest.mark.parametrize("first", ["instructions", "earlier"])
def test_the_words_below_the_last_heading_are_the_users(first: str, language: Language) -> None:
    top, now = client_heading(first, language), client_heading("now", language)
    assert newest_words_of_client(f"{top}\n\nBe brief.\n\n{now}\n\n潮は?\n今日") == "潮は?\n今日"


@pytest.mark.parametrize(
    "text", ["", "hello", "[image workspace:a.png]", "[Now]\n\nhello", "「今」"]
)
def test_what_no_client_sent_is_whole(text: str) -> None:
    assert newest_words_of_client(text) == text
