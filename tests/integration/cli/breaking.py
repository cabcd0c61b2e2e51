"""How an installation is broken, and how the cure that the doctor names mends it."""

import errno
import os
import re
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from opencrab.adapters.inspection.database import database_file_for_inspection
from opencrab.bootstrap.local.search import local_search_indexing
from opencrab.domain.errors import Refused
from tests.integration.cli.installation import GOOD_KEY, MODEL, Finding, Installation

FULL, READ_ONLY = errno.ENOSPC, errno.EROFS


def commands(cure: str, program: str = "opencrab") -> list[list[str]]:
    """The commands that a cure names, as words."""
    found = re.findall(rf"{program} ((?:[^\s,;()`。]+ ?)+)", cure)
    return [words.split() for words in found]


def run_cure(at: Installation, finding: Finding) -> None:
    """Run the first command of a cure, as it stands there."""
    (first, *_) = commands(finding.cure)
    code, said = at.run(*first)
    assert code == 0, said


def failing(number: int) -> Callable[[Path], None]:
    """A disk that fails so."""

    def write(path: Path) -> None:
        raise OSError(number, os.strerror(number), str(path))

    return write


def without_key(at: Installation) -> None:
    at.provider = replace(at.provider, api_key="", missing="VENDOR_KEY")
    at.restart()


def wrong_key(at: Installation) -> None:
    at.provider = replace(at.provider, api_key="sk-old")
    at.restart()


def give_key(at: Installation, finding: Finding) -> None:
    assert "VENDOR_KEY" in finding.cure + finding.detail
    at.provider = replace(at.provider, api_key=GOOD_KEY, missing="")
    at.restart()


def close_server(at: Installation) -> None:
    at.vendor.close()
    at.restart()


def open_server(at: Installation, finding: Finding) -> None:
    assert at.vendor.url in finding.detail
    at.vendor.open()
    at.restart()  # its answer of a moment ago is remembered


def refuse_calls(at: Installation) -> None:
    at.vendor.refuses = True
    assert at.run("doctor", "--ask-models")[0] == 1


def open_account(at: Installation, finding: Finding) -> None:
    at.vendor.refuses = False
    run_cure(at, finding)


def use_ollama(at: Installation) -> None:
    at.provider = replace(at.provider, name="ollama", kind="ollama", base_url=at.vendor.url)
    at.vendor.models = ["llama3.1:8b"]
    at.restart()


def pull_model(at: Installation, finding: Finding) -> None:
    assert commands(finding.cure, "ollama") == [["pull", MODEL]]
    at.vendor.models.append(f"{MODEL}:latest")
    at.restart()  # its answer of seconds ago is remembered


def spend_day_of_agent(at: Installation) -> None:
    assert at.run("doctor", "--ask-models")[0] == 0
    assert at.run("agents", "edit", "Ada", "--day", "0.000024")[0] == 0


def spend_day(at: Installation) -> None:
    assert at.run("doctor", "--ask-models")[0] == 0
    assert at.run("budgets", "--set", "installation_day=0.000024")[0] == 0


def fill_disk(at: Installation) -> None:
    at.write = failing(FULL)


def make_read_only(at: Installation) -> None:
    at.write = failing(READ_ONLY)


def mend_disk(at: Installation, finding: Finding) -> None:
    del finding
    at.write, at.free = (lambda _path: None), (lambda _path: 2**40)


def leave_little_space(at: Installation) -> None:
    at.free = lambda _path: 10 * 2**20


def shift_clock(at: Installation) -> None:
    at.clock.shift = timedelta(hours=2)


def synchronise(at: Installation, finding: Finding) -> None:
    assert "NTP" in finding.cure
    at.clock.shift = timedelta()


def freeze_agent(at: Installation) -> None:
    assert at.run("freeze", "Ada")[0] == 0


def freeze_all(at: Installation) -> None:
    assert at.run("freeze")[0] == 0


def lose_index(at: Installation) -> None:
    at.chat("Ada")
    at.clock.shift = timedelta(minutes=2)
    shutil.rmtree(at.data / "search-copies", ignore_errors=True)


def build_index(at: Installation, finding: Finding) -> None:
    del finding
    at.restart()
    # What OpenCrab does when it starts.
    for profile in at.runtime.home.agents.page(after=None, limit=10):
        local_search_indexing(at.runtime).catch_up(profile.agent.id)


def jam_queue(at: Installation) -> None:
    at.runtime.home.turns.send("{}", group="g", deduplication="d")
    at.clock.shift = timedelta(minutes=6)


def work_again(at: Installation, finding: Finding) -> None:
    del finding
    at.restart()
    delivery = at.runtime.home.turns.receive(visibility_seconds=60, wait_seconds=0)
    assert delivery is not None
    at.runtime.home.turns.acknowledge(delivery.receipt)


def miss_backups(at: Installation) -> None:
    at.clock.shift = timedelta(days=3)


def damage_backup(at: Installation) -> None:
    at.clock.shift = timedelta(minutes=1)
    found = at.rotation.newest()
    assert found is not None
    (found[1] / "manifest.json").write_text("{", encoding="utf-8")


def take_backup(at: Installation, finding: Finding) -> None:
    run_cure(at, finding)


class WrongToken:
    """`ports.discord.Discord` with a token that Discord does not accept."""

    right = False

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        if not self.right:
            raise Refused("401 Unauthorized", cure="reset the token")
        return {"id": "1", "username": "crab", "verify_key": "k", "flags": 1 << 19}


def use_wrong_token(at: Installation) -> None:
    at.restart(discord=WrongToken())


def drop_discord(at: Installation, finding: Finding) -> None:
    assert "token" in finding.detail.lower() or "トークン" in finding.detail
    at.restart(discord=None)


def leave_dead_letter(at: Installation) -> None:
    at.runtime.home.turns.dead_letter("{}", group="g", reason="malformed")


def wait_until_forgotten(at: Installation, finding: Finding) -> None:
    assert "malformed" in finding.detail
    with sqlite3.connect(database_file_for_inspection(at.data)) as connection:
        connection.execute("DELETE FROM item WHERE pk LIKE 'DEAD#%'")
    connection.close()


@dataclass(frozen=True)
class Case:
    """How something breaks, which check says so, and what its cure does."""

    name: str
    breaks: Callable[[Installation], None]
    check: str
    mends: Callable[[Installation, Finding], None]
    verdict: str = "wrong"


RUNNING = (
    Case("no key", without_key, "model", give_key),
    Case("wrong key", wrong_key, "model", give_key),
    Case(
        "dead server",
        close_server,
        "model",
        open_server,
    ),
    Case("every call refused", refuse_calls, "model", open_account),
    Case("model unknown to the server", use_ollama, "model", pull_model),
    Case("frozen agent", freeze_agent, "switches", run_cure),
    Case("frozen all", freeze_all, "switches", run_cure),
    Case("an agent's day spent", spend_day_of_agent, "spending", run_cure),
    Case("the day spent", spend_day, "spending", run_cure),
    Case("full disk", fill_disk, "disk", mend_disk),
    Case("little space", leave_little_space, "disk", mend_disk, "warning"),
    Case("read-only folder", make_read_only, "data", mend_disk),
    Case("wrong clock", shift_clock, "clock", synchronise),
    Case("index missing", lose_index, "search", build_index, "warning"),
    Case("queue stuck", jam_queue, "queue", work_again),
    Case("dead letter", leave_dead_letter, "dead_letters", wait_until_forgotten, "warning"),
    Case("backup overdue", miss_backups, "backups", take_backup),
    Case("backup damaged", damage_backup, "backups", take_backup),
    Case("wrong Discord token", use_wrong_token, "discord", drop_discord),
)


def wrong(findings: tuple[Finding, ...], check: str, verdict: str = "wrong") -> list[Finding]:
    """The findings of a check with a verdict."""
    return [each for each in findings if (each.name, each.verdict) == (check, verdict)]
