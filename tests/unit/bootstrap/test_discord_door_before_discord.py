"""The door before a Discord that enforces its own rules: every kind of interaction passes."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from opencrab.adapters.system_clock import FakeClock
from opencrab.bootstrap.consequences import CONSEQUENCES
from opencrab.bootstrap.discord.door import build_discord_door
from opencrab.bootstrap.jobs import JOBS
from opencrab.domain.document import INSTALLATION_FACTS, Document
from opencrab.engine.runtime import Runtime
from opencrab.gateways.discord.interactions import acks
from opencrab.ports.home import Home
from tests.contract.example import NOW
from tests.contract.homes import sqlite
from tests.discord.fake import ELSEWHERE, PRIVATE, SERVER_CHANNEL, FakeDiscord
from tests.discord.state import Place

AGENTS = [{"id": f"01crab{n}", "name": f"ミカ {n}"} for n in range(40)]


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    with sqlite(tmp_path, FakeClock(NOW)) as opened:
        yield opened


@pytest.fixture
def discord(home: Home) -> Iterator[FakeDiscord]:
    clock = FakeClock(NOW)
    nobody: Any = None
    runtime = Runtime(home, clock, nobody, nobody, consequences=CONSEQUENCES, jobs=JOBS)
    with FakeDiscord(clock) as made:
        door = build_discord_door(runtime, made.public_key, made.url)

        def answer(headers: Mapping[str, str], body: bytes) -> tuple[int, Mapping[str, str], bytes]:
            made = door(headers, body, clock.now().timestamp())
            told = {"content-type": "application/json"} if made.content else {}
            return made.status, told, made.content

        made.door = answer
        yield made
        assert not made.complaints


def kept(home: Home) -> int:
    """How many interactions wait for the worker."""
    assert home.interactions is not None
    count = 0
    while (found := home.interactions.receive(visibility_seconds=30, wait_seconds=0)) is not None:
        home.interactions.acknowledge(found.receipt)
        count += 1
    return count


def test_discord_accepts_the_address(discord: FakeDiscord) -> None:
    assert discord.ping() == (200, {"type": 1})


@pytest.mark.parametrize(
    "place", [SERVER_CHANNEL, PRIVATE, ELSEWHERE], ids=["server", "dm", "guest"]
)
def test_a_command_is_seen_as_taken_wherever_it_was_given(
    discord: FakeDiscord, home: Home, place: Place
) -> None:
    given = discord.command("ask", {"text": "こんにちは"}, place=place)
    assert (given.standing, kept(home)) == ("thinking", 1)


def test_choices_appear_while_one_types(discord: FakeDiscord, home: Home) -> None:
    home.facts.commit(
        Document(
            owner=INSTALLATION_FACTS,
            kind=acks.CHOICES_KIND,
            id=acks.CHOICES_ID,
            body={"agents": AGENTS},
        )
    )
    typed = discord.complete("ask", {"agent": "ﾐｶ"}, focused="agent")
    assert (typed.standing, len(typed.choices or [])) == ("choices", 25)
    assert kept(home) == 0


def test_a_button_is_taken_in_silence_and_steering_opens_a_form(
    discord: FakeDiscord, home: Home
) -> None:
    said = discord.say("進めますか")
    pressed = discord.press_blindly(said, "oc:ap:01crab:y")
    assert (pressed.standing, kept(home)) == ("updating", 1)
    steered = discord.press_blindly(said, "oc:st:01crab:G1")
    assert (steered.standing, kept(home)) == ("modal", 0)
