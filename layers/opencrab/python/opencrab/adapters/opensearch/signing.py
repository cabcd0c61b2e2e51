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
    """AWS Signature Version 4 for this service in one region."""

    def sign(
        self, request: str, headers: Mapping[str, str], content: str, epoch: float
    ) -> dict[str, str]:
        """Return the headers with a signature over them, the request line and the body's hash."""


SignerNow = Callable[[str], RequestSigner]
"""Who signs in a region, asked for each request: temporary credentials lapse within hours."""


def sign_opensearch_request(
    request: httpx.Request, body: bytes, signer: RequestSigner, now: datetime
) -> dict[str, str]:
    """Return signature headers for a request with this body; send them unchanged.

    The URL must have no query string, and a path without escapes, as those of our indexes are.
    """
    content = hashlib.sha256(body).hexdigest()
    headers = {"host": request.headers["host"], "x-amz-content-sha256": content}
    line = f"{request.method}\n{request.url.path}\n"
    return signer.sign(line, headers, content, now.timestamp())
