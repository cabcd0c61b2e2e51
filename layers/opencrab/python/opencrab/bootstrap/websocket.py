"""WebSocket on both platforms: conversations in the local process, the function on AWS."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from opencrab import settings

if TYPE_CHECKING:
    from opencrab.engine.runtime import Runtime
    from opencrab.gateways.websocket.conversation import LocalTalk
    from opencrab.settings import Settings


def configured_local_websocket(configured: "Settings", runtime: "Runtime") -> "LocalTalk | None":
    """Return WebSocket conversations with this process; None if they are disabled."""
    from opencrab.gateways.websocket.authentication import allowed_websocket_origins
    from opencrab.gateways.websocket.conversation import LocalTalk

    if runtime.home.feed is None or not configured.get("gateway.websocket.enabled"):
        return None
    origins = allowed_websocket_origins(configured.get("gateway.websocket.origins"))
    return LocalTalk(runtime, runtime.home.feed, origins)


def websocket_handler() -> Callable[[Mapping[str, Any]], dict[str, Any] | None]:
    """Build the handler of API Gateway's WebSocket events and of the table's stream."""
    from opencrab.adapters.aws_client import DeferredAwsClient
    from opencrab.adapters.dynamodb.stream import dynamodb_stream_entries
    from opencrab.adapters.system_clock import SystemClock
    from opencrab.adapters.websocket_push import SECONDS, ApiGatewayPush
    from opencrab.bootstrap.aws.environment import aws_setting, lambda_log
    from opencrab.bootstrap.aws.functions import aws_message_admission
    from opencrab.gateways.websocket.authentication import allowed_websocket_origins
    from opencrab.gateways.websocket.aws import Gateway

    configured = settings.load_settings({})
    lambda_log(configured)
    endpoint = aws_setting(configured, "websocket_endpoint")
    client = DeferredAwsClient(
        "apigatewaymanagementapi", read_seconds=SECONDS, attempts=1, endpoint_url=endpoint
    )
    origins = allowed_websocket_origins(configured.get("gateway.websocket.origins"))
    runtime = aws_message_admission(configured, SystemClock())
    return Gateway(runtime, ApiGatewayPush(client), origins, dynamodb_stream_entries)
