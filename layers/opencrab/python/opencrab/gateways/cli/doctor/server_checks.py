"""Diagnosis: what a server's own account of its setup means for the doctor.

A home of any kind can be shown; what a server leaves out is left out here.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import Any

from opencrab.domain.amounts import format_dollars_exactly
from opencrab.gateways.cli.language.sentences import SentenceCatalog
from opencrab.gateways.cli.terminal.dates import format_time_for_terminal
from opencrab.gateways.language.error_texts import error_text_in

LARGEST_SKEW_SECONDS = 60
LATEST_BEAT_SECONDS = 300
"""A heartbeat comes every minute; one that fails is tried again within a few."""

_OPTIONAL = ("gateway.", "llm.providers.", "telemetry.", "web.")
"""How settings begin that come with OpenCrab, and are off until somebody sets their variable."""

_LOCAL = "sqlite"
_BUDGETS = ("turn_usd", "agent_day_usd", "installation_day_usd")


class CheckVerdict(StrEnum):
    """The verdict of a check; only WRONG makes the command fail."""

    WELL = "well"
    NOTE = "note"
    WARNING = "warning"
    WRONG = "wrong"


@dataclass(frozen=True)
class Finding:
    """The result of one check; `cure` says what to do if it did not pass."""

    name: str
    verdict: CheckVerdict
    detail: str
    cure: str = ""


def check_setup_by_doctor(
    words: SentenceCatalog, setup: Mapping[str, Any], now: datetime | None
) -> Iterator[Finding]:
    """Check the setup that the server reports; `now` is the server's time, if known."""
    home = _table(setup, "home")
    if home:
        yield Finding("home", CheckVerdict.WELL, _facts(words, home))
    yield _of_model(words, _table(setup, "model"), home)
    yield from _of_budget(words, _table(setup, "budget"))
    yield from _of_heartbeat(words, setup.get("heartbeat"), now)
    yield from _of_backups(words, _table(setup, "backups"))
    yield from _of_settings_file(words, _table(setup, "settings_file"))
    yield from _of_missing(words, setup.get("missing") or ())


def check_clock_by_doctor(
    words: SentenceCatalog, here: datetime | None, there: datetime | None
) -> Iterator[Finding]:
    """Compare this computer's clock with the server's, if both are known."""
    if here is None or there is None:
        return
    seconds = round((here - there).total_seconds())
    detail = words("clock_ok", seconds=abs(seconds))
    if abs(seconds) > LARGEST_SKEW_SECONDS:
        yield Finding("clock", CheckVerdict.NOTE, detail, words("clock_cure"))
    else:
        yield Finding("clock", CheckVerdict.WELL, detail)


def server_time_for_doctor(text: object) -> datetime | None:
    """Parse a time from JSON or from an HTTP header; None for anything else."""
    if not isinstance(text, str):
        return None
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            found = read(text)
        except ValueError:
            continue
        return found if found.tzinfo else found.replace(tzinfo=UTC)
    return None


def _of_missing(words: SentenceCatalog, missing: Iterable[Mapping[str, Any]]) -> Iterator[Finding]:
    """Name what is off for want of a variable: what everybody may leave off in one line."""
    optional = list[str]()
    for each in missing:
        part, variable = str(each.get("part")), str(each.get("variable"))
        if part.startswith(_OPTIONAL):
            optional.append(f"{part} ({variable})")
        else:
            detail = words("setup_missing", part=part, variable=variable)
            yield Finding("setup", CheckVerdict.NOTE, detail)
    if optional:
        detail = words("setup_optional", parts=", ".join(optional))
        yield Finding("setup", CheckVerdict.NOTE, detail)


def _of_model(words: SentenceCatalog, model: Mapping[str, Any], home: Mapping[str, Any]) -> Finding:
    name = str(model.get("default") or "")
    if not name:
        return Finding("model", CheckVerdict.WRONG, words("model_none"), _model_cure(words, home))
    if name.startswith("scripted"):
        return Finding(
            "model", CheckVerdict.NOTE, words("model_scripted"), _model_cure(words, home)
        )
    notes = " ".join(map(str, model.get("notes") or ()))
    return Finding("model", CheckVerdict.WELL, f"{name} {notes}".strip())


def _model_cure(words: SentenceCatalog, home: Mapping[str, Any]) -> str:
    """Say where to set a provider's key: the secret store on AWS, the environment locally."""
    place = str(home.get("secrets") or "")
    if place.startswith("ssm:"):
        return words("model_ssm_cure", path=place.removeprefix("ssm:").rstrip("/") + "/")
    if place or home.get("kind", _LOCAL) != _LOCAL:
        return words("model_aws_cure", place=place or home["kind"])
    return words("model_cure")


def _of_budget(words: SentenceCatalog, budget: Mapping[str, Any]) -> Iterator[Finding]:
    numbers: dict[str, Any] = {name: budget.get(name) for name in _BUDGETS}
    if not all(isinstance(number, int | float) for number in numbers.values()):
        return
    changed = budget.get("changed")
    changed = [str(name) for name in changed] if isinstance(changed, list) else []
    for name, number in numbers.items():
        if number <= 0:
            detail = words("budget_none", name=f"budget.{name}", value=number)
            cure = _budget_cure(words, name, at_run_time=name in changed)
            yield Finding("budget", CheckVerdict.WRONG, detail, cure)
            return
    turn, agent, all_ = map(format_dollars_exactly, numbers.values())
    detail = words("budget_ok", turn=turn, agent=agent, all=all_)
    session = budget.get("session_usd")
    if isinstance(session, int | float) and session > 0:
        detail += words("budget_session", session=format_dollars_exactly(session))
    if changed:
        detail += words("budget_changed", names=", ".join(changed))
    yield Finding("budget", CheckVerdict.WELL, detail)


def _budget_cure(words: SentenceCatalog, name: str, *, at_run_time: bool) -> str:
    """Say how to raise a limit: by command if it was set at run time, else by its setting."""
    if at_run_time:
        return words("budget_raise_cure", limit=name.removesuffix("_usd"))
    variable = f"OPENCRAB_BUDGET__{name.upper()}"
    return words("budget_none_cure", variable=variable, limit=name.removesuffix("_usd"))


def _of_heartbeat(
    words: SentenceCatalog, heartbeat: Any, now: datetime | None
) -> Iterator[Finding]:
    if not isinstance(heartbeat, Mapping):
        return
    last = server_time_for_doctor(heartbeat.get("at"))
    if last is None:
        yield Finding("heartbeat", CheckVerdict.NOTE, words("beat_none"), words("beat_none_cure"))
    elif now is not None:
        seconds = max(round((now - last).total_seconds()), 0)
        detail = words("beat_ok", seconds=seconds)
        if seconds > LATEST_BEAT_SECONDS:
            yield Finding("heartbeat", CheckVerdict.WRONG, detail, words("beat_late_cure"))
        else:
            yield Finding("heartbeat", CheckVerdict.WELL, detail)


def _of_backups(words: SentenceCatalog, backups: Mapping[str, Any]) -> Iterator[Finding]:
    if backups.get("ok") is True:
        yield Finding("backups", CheckVerdict.WELL, words("backups_ok"))
    elif backups.get("ok") is False:
        failed = server_time_for_doctor(backups.get("failed_at"))
        at = "?" if failed is None else format_time_for_terminal(failed.isoformat())
        detail = words("backups_failed", at=at, problem=_error_text(words, backups.get("problem")))
        cure = words("backups_cure", cure=_error_text(words, backups.get("cure")))
        yield Finding("backups", CheckVerdict.WRONG, detail, cure)


def _error_text(words: SentenceCatalog, said: object) -> str:
    """Return what the server says of an error in the user's language; "-" if it says nothing."""
    return error_text_in(words.tongue, str(said or "-"))


def _of_settings_file(words: SentenceCatalog, file: Mapping[str, Any]) -> Iterator[Finding]:
    if not file:
        return
    version, problem = file.get("version"), file.get("problem")
    if problem:
        cure = words("settings_file_cure", cure=_error_text(words, file.get("cure")).rstrip("."))
        detail = words("settings_file_wrong", problem=_error_text(words, problem))
        yield Finding("settings", CheckVerdict.WRONG, detail, cure)
    elif version:
        detail = words("settings_file_ok", version=str(version).strip('"'))
        yield Finding("settings", CheckVerdict.WELL, detail)
    else:
        yield Finding("settings", CheckVerdict.WELL, words("settings_file_none"))


def _facts(words: SentenceCatalog, home: Mapping[str, Any]) -> str:
    """Format the home in one line: its kind, and its other plain values."""
    kind = words.term(str(home.get("kind") or "?"))
    plain = {name: value for name, value in home.items() if isinstance(value, str | int)}
    plain.pop("kind", None)
    facts = ", ".join(f"{words.term(name)} {value}" for name, value in plain.items() if value != "")
    return f"{kind} ({facts})" if facts else kind


def _table(setup: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = setup.get(name)
    return found if isinstance(found, Mapping) else {}
