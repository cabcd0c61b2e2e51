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
    """Create a botocore client; region and credentials default to the function's own.

    `given` are botocore's parameters: region_name, endpoint_url, aws_access_key_id and so on. Pass
    `attempts=1` for operations that must not be repeated: an unknown outcome is then an error.
    """
    config = Config(
        user_agent=USER_AGENT,
        connect_timeout=CONNECT_SECONDS,
        read_timeout=read_seconds,
        retries={"mode": "standard", "total_max_attempts": attempts},
    )
    return _session().create_client(service, config=config, **given)


def aws_process_credentials(profile: str = "") -> Any:
    """Return this process's AWS credentials, or a profile's, for requests sent without botocore.

    Call it for each request: a function's credentials expire within hours. Raises Unavailable if
    there are none.
    """
    found = (_session_of_profile(profile) if profile else _session()).get_credentials()
    if found is None:
        raise Unavailable(
            "this process has no AWS credentials", cure="give it valid AWS credentials"
        )
    return found.get_frozen_credentials()


class DeferredAwsClient:
    """An AWS client that is created on first use, since most invocations need few clients."""

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
    """Return AWS's error code without its prefix, or the exception's class name."""
    if isinstance(error, ClientError):
        code = str(error.response.get("Error", {}).get("Code", "") or "unknown")
        return code.rpartition(".")[2]
    return type(error).__name__


def aws_error_text(error: Exception) -> str:
    """Return AWS's error message; log it only, since it may name accounts."""
    if isinstance(error, ClientError):
        return str(error.response.get("Error", {}).get("Message", ""))
    return str(error)


def is_aws_forbidden(error: Exception) -> bool:
    """Check whether the function's role lacks a permission."""
    return aws_error_code(error) in _FORBIDDEN


def aws_unavailable_error(what: str, error: Exception, *, permissions: str) -> Unavailable:
    """Return Unavailable for an AWS call that may succeed later or once an operator acts."""
    code = aws_error_code(error)
    if is_aws_forbidden(error):
        cure = f"allow {permissions} on it to the function's role"
    elif code in _UNKNOWN_CALLER:
        cure = "give this process valid AWS credentials"
    else:
        cure = "wait and try again"
    return Unavailable(f"{what} is unavailable: {code}", cure=cure)


@cache
def _session() -> Any:
    return botocore.session.get_session()


@cache
def _session_of_profile(profile: str) -> Any:
    return botocore.session.Session(profile=profile)
