"""What can go wrong on the way to AWS: answers that say no, and answers that never come."""

import json
from collections.abc import Callable, Iterator
from io import BytesIO

from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.exceptions import ConnectTimeoutError, ReadTimeoutError

Go = Callable[[], AWSResponse | None]
Fault = Callable[[AWSPreparedRequest, Go], AWSResponse | None]
"""What becomes of one attempt: an answer instead of AWS's, or an exception; `go` asks AWS."""


def refuses(status: int, code: str, message: str = "made up") -> Fault:
    """AWS does nothing and says why (not for S3, which speaks XML)."""
    return lambda request, go: error_response(request, status, code, message)


def never_arrives(request: AWSPreparedRequest, go: Go) -> AWSResponse | None:
    """The connection fails; AWS hears nothing."""
    raise ConnectTimeoutError(endpoint_url=request.url)


def answer_is_lost(request: AWSPreparedRequest, go: Go) -> AWSResponse | None:
    """AWS does what it was asked for; its answer does not come."""
    go()
    raise ReadTimeoutError(endpoint_url=request.url)


def error_response(
    request: AWSPreparedRequest, status: int, code: str, message: str
) -> AWSResponse:
    """An error in the JSON of SQS, SSM, Secrets Manager and DynamoDB."""
    content = json.dumps({"__type": f"com.amazonaws#{code}", "message": message}).encode()
    return response_of(request, status, content, {"x-amzn-query-error": f"{code};Sender"})


def response_of(
    request: AWSPreparedRequest, status: int, content: bytes, headers: dict[str, str] | None = None
) -> AWSResponse:
    """An answer as botocore receives it."""
    return AWSResponse(request.url, status, headers or {}, _Raw(content))


class _Raw(BytesIO):
    def stream(self, **_: object) -> Iterator[bytes]:
        """The body at once, as botocore wants to read it."""
        yield self.read()
