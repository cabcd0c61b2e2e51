"""Starting a Lambda function, once, without waiting for it."""

import json
from collections.abc import Mapping
from typing import Any

from opencrab.domain.errors import NeverSent, Unavailable

_SERVICE_FAILED = 500


def start_lambda_function(name: str, event: Mapping[str, Any], **given: Any) -> None:
    """Start a function beside this one; `given` are botocore's parameters.

    Raises NeverSent if it surely was not started, and Unavailable if it perhaps was.
    """
    # A night with few reviews calls nothing, and loads no client.
    from botocore.exceptions import (  # type: ignore[import-untyped, unused-ignore] # noqa: PLC0415
        ClientError,
        ConnectionClosedError,
        HTTPClientError,
        ReadTimeoutError,
    )

    from opencrab.adapters.aws_client import (  # noqa: PLC0415
        AWS_ERRORS,
        aws_error_code,
        aws_service_client,
    )

    try:
        aws_service_client("lambda", attempts=1, **given).invoke(
            FunctionName=name, InvocationType="Event", Payload=json.dumps(event).encode()
        )
    except AWS_ERRORS as error:
        said = f"function {name!r} was not started: {aws_error_code(error)}"
        if isinstance(error, ClientError):
            # A refusal says that nothing was done; a failure of the service does not.
            is_sent = error.response["ResponseMetadata"]["HTTPStatusCode"] >= _SERVICE_FAILED
        else:
            is_sent = isinstance(error, ReadTimeoutError | ConnectionClosedError) or (
                type(error) is HTTPClientError
            )
        raise (Unavailable if is_sent else NeverSent)(said) from error
