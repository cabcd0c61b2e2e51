"""The Lambda function of the nightly review: no model keys, no search, no channels."""

from collections.abc import Callable
from dataclasses import replace
from threading import Event
from typing import TYPE_CHECKING, cast

from opencrab import settings
from opencrab.adapters.lambda_runtime.start import start_lambda_function
from opencrab.adapters.system_clock import SystemClock
from opencrab.bootstrap.aws.deployed_models import DeployedModels
from opencrab.bootstrap.aws.environment import lambda_log
from opencrab.bootstrap.aws.functions import aws_message_admission
from opencrab.bootstrap.aws.uploaded_settings import FollowingFunction, UploadedSettings
from opencrab.bootstrap.prices import configured_nightly_price_update
from opencrab.engine.learning.nightly.run import run_nightly_review
from opencrab.engine.learning.nightly.schedule import (
    send_learning_reviews_by_sessions,
    send_nightly_learning_reviews,
)
from opencrab.gateways.aws.night_calls import NightCalls
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
            calls=NightCalls(
                start_lambda_function,
                int(configured.get("aws.night_functions")),
                pause=Event().wait,
            ),
        )

    return FollowingFunction(build, uploaded).current


def _transport() -> "Transport":
    """Create the HTTP transport that fetches the price list."""
    from opencrab.adapters.providers.transport.http_connections import HttpConnections
    from opencrab.adapters.providers.transport.http_transport import HttpTransport

    return HttpTransport(HttpConnections())
