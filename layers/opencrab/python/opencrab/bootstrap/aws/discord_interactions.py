"""The Lambda function that handles Discord's interactions from their queue."""

from collections.abc import Callable, Mapping
from typing import Any

from opencrab.bootstrap.aws.functions import lambda_turn_worker
from opencrab.gateways.discord.interactions.worker import handle_interaction


def aws_discord_interaction_worker() -> Callable[[Mapping[str, Any], Any], dict[str, Any]]:
    """Build the handler of the interactions queue; no other function imports its code."""
    made = lambda_turn_worker()
    return lambda event, context: made().run_interactions(event, context, handle_interaction)
