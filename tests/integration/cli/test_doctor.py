"""Broken installations: the doctor names what is wrong, and its cure mends it."""

import errno
import os
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from opencrab import settings
from opencrab.adapters.sqlite.looking import database_file
from opencrab.bootstrap.local.search import local_search_indexing
from opencrab.domain.errors import Refused
from opencrab.gateways.cli.language.sentences import EN, JA, cli_texts_in
from tests.integration.cli.installation import GOOD_KEY, MODEL, Finding, Installation

FULL, READ_ONLY = errno.ENOSPC, errno.EROFS


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Installation]:
    """An installation on which all is well, until a test breaks it."""
    for variable in settings.load_settings({}, {}).absent.values():
        monkeypatch.delenv(variable, raising=False)
    installation = Installation(tmp_path)
    yield installation
    installation.close()


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
    shutil.rmtree(at.data / "search", ignore_errors=True)


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
    with sqlite3.connect(database_file(at.data)) as connection:
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
        lambda at: (at.vendor.close(), at.restart())[1],
        "model",
        lambda at, _: (at.vendor.open(), at.restart())[1],
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


@pytest.mark.parametrize("language", [EN, JA])
@pytest.mark.parametrize("case", RUNNING, ids=lambda case: case.name)
def test_what_is_broken_is_named_and_its_cure_mends_it(
    broken: Installation, case: Case, language: str
) -> None:
    assert not wrong(broken.doctor(language=language), case.check, case.verdict)
    case.breaks(broken)
    found = wrong(broken.doctor(language=language), case.check, case.verdict)
    assert found
    case.mends(broken, found[0])
    after = broken.doctor(language=language)
    assert not wrong(after, case.check, case.verdict)
    assert not wrong(after, case.check)


def test_an_installation_on_which_all_is_well_has_nothing_wrong(broken: Installation) -> None:
    findings = broken.doctor("--ask-models")
    assert {each.verdict for each in findings} == {"well"}
    assert {"server", "key", "data", "disk", "database", "model", "clock", "queue"} <= {
        each.name for each in findings
    }
    assert broken.vendor.asked == 1


def test_asking_a_model_is_reserved_paid_and_in_the_ledger(broken: Installation) -> None:
    assert broken.doctor()
    assert broken.vendor.asked == 0
    assert broken.doctor("--ask-models")
    (profile,) = broken.runtime.home.agents.page(after=None, limit=10)
    (row,) = broken.runtime.home.usage.rows(profile.agent.id)
    assert (row.cost, row.reserved > row.cost) == (24, True)
    day = broken.clock.now().strftime("%Y-%m-%d")
    assert broken.runtime.home.budgets.drawn_micro_usd("installation", day) == row.cost
    broken.run("budgets", "--set", "installation_day=0.000025")
    found = wrong(broken.doctor("--ask-models"), "model")
    assert found
    assert broken.vendor.asked == 1


def lose_database(at: Installation) -> None:
    database_file(at.data).rename(at.data.parent / "lost.db")


def put_database_back(at: Installation, finding: Finding) -> None:
    assert "put it back" in finding.cure
    (at.data.parent / "lost.db").rename(database_file(at.data))


def accept_loss(at: Installation, finding: Finding) -> None:
    (words,) = [words for words in commands(finding.cure) if words[0] == "verify"]
    code, said = at.run(*words)
    assert code == 0, said


def damage_database(at: Installation) -> None:
    path = database_file(at.data)
    shutil.copy(path, at.data.parent / "good.db")
    path.write_bytes(b"SQLite format 3\0" + bytes(8_000))


def restore_backup(at: Installation, finding: Finding) -> None:
    assert "restore a backup" in finding.cure
    found = at.rotation.newest()
    assert found is not None
    shutil.rmtree(at.data)
    code, said = at.run("restore", str(found[1]))
    assert code == 0, said


def write_newer_schema(at: Installation) -> None:
    _set_schema(at, 99)


def start_newer_version(at: Installation, finding: Finding) -> None:
    assert "newer version" in finding.cure
    _set_schema(at, 1)


def _set_schema(at: Installation, version: int) -> None:
    connection = sqlite3.connect(database_file(at.data))
    connection.execute(f"PRAGMA user_version={version}")
    connection.commit()
    connection.close()


def live_in_the_future(at: Installation) -> None:
    later = (at.clock.now() + timedelta(hours=3)).timestamp()
    os.utime(at.data / "opencrab.db.lock", (later, later))


def live_now(at: Installation, finding: Finding) -> None:
    assert "NTP" in finding.cure
    os.utime(at.data / "opencrab.db.lock")


def open_key_file(at: Installation) -> None:
    (at.data / "owner.key").write_text("oc_x", encoding="utf-8")
    (at.data / "owner.key").chmod(0o644)


def close_key_file(at: Installation, finding: Finding) -> None:
    ((mode, path),) = commands(finding.cure, "chmod")
    assert Path(path) == at.data / "owner.key"
    Path(path).chmod(int(mode, 8))


STOPPED = (
    Case("database missing", lose_database, "database", put_database_back),
    Case("database lost for good", lose_database, "database", accept_loss),
    Case("database damaged", damage_database, "database", restore_backup),
    Case("newer schema", write_newer_schema, "database", start_newer_version),
    Case("clock set back", live_in_the_future, "clock", live_now),
    Case("key file open to others", open_key_file, "owner_key", close_key_file, "warning"),
)


@pytest.mark.parametrize("case", STOPPED, ids=lambda case: case.name)
def test_a_folder_without_a_server_is_examined(broken: Installation, case: Case) -> None:
    broken.stop()
    case.breaks(broken)
    findings = broken.doctor()
    assert wrong(findings, "server")
    found = wrong(findings, case.check, case.verdict)
    assert found
    case.mends(broken, found[0])
    assert not wrong(broken.doctor(), case.check, case.verdict)


@pytest.mark.parametrize("language", [EN, JA])
def test_opencrab_that_does_not_run_is_told_with_how_to_start_it(
    broken: Installation, language: str
) -> None:
    broken.stop()
    (found,) = wrong(broken.doctor(language=language), "server")
    assert "`opencrab up`" in found.cure
    broken.start()
    assert not wrong(broken.doctor(language=language), "server")


def test_a_process_that_holds_the_folder_and_does_not_answer_is_named(
    broken: Installation,
) -> None:
    broken.bridge.app = None
    (found,) = wrong(broken.doctor(), "process")
    assert commands(found.cure, "kill") == [[str(os.getpid())]]
    broken.stop()
    assert not wrong(broken.doctor(), "process")


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("OPENCRAB_BUDGET__TURN_US", "1"),
        ("OPENCRAB_BUDGET__TURN_USD", "much"),
        ("OPENCRAB_BACKUP__EVERY", "soon"),
        ("OPENCRAB_LLM__PROVIDERS__OPENAI__KIND", "opneai"),
    ],
)
def test_a_setting_that_cannot_be_is_named_with_its_variable(
    broken: Installation, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    broken.stop()
    monkeypatch.setenv(variable, value)
    (found,) = wrong(broken.doctor(), "config")
    assert variable in found.detail or variable.rsplit("__", maxsplit=1)[-1].lower() in found.detail
    monkeypatch.delenv(variable)
    assert not wrong(broken.doctor(), "config")


def test_a_broken_configuration_file_is_named_with_its_line(
    broken: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken.stop()
    folder = tmp_path / "config"
    shutil.copytree(Path("config"), folder)
    file = folder / "default.toml"
    sound = file.read_text(encoding="utf-8")
    file.write_text("[agent]\nname = \n" + sound, encoding="utf-8")
    monkeypatch.setattr("opencrab.settings._CONFIG_FOLDERS", (folder,))
    (found,) = wrong(broken.doctor(), "config")
    assert str(file) in found.detail
    assert "line 2" in found.detail
    file.write_text(sound, encoding="utf-8")
    assert not wrong(broken.doctor(), "config")


def test_a_key_that_was_revoked_is_told(broken: Installation) -> None:
    good, broken.key = broken.key, "oc_revoked"
    (found,) = wrong(broken.doctor(), "key")
    assert "OPENCRAB_KEY" in found.cure
    broken.key = good
    assert not wrong(broken.doctor(), "key")


def test_every_name_of_a_check_is_translated() -> None:
    names = {case.check for case in (*RUNNING, *STOPPED)} | {"config", "process", "server", "key"}
    assert names - {"discord"} <= cli_texts_in(JA)["terms"].keys()
