"""An agent with several models to think with, for tests of the whole way."""

from opencrab.domain.agents.agent import Agent
from opencrab.domain.models.fault import Fault
from opencrab.domain.models.routing import Routing
from opencrab.domain.money.budget import INSTALLATION, agent_budget_scope
from opencrab.domain.turn.turn import Turn
from opencrab.domain.usage.ledger import UsageRow
from opencrab.domain.value import Language
from tests.crash.outside import Reply, Script
from tests.e2e.house import START, House

DAY = START.strftime("%Y-%m-%d")
ROUTING = Routing(
    default="fake:none",
    fallback=("other:backup",),
    aliases={"smart": "other:backup", "fast": "third:quick"},
    selectable=("smart", "fast"),
)
HELLO: Script = (Reply("hello, はじめまして"),)


def failing(fault: Fault, times: int = 16) -> Script:
    """A script whose calls fail so often."""
    return (Reply("from the first", fails=(fault,) * times),)


def crab(house: House, script: Script, language: Language = Language.EN) -> Agent:
    """The agent `crab` with its session, and models that may stand in."""
    house.scripts["backup"] = (Reply("控えから答えます"),)
    house.scripts["quick"] = (Reply("quick"),)
    house.provider.routing = ROUTING
    agent = house.agent("crab", script, language)
    house.session(agent)
    return agent


def done(house: House, *turns: Turn, seconds: int = 0) -> tuple[Turn, ...]:
    """What became of turns once all is handled, some seconds later."""
    house.work()
    for _ in range(0, seconds, 4):
        house.later(4)
    return tuple(house.turn(turn.id) for turn in turns)


def rows(house: House) -> list[UsageRow]:
    """The ledger, oldest first."""
    return list(reversed(house.home.usage.rows("crab")))


def drawn(house: House) -> set[int]:
    """What the budgets of the agent and of the installation say: one number when they agree."""
    return {
        house.home.budgets.drawn_micro_usd(scope, DAY)
        for scope in (INSTALLATION, agent_budget_scope("crab"))
    }
