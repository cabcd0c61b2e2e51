"""The Lambda function that receives messages from worlds."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any


def lambda_world_receiver() -> Callable[[Mapping[str, Any], Any], dict[str, Any]]:
    """Build the handler of the queue of messages from worlds."""
    from opencrab import settings
    from opencrab.adapters.system_clock import SystemClock
    from opencrab.adapters.world_bus import world_envelope_of_eventbridge_event
    from opencrab.bootstrap.aws.environment import aws_setting, lambda_log
    from opencrab.bootstrap.aws.functions import LaterSecrets, aws_message_admission
    from opencrab.bootstrap.world import configured_world_link
    from opencrab.gateways.world.inbound import world_messages_from_queue

    configured = settings.load_settings({})
    clock = SystemClock()
    logs = lambda_log(configured)
    secrets = LaterSecrets(aws_setting(configured, "secrets"), clock)
    runtime = replace(
        aws_message_admission(configured, clock), world=configured_world_link(configured, secrets)
    )

    def receive(event: Mapping[str, Any], _context: Any) -> dict[str, Any]:
        logs.set_context()
        return world_messages_from_queue(runtime, event, world_envelope_of_eventbridge_event)

    return receive
