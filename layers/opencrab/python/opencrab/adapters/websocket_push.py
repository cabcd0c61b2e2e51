"""Pushing through API Gateway: what its management API does with connections that it holds open.

What is sent again may arrive twice, so that its client has one attempt for each call.
"""

from typing import Any

from botocore.exceptions import ConnectionClosedError

from opencrab.adapters.aws_client import AWS_ERRORS, aws_error_code, aws_unavailable_error
from opencrab.domain.errors import NotFound, Unavailable

SECONDS = 3.0
"""A connection that takes nothing for so long is cut, or gets no more of an arriving answer."""

_GONE = {"GoneException", "410"}
_PERMISSIONS = "execute-api:ManageConnections"


class ApiGatewayPush:
    """`ports.conversation.push.Push` by API Gateway's `apigatewaymanagementapi`."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def send(self, connection_id: str, text: str) -> None:
        try:
            self._post(connection_id, text.encode())
        except AWS_ERRORS as error:
            if aws_error_code(error) in _GONE:
                raise NotFound(f"WebSocket connection {connection_id!r} is closed") from error
            raise _unavailable(connection_id, error) from error

    def disconnect(self, connection_id: str) -> None:
        try:
            self._client.delete_connection(ConnectionId=connection_id)
        except AWS_ERRORS as error:
            if aws_error_code(error) not in _GONE:
                raise _unavailable(connection_id, error) from error

    def _post(self, connection_id: str, text: bytes) -> None:
        try:
            self._client.post_to_connection(ConnectionId=connection_id, Data=text)
        except ConnectionClosedError:
            # A frozen function's idle connections to AWS are dropped: nobody has read this.
            self._client.post_to_connection(ConnectionId=connection_id, Data=text)


def _unavailable(connection_id: str, error: Exception) -> Unavailable:
    what = f"WebSocket connection {connection_id!r}"
    return aws_unavailable_error(what, error, permissions=_PERMISSIONS)
