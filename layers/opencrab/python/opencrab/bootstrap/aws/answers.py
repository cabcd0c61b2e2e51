"""What a worker on AWS sends to the connections of a WebSocket API while an answer arrives."""

from concurrent.futures import ThreadPoolExecutor

from opencrab.adapters.aws_client import DeferredAwsClient
from opencrab.adapters.websocket_push import SECONDS, ApiGatewayPush
from opencrab.engine.runtime import Runtime
from opencrab.gateways.websocket.answer_pushing import AnswerPusher
from opencrab.gateways.websocket.pushing import AT_ONCE


def aws_answer_pusher(endpoint: str, runtime: Runtime) -> AnswerPusher:
    """Build what sends the words of running model calls; it connects when somebody watches."""
    client = DeferredAwsClient(
        "apigatewaymanagementapi", read_seconds=SECONDS, attempts=1, endpoint_url=endpoint
    )
    pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="answer")
    return AnswerPusher(runtime, ApiGatewayPush(client), pool)
