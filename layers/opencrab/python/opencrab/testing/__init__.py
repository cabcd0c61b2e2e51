"""What authors of custom actions test them with: a house for one agent, and an explorer of crashes.

Nothing here needs a test runner or a network, and no part of the product loads it.
"""

from opencrab.testing.crashes import CrashReport, explore_action_crashes
from opencrab.testing.house import AgentHouse, HouseCall, HouseTurn, ModelCall, agent_house, call

__all__ = [
    "AgentHouse",
    "CrashReport",
    "HouseCall",
    "HouseTurn",
    "ModelCall",
    "agent_house",
    "call",
    "explore_action_crashes",
]
