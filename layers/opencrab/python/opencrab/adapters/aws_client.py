"""Clients of AWS: one session, standard retries, and timeouts that fit a Lambda function.

Plumbing that every adapter on AWS may use; it knows none of them, and no service.
"""

from functools import cache
from threading import Lock
from typing import Any

import botocore.session
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from opencrab.domain.errors import Unavailable

AWS_ERRORS: tuple[type[Exception], ...] = (ClientError, BotoCoreError)
"""What a call may raise: an answer that says no, or no answer."""

CONNECT_SECONDS = 2
READ_SECONDS = 10
"""An answer that takes longer is asked for again."""

ATTEMPTS = 3

USER_AGENT = "opencrab"
"""Who calls; botocore would describe itself, its system and its features anew for every call."""

_FORBIDDEN = frozenset({"AccessDenied", "AccessDeniedException", "KmsAccessDenied"})
_UNKNOWN_CALLER = frozenset(
    {
        "ExpiredToken",
        "ExpiredTokenException",
        "InvalidClientTokenId",
        "NoCredentialsError",
        "PartialCredentialsError",
        "UnrecognizedClientException",
    }
)


def aws_service_client(
    service: str, *, read_seconds: float = READ_SECONDS, attempts: int = ATTEMPTS, **given: str
) -> Any:
    """A client of one service; region and credentials come from the function unless given.

    What must not be done twice has one attempt; whatever it cannot know then is an error.
    `given` are botocore's own names: region_name, endpoint_url, aws_access_key_id and so on.
    """
    config = Config(
        user_agent=USER_AGENT,
        connect_timeout=CONNECT_SECONDS,
        read_timeout=read_seconds,
        retries={"mode": "standard", "total_max_attempts": attempts},
    )
    return _session().create_client(service, config=config, **given)


def aws_process_credentials() -> Any:
    """Who this process is now, for requests that no client of botocore's sends.

    Asked for each request: a function's credentials lapse within hours.
    """
    found = _session().get_credentials()
    if found is None:
        raise Unavailable(
            "this process has no AWS credentials", cure="give it valid AWS credentials"
        )
    return found.get_frozen_credentials()


class Deferred:
    """A client that is made when it is first used: most calls of a function need few of them."""

    def __init__(self, service: str, **given: Any) -> None:
        self._service = service
        self._given = given
        self._lock = Lock()
        self._client: Any = None

    def __getattr__(self, name: str) -> Any:
        with self._lock:
            if self._client is None:
                self._client = aws_service_client(self._service, **self._given)
        return getattr(self._client, name)


def aws_error_code(error: Exception) -> str:
    """What went wrong, in one word: AWS's code without its family, else the exception's name."""
    if isinstance(error, ClientError):
        code = str(error.response.get("Error", {}).get("Code", "") or "unknown")
        return code.rpartition(".")[2]
    return type(error).__name__


def aws_error_text(error: Exception) -> str:
    """What AWS says in words; it may name accounts, so that it is for looking at, not showing."""
    if isinstance(error, ClientError):
        return str(error.response.get("Error", {}).get("Message", ""))
    return str(error)


def is_aws_forbidden(error: Exception) -> bool:
    """Whether the function's role lacks a permission."""
    return aws_error_code(error) in _FORBIDDEN


def aws_unavailable_error(what: str, error: Exception, *, permissions: str) -> Unavailable:
    """The error for anything that may pass by itself, or once an operator has helped."""
    code = aws_error_code(error)
    if is_aws_forbidden(error):
        cure = f"allow {permissions} on it to the function's role"
    elif code in _UNKNOWN_CALLER:
        cure = "give this process valid AWS credentials"
    else:
        cure = "wait and try again"
    return Unavailable(f"{what} does not answer: {code}", cure=cure)


@cache
def _session() -> Any:
    return botocore.session.get_session()
