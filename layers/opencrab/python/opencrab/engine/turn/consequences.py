"""Consequences of turns, as those declare theirs who work with a turn and its runtime."""

from opencrab.engine.consequence import TurnConsequence
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.work import Work

Consequence = TurnConsequence[Runtime, Work]
"""What a capability derives its own from."""
