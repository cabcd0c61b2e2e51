"""The few sentences that OpenCrab itself says to people, in Japanese and English."""

from opencrab.domain.models.fault import Fault
from opencrab.domain.money.budget import Limits
from opencrab.domain.value import Language, MicroUsd
from opencrab.ports.texts import Texts

_SENTENCES = Texts(__file__, "sentences")


def system_phrase(key: str, language: Language, **facts: object) -> str:
    """A sentence in the agent's language."""
    return _SENTENCES[key][language].format(**facts)


_FAULTS = Texts(__file__, "faults")


def failure_phrase(why: str, language: Language, fault: Fault | None = None) -> str:
    """Says that an answer failed; why, in English, where nothing shorter says it."""
    says = {} if fault is None else _FAULTS[fault]
    return system_phrase("failed", language, why=says.get(language, why))


_BUDGETS = Texts(__file__, "budgets")
_CURES = Texts(__file__, "cures")
_WITHOUT_DAYS = {"turn", "session"}


def budget_phrase(
    scope: str | None,
    language: Language,
    limits: Limits | None = None,
    own_day: MicroUsd | None = None,
    drawn: MicroUsd | None = None,
) -> str:
    """Says to people, who know no scopes, which money has ended and what helps.

    With `limits`, for who may know them, also how much it was and the command that raises it;
    `own_day` is the agent's own daily limit, in micro-dollars; `drawn` is what was drawn from the
    budget, which exceeds its limit where calls cost more than was reserved for them.
    """
    kind = (scope or "installation").partition(":")[0]
    kind = kind if kind in _BUDGETS else "installation"
    what = _BUDGETS[kind][language]
    cures = [] if kind in _WITHOUT_DAYS else [_CURES["tomorrow"][language]]
    if limits is not None:
        what += f" ({_dollars(_limit(kind, limits, own_day))})"
        cures.append(_raise_command(kind, language, limits, own_day, drawn))
    elif not cures:
        cures = [_CURES["owner"][language]]
    return system_phrase("budget", language, what=what, cure=" ".join(cures))


def _raise_command(
    kind: str,
    language: Language,
    limits: Limits,
    own_day: MicroUsd | None,
    drawn: MicroUsd | None,
) -> str:
    """The command that raises a limit enough; an agent's own is raised where it was set."""
    if kind == "agent" and own_day is not None:
        return _CURES["raise_own"][language]
    limit = _limit(kind, limits, own_day)
    # As much again as the limit was, counted from what was drawn already.
    wanted = max(2 * limit, _round_up_to_cents(limit + (drawn or 0)))
    if kind == "heartbeat":
        agent_day = limits.agent_day(own_day) or 1
        percent = max(2 * limits.heartbeat_percent, -(-100 * wanted // agent_day))
        amount = str(min(percent, 100))
    else:
        amount = _dollars(wanted).strip("$")
    return _CURES["raise"][language].format(limit=f"{_NAMES[kind]}={amount}")


def _round_up_to_cents(amount: MicroUsd) -> MicroUsd:
    """Whole cents, so that a suggested amount is short; less than one stays as it is."""
    return -(-amount // _CENT) * _CENT if amount > _CENT else amount


_CENT: MicroUsd = 10_000

_NAMES = {
    "turn": "turn",
    "session": "session",
    "agent": "agent_day",
    "heartbeat": "heartbeat",
    "public": "public_user_day",
    "installation": "installation_day",
}
"""How `opencrab budgets` names the limits."""


def _limit(kind: str, limits: Limits, own_day: MicroUsd | None) -> MicroUsd:
    agent_day = limits.agent_day(own_day)
    return {
        "turn": limits.turn_micro_usd,
        "session": limits.session_micro_usd or 0,
        "agent": agent_day,
        "heartbeat": agent_day * limits.heartbeat_percent // 100,
        "public": limits.public_user_day_micro_usd,
        "installation": limits.installation_day_micro_usd,
    }[kind]


def _dollars(amount: MicroUsd) -> str:
    """An amount with two decimals, or as many as it needs."""
    whole, rest = f"{amount / 1_000_000:.6f}".split(".")
    return f"${whole}.{rest.rstrip('0').ljust(2, '0')}"
