"""Version, methods, states and error codes of A2A, the same for both of its sides.

Source: the specification of A2A 1.0 and its definition `a2a.proto`.
"""

from enum import IntEnum, StrEnum

A2A_VERSION = "1.0"
"""The version that is spoken; patch numbers do not count."""

A2A_VERSION_OF_SILENCE = "0.3"
"""The version of a request that names none."""

A2A_VERSION_HEADER = "A2A-Version"
A2A_BINDING = "JSONRPC"
A2A_CARD_PATH = "/.well-known/agent-card.json"
A2A_ERROR_DOMAIN = "a2a-protocol.org"

A2A_HOPS = "urn:opencrab:hops"
"""The extension by which a message says how many agents it has passed through.

Its key in a message's metadata is the same.
"""

MOST_A2A_HOPS = 10
"""A message that has passed through so many agents is neither sent nor accepted."""


class A2aMethod(StrEnum):
    """The methods of the JSON-RPC binding that are carried out."""

    SEND = "SendMessage"
    STREAM = "SendStreamingMessage"
    GET = "GetTask"
    LIST = "ListTasks"
    CANCEL = "CancelTask"
    SUBSCRIBE = "SubscribeToTask"
    EXTENDED_CARD = "GetExtendedAgentCard"


A2A_PUSH_METHODS = frozenset(
    {
        "CreateTaskPushNotificationConfig",
        "GetTaskPushNotificationConfig",
        "ListTaskPushNotificationConfigs",
        "DeleteTaskPushNotificationConfig",
    }
)


class A2aTaskState(StrEnum):
    """The states of a task."""

    SUBMITTED = "TASK_STATE_SUBMITTED"
    WORKING = "TASK_STATE_WORKING"
    INPUT_REQUIRED = "TASK_STATE_INPUT_REQUIRED"
    AUTH_REQUIRED = "TASK_STATE_AUTH_REQUIRED"
    COMPLETED = "TASK_STATE_COMPLETED"
    FAILED = "TASK_STATE_FAILED"
    CANCELED = "TASK_STATE_CANCELED"
    REJECTED = "TASK_STATE_REJECTED"

    @property
    def is_end(self) -> bool:
        """True if a task in this state never changes again."""
        return self in _ENDS


_ENDS = frozenset(
    {A2aTaskState.COMPLETED, A2aTaskState.FAILED, A2aTaskState.CANCELED, A2aTaskState.REJECTED}
)


class A2aErrorCode(IntEnum):
    """Codes of JSON-RPC 2.0, and what A2A adds to them."""

    PARSE_ERROR = -32700
    INVALID_REQUEST = -32600
    METHOD_NOT_FOUND = -32601
    INVALID_PARAMS = -32602
    INTERNAL_ERROR = -32603
    TASK_NOT_FOUND = -32001
    TASK_NOT_CANCELABLE = -32002
    PUSH_NOTIFICATION_NOT_SUPPORTED = -32003
    UNSUPPORTED_OPERATION = -32004
    CONTENT_TYPE_NOT_SUPPORTED = -32005
    VERSION_NOT_SUPPORTED = -32009


def is_a2a_version_spoken(said: str) -> bool:
    """Check whether a version that a request names is the one that is spoken."""
    parts = (said.strip() or A2A_VERSION_OF_SILENCE).split(".")
    return parts[:2] == A2A_VERSION.split(".") and all(part.isdigit() for part in parts)
