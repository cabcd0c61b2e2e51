"""WebSocket on both platforms: conversations in the local process, the function on AWS."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from opencrab import settings

if TYPE_CHECKING:
    from opencrab.bootstrap.aws.uploaded_settings import UploadedSettings
    from opencrab.engine.runtime import Runtime
    from opencrab.gateways.websocket.conversation import Conversation, LocalTalk
    from opencrab.ports.conversation.feed import ChangeFeed
    from opencrab.settings import Settings


class LaterLocalTalk:
    """WebSocket conversations with this process, loaded with the first."""

    def __init__(self, runtime: "Runtime", feed: "ChangeFeed", origins: object) -> None:
        self._opened = cache(lambda: _local_talk(runtime, feed, origins))

    def enter(self, headers: Mapping[str, str], query: str) -> "Conversation":
        """Begin a conversation with the caller; raises Refused, Unauthenticated."""
        return self._opened().enter(headers, query)


def configured_local_websocket(
    configured: "Settings", runtime: "Runtime"
) -> "LaterLocalTalk | None":
    """Return WebSocket conversations with this process; None if they are disabled."""
    if runtime.home.feed is None or not configured.get("gateway.websocket.enabled"):
        return None
    origins = configured.get("gateway.websocket.origins")
    return LaterLocalTalk(runtime, runtime.home.feed, origins)


def _local_talk(runtime: "Runtime", feed: "ChangeFeed", origins: object) -> "LocalTalk":
    from opencrab.gateways.websocket.authentication import allowed_websocket_origins
    from opencrab.gateways.websocket.conversation import LocalTalk

    return LocalTalk(runtime, feed, allowed_websocket_origins(origins))


def websocket_handler(
    uploaded: "UploadedSettings | None" = None,
) -> Callable[[Mapping[str, Any]], dict[str, Any] | None]:
    """Build the handler of API Gateway's WebSocket events and of the table's stream."""
    from opencrab.adapters.aws_client import DeferredAwsClient
    from opencrab.adapters.dynamodb.stream import dynamodb_stream_entries
    from opencrab.adapters.system_clock import SystemClock
    from opencrab.adapters.websocket_push import SECONDS, ApiGatewayPush
    from opencrab.bootstrap.aws.environment import aws_setting, lambda_log
    from opencrab.bootstrap.aws.functions import aws_message_admission
    from opencrab.bootstrap.aws.uploaded_settings import FollowingFunction
    from opencrab.gateways.websocket.authentication import allowed_websocket_origins
    from opencrab.gateways.websocket.aws import Gateway

    found = settings.load_settings({})
    lambda_log(found)
    endpoint = aws_setting(found, "websocket_endpoint")
    client = DeferredAwsClient(
        "apigatewaymanagementapi", read_seconds=SECONDS, attempts=1, endpoint_url=endpoint
    )

    def build(configured: "Settings", load: Callable[..., "Settings"]) -> Gateway:
        origins = allowed_websocket_origins(configured.get("gateway.websocket.origins"))
        runtime = aws_message_admission(configured, SystemClock(), load)
        return Gateway(runtime, ApiGatewayPush(client), origins, dynamodb_stream_entries)

    function = FollowingFunction(build, uploaded)

    def handle(event: Mapping[str, Any]) -> dict[str, Any] | None:
        return function.current()(event)

    return handle
