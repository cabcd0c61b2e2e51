"""Answers REST requests that come through the HTTP API."""

import gc
from typing import Any

gc.disable()  # what is loaded now stays for good: looking for garbage in it only takes time

from opencrab.bootstrap.aws.cold_start import prepare_cold_start  # noqa: E402

prepare_cold_start()

from opencrab.bootstrap.aws.functions import lambda_rest_handler  # noqa: E402

_answer = lambda_rest_handler()
gc.freeze()
gc.enable()


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Handle one HTTP request from API Gateway."""
    return _answer(event, context)
