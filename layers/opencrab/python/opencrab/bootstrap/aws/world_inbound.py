"""The Lambda function that receives messages from worlds."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opencrab.bootstrap.aws.uploaded_settings import UploadedSettings
    from opencrab.engine.runtime import Runtime
    from opencrab.settings import Settings


def lambda_world_receiver(
    uploaded: "UploadedSettings | None" = None,
) -> Callable[[Mapping[str, Any], Any], dict[str, Any]]:
    """Build the handler of the queue of messages from worlds."""
    from opencrab import settings
    from opencrab.adapters.system_clock import SystemClock
    from opencrab.adapters.world_bus import world_envelope_of_eventbridge_event
    from opencrab.bootstrap.aws.environment import aws_setting, lambda_log
    from opencrab.bootstrap.aws.functions import LaterSecrets, aws_message_admission
    from opencrab.bootstrap.aws.uploaded_settings import FollowingFunction
    from opencrab.bootstrap.world import configured_world_link
    from opencrab.gateways.world.inbound import world_messages_from_queue

    logs = lambda_log(settings.load_settings({}))

    def build(configured: "Settings", load: Callable[..., "Settings"]) -> "Runtime":
        clock = SystemClock()
        secrets = LaterSecrets(aws_setting(configured, "secrets"), clock)
        world = configured_world_link(configured, secrets)
        return replace(aws_message_admission(configured, clock, load), world=world)

    function = FollowingFunction(build, uploaded)

    def receive(event: Mapping[str, Any], _context: Any) -> dict[str, Any]:
        logs.set_context()
        runtime = function.current()
        return world_messages_from_queue(runtime, event, world_envelope_of_eventbridge_event)

    return receive
