"""What OpenSearch Serverless wants of a signature, which AWS's version 4 leaves open.

The service is named `aoss`, and unlike most others it wants the hash of the body as a header of
its own that is signed as well (elasticsearch-dump#1019 met that). The length of the body must not
be signed.
"""

import hashlib
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Protocol

import httpx

SERVICE = "aoss"


class RequestSigner(Protocol):
    """Signs requests to this service in one region."""

    def signed(
        self, request: str, headers: Mapping[str, str], content: str, epoch: float
    ) -> dict[str, str]:
        """The headers with a signature over them, the request's line and the content's hash."""


SignerNow = Callable[[str], RequestSigner]
"""Who signs in a region, asked for each request: temporary credentials lapse within hours."""


def sign_request(
    request: httpx.Request, body: bytes, signer: RequestSigner, now: datetime
) -> dict[str, str]:
    """The headers that sign a request with this body, to be sent with it as they are.

    It must have no parameters, and a path that needs no escapes, as those of our indexes do.
    """
    content = hashlib.sha256(body).hexdigest()
    headers = {"host": request.headers["host"], "x-amz-content-sha256": content}
    line = f"{request.method}\n{request.url.path}\n"
    return signer.signed(line, headers, content, now.timestamp())
