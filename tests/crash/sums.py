"""Sums of money that invariants compare."""

from collections import Counter

from opencrab.adapters.dynamodb.money.lease import SLICE_DRAWS
from tests.crash.rest import Rest
from tests.crash.world import World


def most_left_unused(world: World) -> int:
    """What may stay drawn for the day: slices of processes that died before their transaction."""
    if world.ground.name != "aws":
        return 0
    trouble = world.scheduler.faults + world.weather.met
    limits = world.casts[0].scenario.rules.limits
    return trouble * SLICE_DRAWS * limits.block_micro_usd


def costs_by_model(rest: Rest) -> Counter[str]:
    """What the journal says that the calls of each model cost."""
    costs: Counter[str] = Counter()
    for records in rest.records.values():
        asked = {r["n"]: r["model"] for r in records.values() if r["kind"] == "model_intent"}
        for record in records.values():
            if record["kind"] == "model_result":
                costs[asked[record["n"]]] += record["cost"]
    return costs
