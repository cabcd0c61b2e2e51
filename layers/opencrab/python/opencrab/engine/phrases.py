"""The few sentences that OpenCrab itself says to people, in Japanese and English."""

import re

from opencrab.domain.amounts import format_dollars_exactly, format_micro_usd
from opencrab.domain.models.fault import Fault
from opencrab.domain.money.budget import LIMIT_OF_BUDGET, Limits
from opencrab.domain.value import Language, MicroUsd
from opencrab.ports.texts import Texts

_SENTENCES = Texts(__file__, "sentences")


def system_phrase(key: str, language: Language, **facts: object) -> str:
    """Return a sentence in the agent's language."""
    return _SENTENCES[key][language].format(**facts)


_FAULTS = Texts(__file__, "faults")


_CAUSES = Texts(__file__, "causes")


def phrase_for_failure(
    why: str, language: Language, fault: Fault | None = None, kind: str = ""
) -> str:
    """Return the sentence for a failed answer, wholly in the agent's language."""
    return system_phrase("failed", language, why=phrase_for_fault(why, language, fault, kind))


def phrase_for_fault(
    why: str, language: Language, fault: Fault | None = None, kind: str = ""
) -> str:
    """Return the reason of a failure: by fault or kind if they have a text, else `why`.

    `why` is English, or a sentence of ours in the agent's language; `kind` is the name of an
    error's class or a turn's status.
    """
    if fault is not None and language in _FAULTS[fault]:
        return _FAULTS[fault][language]
    if language is Language.EN or _HIRAGANA.search(why):
        return why
    return _CAUSES[kind if kind in _CAUSES else ""][language]


_HIRAGANA = re.compile("[\u3041-\u3096]")


def is_phrase_of_frozen_turn(text: str) -> bool:
    """Check whether a text is the notice of a turn that was frozen.

    A turn's header keeps its notice, and nothing else that tells a freeze from another stop.
    """
    return any(text in _SENTENCES[key].values() for key in ("frozen", "frozen_in_answer"))


def is_phrase_of_takeover(text: str) -> bool:
    """Check whether a text is the notice of a turn whose request the next answer covers too."""
    return any(text in _SENTENCES[key].values() for key in ("taken_over", "taken_over_in_answer"))


_BUDGETS = Texts(__file__, "budgets")
_CURES = Texts(__file__, "cures")
_WITHOUT_DAYS = {"turn", "session"}


def phrase_for_used_up_budget(
    scope: str | None,
    language: Language,
    limits: Limits | None = None,
    own_day: MicroUsd | None = None,
    drawn: MicroUsd | None = None,
) -> str:
    """Return the sentence that names the used-up budget and the remedy, without scopes.

    With `limits`, for people who may know them, it also has the amount and the command that raises
    it; `own_day` is the agent's own daily limit, in micro-dollars; `drawn` is what was drawn from
    the budget, which exceeds its limit if calls cost more than was reserved for them.
    """
    kind = (scope or "installation").partition(":")[0]
    kind = kind if kind in _BUDGETS else "installation"
    what = _BUDGETS[kind][language]
    cures = [] if kind in _WITHOUT_DAYS else [_CURES["tomorrow"][language]]
    if limits is not None:
        what += f" ({format_micro_usd(limits.of_budget(kind, own_day) or 0)})"
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
    """Return the command that raises a limit enough; an agent's own has a different one."""
    if kind == "agent" and own_day is not None:
        return _CURES["raise_own"][language]
    limit = limits.of_budget(kind, own_day) or 0
    # As much again as the limit was, counted from what was drawn already.
    wanted = max(2 * limit, _round_up_to_cents(limit + (drawn or 0)))
    if kind == "heartbeat":
        agent_day = limits.agent_day(own_day) or 1
        percent = max(2 * limits.heartbeat_percent, -(-100 * wanted // agent_day))
        amount = str(min(percent, 100))
    else:
        amount = format_dollars_exactly(wanted / 1_000_000)
    # `opencrab costs budgets` names a limit without its unit.
    name = LIMIT_OF_BUDGET[kind].removesuffix("_micro_usd").removesuffix("_percent")
    return _CURES["raise"][language].format(limit=f"{name}={amount}")


def _round_up_to_cents(amount: MicroUsd) -> MicroUsd:
    """Round up to whole cents to keep a suggestion short; up to one cent stays as it is."""
    return -(-amount // _CENT) * _CENT if amount > _CENT else amount


_CENT: MicroUsd = 10_000
