"""The engine's numbers, from the settings."""

from opencrab.domain.errors import Invalid
from opencrab.domain.money import Limits
from opencrab.engine.runtime import Rules
from opencrab.settings import Settings

BUDGETS = (
    "turn_usd",
    "session_usd",
    "agent_day_usd",
    "installation_day_usd",
    "heartbeat_percent",
    "public_user_day_usd",
)
"""The settings of section `budget`, as the setup shows them."""

_MOST = 10**12
_WHOLE = 100


def rules_of(configured: Settings) -> Rules:
    """What the settings say about money and steps; everything else is as the engine has it."""

    def micro(name: str) -> int:
        amount = float(configured.get(f"budget.{name}")) * 1_000_000
        if not 0 <= amount <= _MOST:
            raise Invalid(
                f"budget.{name} must be from 0 to 1,000,000 US dollars",
                field=f"budget.{name}",
                cure="correct it; config/default.toml shows what is meant",
            )
        return round(amount)

    return Rules(
        limits=Limits(
            turn_micro_usd=micro("turn_usd"),
            session_micro_usd=micro("session_usd") or None,
            agent_day_micro_usd=micro("agent_day_usd"),
            installation_day_micro_usd=micro("installation_day_usd"),
            heartbeat_percent=_percent(configured),
            public_user_day_micro_usd=micro("public_user_day_usd"),
        ),
        max_steps=int(configured.get("agent.max_steps")),
    )


def _percent(configured: Settings) -> int:
    percent = int(configured.get("budget.heartbeat_percent"))
    if not 0 <= percent <= _WHOLE:
        raise Invalid(
            f"budget.heartbeat_percent must be from 0 to {_WHOLE}, not {percent}",
            field="budget.heartbeat_percent",
            cure="correct it; 25 is a quarter of an agent's day",
        )
    return percent
