"""Acks: what is acknowledged how, within what Discord's description allows."""

import ast
from pathlib import Path
from typing import Any

import pytest

from opencrab.gateways.discord.interactions import acks
from tests.discord.spec import judge

CALLBACK = "/interactions/{interaction_id}/{interaction_token}/callback"
ANSWERS: list[Any] = [
    acks.ack_of_command_interaction("ask"),
    acks.ack_of_command_interaction("memory"),
    acks.discord_ack_of_button(),
    acks.discord_ack_of_form(),
    *(acks.interaction_not_taken(language) for language in ("ja", "en")),
    *(
        acks.steering_form_of_interaction(f"{acks.STEER}01crab:G1", language)
        for language in ("ja", "en")
    ),
]


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: str(answer)[:60])
@pytest.mark.usefixtures("wire")
def test_discord_takes_every_answer(answer: Any) -> None:
    judge(CALLBACK, "post", answer)


@pytest.mark.parametrize("command", ["ask", "task", "session", "Ask about this"])
def test_the_channel_sees_answers_that_concern_it(command: str) -> None:
    assert command in acks.PUBLIC_COMMANDS
    assert acks.ack_of_command_interaction(command) == {"type": 5}


@pytest.mark.parametrize(
    "command",
    [
        *("approve", "agent", "memory", "model", "costs", "freeze", "unfreeze"),
        *("Remember this", "something new", ""),
    ],
)
def test_only_who_asked_sees_the_rest(command: str) -> None:
    assert command not in acks.PUBLIC_COMMANDS
    assert acks.ack_of_command_interaction(command) == {"type": 5, "data": {"flags": 64}}


@pytest.mark.parametrize(
    ("locale", "language"),
    [("ja", "ja"), ("ja-JP", "ja"), ("en-US", "en"), ("jav", "en"), ("", "en"), (None, "en")],
)
def test_who_speaks_japanese_is_answered_so(locale: str | None, language: str) -> None:
    assert acks.interaction_language(locale) == language


def test_a_steering_form_fits_discord_however_long_its_ids_are() -> None:
    asked = acks.STEER + "x" * (100 - len(acks.STEER))
    form: Any = acks.steering_form_of_interaction(asked, "ja")
    assert len(form["data"]["custom_id"]) == 100
    judge(CALLBACK, "post", form)


def test_it_imports_nothing() -> None:
    tree = ast.parse(Path(acks.__file__).read_text(encoding="utf-8"))
    assert not [each for each in ast.walk(tree) if isinstance(each, ast.Import | ast.ImportFrom)]
