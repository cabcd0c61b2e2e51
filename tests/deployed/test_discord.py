"""A deployed installation on Discord: signed at the door, worked on behind it, and answered.

Discord is the tests' own fake; all between it and the agents is the deployed stack.
"""

from collections.abc import Mapping
from typing import Any

import pytest

from opencrab.adapters.system_clock import SystemClock
from tests.deployed.stack import Stack
from tests.deployed.test_tasks import awaited
from tests.discord.fake import OTHER_CHANNEL, OWNER, SERVER_CHANNEL, STRANGER, FakeDiscord
from tests.discord.signing import Signer
from tests.discord.state import Message, Place

pytest_plugins = ["tests.deployed.fixture"]
pytestmark = [pytest.mark.deployed, pytest.mark.timeout(600)]

ASKED = pytest.mark.parametrize(
    ("place", "locale", "words"),
    [
        (SERVER_CHANNEL, "ja", ("「潮が満ちました」と言って", "潮が満ちました")),
        (OTHER_CHANNEL, "en-GB", ("say the tide is in", "the tide is in")),
    ],
)


@pytest.fixture(autouse=True)
def _at_the_door(stack: Stack, discord: FakeDiscord) -> None:
    open_door(stack, discord)


def open_door(stack: Stack, discord: FakeDiscord) -> None:
    """Discord calls the address that the stack tells, at the time that it is."""

    def door(headers: Mapping[str, str], body: bytes) -> tuple[int, Mapping[str, str], bytes]:
        named = {name.replace("-", "_"): value for name, value in headers.items()}
        answer = stack.ask("POST", "/interactions", body, key=None, below="/discord", **named)
        return answer.status, answer.headers, answer.body

    assert stack.outputs["DiscordInteractionsUrl"].endswith("/discord/interactions")
    discord.door = door
    behind = (SystemClock().now() - discord.clock.now()).total_seconds()
    discord.wait(max(behind, 0))


def spoken(discord: FakeDiscord, place: Place, text: str) -> list[Message]:
    """The messages of a channel that say this, once there is one."""

    def look() -> list[Message]:
        return [each for each in discord.shown(place, OWNER) if text in each.content]

    return list(awaited(look))


def waiting(stack: Stack, queue: str) -> str:
    """How many messages a queue holds."""
    name = "ApproximateNumberOfMessages"
    given = {"QueueUrl": stack.outputs[queue], "AttributeNames": [name]}
    return str(stack.emulator.client("sqs").get_queue_attributes(**given)["Attributes"][name])


def test_discords_own_question_is_answered(discord: FakeDiscord) -> None:
    assert discord.ping() == (200, {"type": 1})


@pytest.mark.parametrize("body", [b'{"type":1}', b"", b"\xff\xfe"], ids=["ping", "empty", "bytes"])
def test_what_discord_did_not_sign_is_refused(stack: Stack, body: bytes) -> None:
    forger = Signer(b"somebody else's pair of keys, 32 ")
    headers = forger.headers(str(int(SystemClock().now().timestamp())), body)
    named: Any = {name.replace("-", "_"): value for name, value in headers.items()}
    answer = stack.ask("POST", "/interactions", body, key=None, below="/discord", **named)
    assert answer.status == 401
    assert stack.ask("POST", "/interactions", body, key=None, below="/discord").status == 401


@ASKED
def test_a_question_becomes_a_turn_and_its_answer_is_shown_once(
    stack: Stack, discord: FakeDiscord, place: Place, locale: str, words: tuple[str, str]
) -> None:
    asked, answered = words
    options = {"agent": stack.agent("Rin", locale[:2]), "text": asked}
    sent = discord.command("ask", options, place=place, locale=locale)
    assert sent.status == 202
    assert discord.send(sent) == 409, "the same once more"
    assert len(spoken(discord, place, answered)) == 1
    assert not discord.complaints
    assert waiting(stack, "InteractionsDeadQueueUrl") == "0"
    assert waiting(stack, "DeliveriesDeadQueueUrl") == "0"


def test_a_stranger_may_not_freeze_the_installation(discord: FakeDiscord) -> None:
    discord.command("freeze", by=STRANGER)
    told = awaited(
        lambda: [each for each in discord.shown(SERVER_CHANNEL, STRANGER) if each.shown_to]
    )
    assert told[-1].shown_to == STRANGER.id
    assert not discord.complaints
