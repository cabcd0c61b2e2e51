"""Completion in a real bash, zsh and fish, beside a real server and without one."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.integration.cli.house import OPENCRAB, House, Seat, seat

SHOW = "shown() { printf '<%s>' \"$@\"; echo; }\n"
START = {
    "bash": ("--norc", "--noprofile", "-i"),
    "zsh": ("--no-rcs", "-i"),
}
SETUP = {
    "bash": SHOW,
    "zsh": f"autoload -Uz compinit; compinit -u -D; bindkey -e; {SHOW}",
}
CTRL_A, CTRL_E = "\x01", "\x05"

LINES = [
    ("opencrab learn\t", "<opencrab><learning>"),
    ("opencrab admin ke\trev\t", "<opencrab><admin><keys><revoke>"),
    ("opencrab costs --peri\tlast_h\t", "<opencrab><costs><--period><last_hour>"),
    ("opencrab agents show A\t", "<opencrab><agents><show><Ada>"),
    ("opencrab agents show さ\t--js\t", "<opencrab><agents><show><さくら><--json>"),
    ("opencrab agents show T\t", "<opencrab><agents><show><Two words>"),
    ("opencrab agents show \\$\t", "<opencrab><agents><show><$(echo no) `no`>"),
    ("opencrab workspace put Ada long-n\t", "<opencrab><workspace><put><Ada><long-name.txt>"),
    ("opencrab tas\tru\t", "<opencrab><tasks><run>"),
]


def program(name: str) -> Path:
    """The shell; the test is skipped where it is not installed, except bash."""
    found = shutil.which(name)
    if found is None:
        assert name != "bash"
        pytest.skip(f"{name} is not installed")
    return Path(found)


def environment() -> dict[str, str]:
    return {"PATH": f"{OPENCRAB.parent}:/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}


@pytest.fixture(scope="module")
def crowded(house: House) -> House:
    """The house with agents whose names a shell would read, and a file."""
    for name in ("Two words", "$(echo no) `no`"):
        house.run("agents", "create", "--name", name, "--language", "en")
    (house.folder / "long-name.txt").touch()
    return house


@contextmanager
def shell(house: House, name: str) -> Iterator[Seat]:
    """A shell that has read the script; `shown` prints the words it is given."""
    with seat(house, *START[name], program=program(name), more=environment()) as at:
        at.type(f"{SETUP[name]}source <(opencrab completion {name})\necho set''up\n")
        at.see("setup")
        yield at


@pytest.mark.parametrize("name", ["bash", "zsh"])
def test_a_shell_completes_commands_options_and_agents(crowded: House, name: str) -> None:
    with shell(crowded, name) as at:
        for typed, words in LINES:
            at.type(f"{typed}{CTRL_A}shown {CTRL_E}\n")
            at.see(words)


def completed_by_fish(house: House, line: str) -> list[str]:
    """What a real fish offers for a line, without the help beside it."""
    ask = f"opencrab completion fish | source; complete -C {line!r}"
    with seat(house, "-N", "-c", ask, program=program("fish"), more=environment()) as at:
        rows = at.rest().splitlines()
    return [row.partition("\t")[0] for row in rows]


def test_fish_completes_commands_options_and_agents(crowded: House) -> None:
    assert completed_by_fish(crowded, "opencrab learn") == ["learning"]
    assert completed_by_fish(crowded, "opencrab admin keys ") == ["create", "list", "revoke"]
    assert completed_by_fish(crowded, "opencrab costs --period last_h") == ["last_hour"]
    assert completed_by_fish(crowded, "opencrab costs --period=last_h") == ["--period=last_hour"]
    assert completed_by_fish(crowded, "opencrab agents show さ") == ["さくら"]
    assert "Two words" in completed_by_fish(crowded, "opencrab agents show ")
    assert completed_by_fish(crowded, "opencrab workspace put Ada long-n") == ["long-name.txt"]


@pytest.mark.parametrize("name", ["bash", "zsh"])
def test_without_a_server_completion_is_silent(tmp_path: Path, name: str) -> None:
    with shell(House(tmp_path), name) as at:
        at.type(f"opencrab agents show A\tx{CTRL_A}shown {CTRL_E}\n")
        at.see("<opencrab><agents><show><Ax>")
