"""Tells API Gateway whether a request brings a key, before anything bigger starts."""

from typing import Any

from opencrab.bootstrap.rest_authorizer import rest_authorizer

_brings_key = rest_authorizer()


def handler(event: dict[str, Any], _context: object) -> dict[str, bool]:
    """Answer one request for access."""
    return {"isAuthorized": _brings_key(event)}
