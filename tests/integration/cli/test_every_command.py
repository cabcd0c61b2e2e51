"""What holds for every command of the program: no list of them is kept here."""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from opencrab.gateways.cli.scripting.exit_code import ExitCode
from tests.docs.reference.cli import commands
from tests.integration.rest.house import House
from tests.unit.gateways.cli.server import CTRL_C, Program, Said, Server

COMMANDS = {name.removeprefix("opencrab "): each for name, each in commands().items()}
ALL = pytest.mark.parametrize("command", COMMANDS)
LANGUAGES = ("en", "ja")
_SHORTER = {"admin simulate learning": ("--nights", "1", "--turns", "5"), "watch": ("--json",)}
"""What keeps a command from taking a minute, or from going on for ever."""


@dataclass
class Forwarder(Server):
    """A server in this process; a stream of events is never begun, as it has no end."""

    house: House | None = None

    def handle(self, request: httpx.Request) -> httpx.Response:
        """Let the application answer."""
        if request.url.path.endswith("/events"):
            return httpx.Response(503)
        assert self.house is not None
        return asyncio.run(self._answer(self.house, request))

    async def _answer(self, house: House, request: httpx.Request) -> httpx.Response:
        content = request.content
        async with house.client() as client:
            raw = request.url.raw_path.decode()
            given = [(k, v) for k, v in request.headers.raw if k.lower() != b"host"]
            answer = await client.request(
                request.method, f"http://house{raw}", content=content, headers=given
            )
        return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)


@dataclass(frozen=True)
class Place:
    """A program beside a house in which there is one of each thing that a command may name."""

    program: Program
    things: dict[str, str]

    def words(self, command: str) -> list[str]:
        """A command with everything that it cannot do without."""
        needed = self._needed(COMMANDS[command])
        return [*command.split(), *needed, *_SHORTER.get(command, ())]

    def _needed(self, command: Any) -> Iterator[str]:
        for each in command.params:
            if not each.required:
                continue
            name = str(each.metavar or each.name)
            value = self.things.get(name, "x")
            yield from ((each.opts[0], value) if each.param_type_name == "option" else (value,))


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    house = House(tmp_path_factory.mktemp("every"))
    with house.worker():
        yield house
    house.close()


@pytest.fixture(scope="module")
def things(house: House, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What stands for each argument."""
    file = tmp_path_factory.mktemp("file") / "notes.txt"
    file.write_text("蟹は横に歩く\n", encoding="utf-8")
    agent = house.agent("Ada")
    session = house.session(agent)
    (turn,) = house.say(session, "hello")
    schedule = {"name": "朝", "instruction": "hello", "recurrence": "0 9 * * *"}
    house.call("POST", f"/agents/{agent}/schedules", schedule)
    return {
        "AGENT": "Ada",
        "SESSION": session,
        "ID": turn,
        "FILE": str(file),
        "PATH": "notes.txt",
        "SKILL": "research",
        "SCHEDULE": "朝",
        "thumbs": "up",
        "when": "2h",
        "ALIAS=PROVIDER:MODEL": "smart=openai:x",
        "PRESET": "mika",
        "SETTING": "budget.turn_usd",
        "VALUE": "2",
        "PROVIDER": "ollama",
        "ALIAS": "fast",
        "MODEL": "openai:gpt-5-mini",
        "MODEL…": "openai:gpt-5-mini",
        "USE": "analysis",
    }


@pytest.fixture
def place(
    house: House, things: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Place:
    monkeypatch.chdir(tmp_path)
    environment = {
        "OPENCRAB_URL": "http://house",
        "OPENCRAB_KEY": house.owner,
        "TERM": "xterm",
        "EDITOR": "false",
    }
    program = Program(Forwarder(house=house), tmp_path / "data", monkeypatch, environment)
    return Place(program, things)


def check(said: Said) -> None:
    """Every command: a code of the table, no traceback, nothing that moves a cursor or colours."""
    assert said.code in set(ExitCode)
    assert "Traceback" not in said.out + said.err
    assert "\x1b" not in said.out + said.err
    assert (said.code == 0) or said.out or said.err


@ALL
def test_nobody_is_asked_who_may_not_be_and_nothing_is_coloured(place: Place, command: str) -> None:
    for language in LANGUAGES:
        words = ["--language", language, *place.words(command), "--no-input"]
        said = place.program.sit(*words, typed=[CTRL_C], NO_COLOR="1", TERM="xterm-256color")
        check(said)
        assert said.code != ExitCode.INTERRUPTED, said.out


@pytest.fixture(scope="module")
def codes() -> dict[str, int]:
    """How each command ended that was carried out with JSON."""
    return {}


@ALL
def test_with_json_there_is_nothing_but_json(
    place: Place, codes: dict[str, int], command: str
) -> None:
    said = place.program.run(*place.words(command), "--json")
    codes[command] = said.code
    check(said)
    for line in said.out.splitlines():
        json.loads(line)
    if said.code and not said.out:
        error = json.loads(said.err.splitlines()[-1])["error"]
        assert error["type"]
        assert error["message"]
        assert "cure" in error


@ALL
def test_a_quiet_command_that_went_well_leaves_nothing_on_standard_error(
    place: Place, command: str
) -> None:
    said = place.program.run(*place.words(command), "--quiet")
    check(said)
    if said.code == 0:
        assert said.err == ""


@ALL
def test_a_wrong_option_is_an_error_in_json_too(place: Place, command: str) -> None:
    said = place.program.run(*command.split(), "--nonsense", "--json", "--language", "ja")
    assert (said.code, said.out) == (ExitCode.USAGE, "")
    assert json.loads(said.err)["error"]["type"] == "usage"


def test_commands_that_are_kept_short_are_there() -> None:
    assert _SHORTER.keys() <= COMMANDS.keys()


def test_most_commands_were_carried_out(place: Place, codes: dict[str, int]) -> None:
    # Alone, this test carries them out itself.
    for command in COMMANDS.keys() - codes.keys():
        codes[command] = place.program.run(*place.words(command), "--json").code
    assert list(codes.values()).count(0) > len(COMMANDS) / 3, codes
