"""The Lambda function of the nightly review: no model keys, no search, no channels."""

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from opencrab import settings
from opencrab.adapters.system_clock import SystemClock
from opencrab.bootstrap.aws.environment import lambda_log
from opencrab.bootstrap.aws.functions import DeployedModels, aws_message_admission
from opencrab.bootstrap.prices import configured_nightly_price_update
from opencrab.engine.learning.nightly.run import run_nightly_review
from opencrab.engine.learning.nightly.schedule import (
    send_learning_reviews_by_sessions,
    send_nightly_learning_reviews,
)
from opencrab.gateways.aws.nightly import NightWorker

if TYPE_CHECKING:
    from opencrab.adapters.providers.transport.exchange import Transport


def lambda_night_worker() -> NightWorker:
    """Build the handler of the hourly schedule and of the queue of nightly reviews."""
    configured = settings.load_settings({})
    logs = lambda_log(configured)
    admitted = aws_message_admission(configured, SystemClock())
    runtime = replace(admitted, directory=cast(DeployedModels, admitted.models))
    price = configured_nightly_price_update(configured, _transport)
    return NightWorker(
        runtime,
        logs,
        fall=send_nightly_learning_reviews,
        review=send_learning_reviews_by_sessions,
        run=run_nightly_review,
        price=price,
    )


def _transport() -> "Transport":
    """Create the HTTP transport that fetches the price list."""
    from opencrab.adapters.providers.transport.httpx_transport import HttpxTransport, new_client

    return HttpxTransport(new_client())
