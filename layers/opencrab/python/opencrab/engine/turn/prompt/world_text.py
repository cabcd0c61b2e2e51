"""World text: what a prompt tells a bound agent of its world, in a few lines.

Every line is made of numbers, ids and names that were checked when they were stored: no word of the
world itself is among them.
"""

from datetime import datetime, timedelta

from opencrab.domain.access.authority import Authority
from opencrab.domain.agents.agent import Agent
from opencrab.domain.memory.clearance import Clearance
from opencrab.domain.turn.turn import Turn
from opencrab.domain.value import Language
from opencrab.domain.world.binding import WORLD, WorldBinding
from opencrab.domain.world.standing import STANDING, WorldStanding
from opencrab.engine.turn.prompt_cache import KnownWorld
from opencrab.ports.documents import Documents
from opencrab.ports.models.model import NO_TEXT, PromptText, TrustedText
from opencrab.ports.texts import Texts

SILENT = timedelta(hours=1)
"""The time after which a world that says nothing is called silent."""

_TEXTS = Texts(__file__)


def read_prompt_world(
    facts: Documents, turn: Turn, agent: Agent, clearance: Clearance
) -> KnownWorld | None:
    """Read the world of a bound agent, in one read; None without one.

    None also for turns on behalf of others, and for those whose answer others hear: what an agent
    owns in its world is told to its owner only.
    """
    private = clearance.whole and turn.authority in {Authority.SELF, Authority.OWNER}
    if agent.world is None or not private:
        return None
    found = {
        each.kind: each for each in facts.get_many(agent.id, (WORLD, WORLD), (STANDING, WORLD))
    }
    if WORLD not in found:
        return None
    standing = found.get(STANDING)
    return KnownWorld(
        found[WORLD].read(WorldBinding),
        WorldStanding() if standing is None else standing.read(WorldStanding),
        pays=turn.is_autonomous and turn.authority is Authority.SELF,
    )


def prompt_world_text(known: KnownWorld | None, language: Language, now: datetime) -> PromptText:
    """Return what a bound agent is told of its world; "" for all others."""
    if known is None:
        return NO_TEXT
    world, standing = known.binding, known.standing
    rows = [
        _line("head", language, world=world.world_id, role=world.genome.role.value),
        _line("key", language, key_id=world.key_id),
        _units(known, language),
        _line(
            "money",
            language,
            balance="?" if world.balance is None else world.balance,
            reputation="?" if world.reputation is None else f"{world.reputation:.2f}",
        ),
        _sendable(standing, language),
        _policy(standing, language, now),
        _doubt(standing, language),
        _silence(standing, language, now),
    ]
    return TrustedText("\n".join(row for row in rows if row))


def _units(known: KnownWorld, language: Language) -> str:
    world = known.binding
    if world.units is None:
        return _line("none_yet", language)
    key = "units" if known.pays and world.units else "units_of_messages"
    return _line(key, language, units=world.units, period=world.cycle)


def _sendable(standing: WorldStanding, language: Language) -> str:
    if not standing.prices:
        return _line("messages", language)
    told = ", ".join(f"{name} {price}" for name, price in sorted(standing.prices.items()))
    return _line("prices", language, prices=told)


def _policy(standing: WorldStanding, language: Language, now: datetime) -> str:
    trust = standing.trust
    if trust is None or not standing.is_trusted:
        return _line("asks", language)
    left = max(trust.daily_limit - trust.spent_on(f"{now:%Y-%m-%d}"), 0)
    return _line("trusted", language, left=left, limit=trust.daily_limit)


def _doubt(standing: WorldStanding, language: Language) -> str:
    doubt = standing.doubt
    if doubt is None:
        return ""
    key = f"doubt_{doubt.kind.value}"
    return _line(key, language, told=doubt.told, expected=doubt.expected)


def _silence(standing: WorldStanding, language: Language, now: datetime) -> str:
    heard = standing.heard_at
    if heard is None or now - heard < SILENT:
        return ""
    return _line("silent", language, at=f"{heard:%Y-%m-%d %H:%M} UTC")


def _line(name: str, language: Language, **facts: object) -> str:
    return _TEXTS[name][language].format(**facts)
