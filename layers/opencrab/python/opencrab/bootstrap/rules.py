"""The engine's numbers, from the settings."""

from opencrab.domain.money import Limits
from opencrab.engine.runtime import Rules
from opencrab.settings import Settings


def rules_of(configured: Settings) -> Rules:
    """What the settings say about money and steps; everything else is as the engine has it."""

    def micro(name: str) -> int:
        return round(float(configured.get(f"budget.{name}")) * 1_000_000)

    return Rules(
        limits=Limits(
            turn_micro_usd=micro("turn_usd"),
            agent_day_micro_usd=micro("agent_day_usd"),
            installation_day_micro_usd=micro("installation_day_usd"),
        ),
        max_steps=int(configured.get("agent.max_steps")),
    )
