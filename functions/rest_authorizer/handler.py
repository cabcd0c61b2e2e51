"""Tells API Gateway whether a request brings a key, before anything bigger starts."""

import gc
from typing import Any

gc.disable()  # what is loaded now stays for good: looking for garbage in it only takes time

from opencrab.bootstrap.aws.rest_authorizer import lambda_rest_authorizer  # noqa: E402

_brings_key = lambda_rest_authorizer()
gc.freeze()
gc.enable()


def handler(event: dict[str, Any], _context: object) -> dict[str, bool]:
    """Authorize one request for API Gateway."""
    return {"isAuthorized": _brings_key(event)}
