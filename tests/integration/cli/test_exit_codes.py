"""The table of exit codes: each of them is provoked through a real process."""

import json
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pytest

from opencrab.gateways.cli.scripting.exit_code import ExitCode
from tests.integration.cli.house import OPENCRAB, SECONDS, House, free_port, running, seat

SCRIPT = [
    {"when": "broken", "error": "refused"},
    {"when": "loop", "calls": [{"name": "ws_list", "arguments": {}}]},
    {"when": "ask", "calls": [{"name": "ws_write", "arguments": {"path": "a", "content": "b"}}]},
    {"when": "slow", "delay_ms": 600_000, "text": "never said"},
    {"text": "quick"},
]
LANGUAGES = pytest.mark.parametrize("language", ["en", "ja"])


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """Ada speaks English, さくら Japanese; Eve may do nothing without approval."""
    folder = tmp_path_factory.mktemp("codes")
    script = folder / "script.json"
    script.write_text(json.dumps(SCRIPT), encoding="utf-8")
    more = {
        "OPENCRAB_LLM__PROVIDERS__SCRIPTED__SCRIPT": str(script),
        "OPENCRAB_AGENT__MAX_STEPS": "1",
    }
    with running(folder, more=more) as house:
        for name, language in (("Ada", "en"), ("さくら", "ja")):
            house.run("agents", "create", "--name", name, "--language", language)
        house.run("agents", "create", "--name", "Eve", "--policy", "strict")
        yield house


@dataclass(frozen=True)
class Talk:
    """A conversation with one turn behind it."""

    session_id: str
    first_turn: str

    def process(self, house: House) -> "subprocess.Popen[bytes]":
        """Somebody who asks what takes long."""
        return process(house, "chat", "--session", self.session_id, "--say", "slow")

    @contextmanager
    def watched(self, house: House) -> Iterator[Callable[[], str]]:
        """Watch it; what is yielded waits for the next turn to begin, and returns its id."""
        watching = ("watch", "--session", self.session_id, "--after", "0", "--json")
        with process(house, *watching) as watch:
            over = threading.Timer(SECONDS, watch.kill)
            over.start()
            assert watch.stdout is not None
            events = map(json.loads, watch.stdout)
            next(events)
            new = (each["runId"] for each in events if each["type"] == "RUN_STARTED")
            yield lambda: str(next(each for each in new if each != self.first_turn))
            over.cancel()
            watch.kill()


@pytest.fixture
def talk(house: House) -> Talk:
    said = json.loads(house.run("chat", "Ada", "--say", "hi", "--json").out)
    return Talk(said["session_id"], said["turn_ids"][0])


@LANGUAGES
@pytest.mark.parametrize(
    ("args", "code", "kind"),
    [
        (("agents", "list"), ExitCode.OK, None),
        (("chat", "Ada", "--say", "hi"), ExitCode.OK, None),
        (("chat", "Ada", "--say", "broken"), ExitCode.FAILED, "unanswered"),
        (("chat", "さくら", "--say", "broken 壊れた"), ExitCode.FAILED, "unanswered"),
        (("agents", "show"), ExitCode.USAGE, "usage"),
        (("agents", "retire", "Ada"), ExitCode.USAGE, "usage"),
        (("workspace", "read", "Ada", "../x"), ExitCode.USAGE, "invalid"),
        (("--key", "wrong", "agents", "list"), ExitCode.REFUSED, "unauthenticated"),
        (("agents", "show", "誰か"), ExitCode.NOT_FOUND, "not-found"),
        (("chat", "さくら", "--say", "loop"), ExitCode.EXHAUSTED, "exhausted"),
        (("chat", "Eve", "--say", "ask"), ExitCode.WAITING, "waiting"),
    ],
)
def test_a_command_ends_with_its_code(
    house: House, args: tuple[str, ...], code: ExitCode, kind: str | None, language: str
) -> None:
    said = house.run("--language", language, *args, "--json")
    assert said.code == code
    assert said.code == house.run("--language", language, *args).code
    if kind is not None:
        error = json.loads(said.err.splitlines()[-1])["error"]
        assert error["type"] == kind
        assert error["message"]
    else:
        assert said.err == ""


def test_no_server_is_not_a_failure_of_the_command(house: House) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    said = house.run("--url", url, "agents", "list", "--json")
    assert (said.code, said.out) == (ExitCode.UNAVAILABLE, "")
    assert json.loads(said.err)["error"]["type"] == "unavailable"


def test_what_is_there_already_is_a_conflict(house: House, tmp_path: Path) -> None:
    house.run("workspace", "write", "Ada", "plan.md", "walk")
    target = tmp_path / "plan.md"
    target.write_text("mine", encoding="utf-8")
    said = house.run("workspace", "get", "Ada", "plan.md", str(target))
    assert said.code == ExitCode.CONFLICT


@LANGUAGES
def test_a_freeze_has_a_code_and_its_cure_lifts_it(house: House, language: str) -> None:
    name = "Ada" if language == "en" else "さくら"
    house.run("freeze", name)
    said = house.run("--language", language, "chat", name, "--say", "hi")
    house.run("unfreeze", name)
    assert (said.code, said.out) == (ExitCode.FROZEN, "")
    assert "opencrab unfreeze" in said.err
    assert house.run("chat", name, "--say", "hi").code == ExitCode.OK


def test_a_turn_that_somebody_stops_has_a_code(house: House, talk: Talk) -> None:
    with talk.watched(house) as begun, talk.process(house) as talking:
        house.run("turns", "cancel", begun())
        out, err = talking.communicate(timeout=SECONDS)
    assert (talking.returncode, out) == (ExitCode.STOPPED, b"")
    assert err.startswith(b"opencrab: ")


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (signal.SIGINT, ExitCode.INTERRUPTED),
        (signal.SIGHUP, ExitCode.TERMINAL_CLOSED),
        (signal.SIGTERM, ExitCode.TERMINATED),
    ],
)
def test_a_signal_ends_the_command_quietly_and_not_the_turn(
    house: House, talk: Talk, number: signal.Signals, code: ExitCode
) -> None:
    with talk.watched(house) as begun, talk.process(house) as talking:
        turn = begun()
        talking.send_signal(number)
        out, err = talking.communicate(timeout=SECONDS)
    # A shell says of a process that a signal ended: 128 and its number.
    ended = talking.returncode if talking.returncode >= 0 else 128 - talking.returncode
    assert (ended, out, err) == (code, b"", b"")
    assert json.loads(house.run("turns", "show", turn, "--json").out)["status"] == "running"
    house.run("turns", "cancel", turn)


def test_a_terminal_that_closes_in_the_middle_of_an_answer_ends_the_chat(
    house: House, talk: Talk
) -> None:
    with talk.watched(house) as begun, seat(house, "chat", "--session", talk.session_id) as person:
        person.see("you>")
        person.settle()
        person.type("slow\n")
        turn = begun()
        assert person.hang_up() in {-signal.SIGHUP, ExitCode.TERMINAL_CLOSED}
    house.run("turns", "cancel", turn)


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_a_reader_that_has_gone_ends_the_command_quietly(
    house: House, more: tuple[str, ...]
) -> None:
    with process(house, "agents", "list", *more) as listing:
        assert listing.stdout is not None
        listing.stdout.close()
        assert listing.stderr is not None
        err = listing.stderr.read()
        assert (listing.wait(SECONDS), err) == (ExitCode.BROKEN_PIPE, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no disk that is always full")
def test_a_full_disk_is_a_sentence(house: House) -> None:
    with (
        Path("/dev/full").open("wb") as full,
        process(house, "agents", "list", out=full) as listing,
    ):
        _, err = listing.communicate(timeout=SECONDS)
    assert listing.returncode == ExitCode.FAILED
    assert err.startswith(b"opencrab: the output cannot be written")


def process(
    house: House, *args: str, out: int | IO[bytes] = subprocess.PIPE
) -> "subprocess.Popen[bytes]":
    """The command in a process of its own, as a shell starts it."""
    return subprocess.Popen(
        [str(OPENCRAB), *args],
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=subprocess.PIPE,
        env={**house.environment, "OPENCRAB_DATA": str(house.data)},
        cwd=house.folder,
    )
