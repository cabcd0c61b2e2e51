"""The Lambda function of the nightly review: no model keys, no search, no channels."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from opencrab import settings
from opencrab.adapters.system_clock import SystemClock
from opencrab.bootstrap.aws.deployed_models import DeployedModels
from opencrab.bootstrap.aws.environment import lambda_log
from opencrab.bootstrap.aws.functions import aws_message_admission
from opencrab.bootstrap.aws.uploaded_settings import FollowingFunction, UploadedSettings
from opencrab.bootstrap.prices import configured_nightly_price_update
from opencrab.domain.errors import Unavailable
from opencrab.engine.learning.nightly.run import run_nightly_review
from opencrab.engine.learning.nightly.schedule import (
    send_learning_reviews_by_sessions,
    send_nightly_learning_reviews,
)
from opencrab.gateways.aws.nightly import NightWorker

if TYPE_CHECKING:
    from opencrab.adapters.providers.transport.exchange import Transport
    from opencrab.settings import Settings


def lambda_night_worker(uploaded: UploadedSettings | None = None) -> Callable[[], NightWorker]:
    """Build the handler of the hourly schedule and of the queue of nightly reviews."""
    logs = lambda_log(settings.load_settings({}))

    def build(configured: "Settings", load: Callable[..., "Settings"]) -> NightWorker:
        admitted = aws_message_admission(configured, SystemClock(), load)
        return NightWorker(
            replace(admitted, directory=cast(DeployedModels, admitted.models)),
            logs,
            fall=send_nightly_learning_reviews,
            review=send_learning_reviews_by_sessions,
            run=run_nightly_review,
            price=configured_nightly_price_update(configured, _transport),
            call=_start_function,
        )

    return FollowingFunction(build, uploaded).current


def _start_function(name: str, event: Mapping[str, Any]) -> None:
    """Start a function beside this one; raises Unavailable."""
    from opencrab.adapters.aws_client import (
        AWS_ERRORS,
        aws_service_client,
    )

    try:
        aws_service_client("lambda", attempts=1).invoke(
            FunctionName=name, InvocationType="Event", Payload=json.dumps(event).encode()
        )
    except AWS_ERRORS as error:
        raise Unavailable(f"function {name!r} was not started: {error}") from error


def _transport() -> "Transport":
    """Create the HTTP transport that fetches the price list."""
    from opencrab.adapters.providers.transport.httpx_transport import HttpxTransport, new_client

    return HttpxTransport(new_client())
