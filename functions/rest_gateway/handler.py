"""Answers REST requests that come through the HTTP API."""

from typing import Any

from opencrab.bootstrap.aws import rest_handler

_answer = rest_handler()


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Answer one request."""
    return _answer(event, context)
