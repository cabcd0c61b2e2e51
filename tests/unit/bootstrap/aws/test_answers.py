"""Who may get words from a worker: connections, where there is a WebSocket API."""

import pytest

from opencrab.bootstrap.aws import functions
from opencrab.domain.access.authority import Scope
from opencrab.domain.identifier import content_hash
from opencrab.gateways.websocket.answer_pushing import AnswerPusher
from opencrab.ports.conversation.answers import NoWatchers
from tests.unit.bootstrap.aws.test_functions import environment

__all__ = ["environment"]


@pytest.mark.parametrize("endpoint", ["", "https://api.example.org/prod"])
def test_a_worker_sends_words_while_they_arrive_where_there_is_a_websocket_api(
    environment: pytest.MonkeyPatch, endpoint: str
) -> None:
    environment.setenv("OPENCRAB_AWS__WEBSOCKET_ENDPOINT", endpoint)
    runtime = functions.lambda_turn_worker()()._runtime
    assert isinstance(runtime.answers, AnswerPusher if endpoint else NoWatchers)
    assert runtime.rules.stop_check_ms == 1_000
    assert runtime.rules.answer_part_ms >= 250


def test_the_owner_of_a_deployment_is_known_to_its_worker(environment: pytest.MonkeyPatch) -> None:
    digest = content_hash(b"oc_owner")
    environment.setenv("OPENCRAB_AWS__WEBSOCKET_ENDPOINT", "https://api.example.org/prod")
    environment.setenv("OPENCRAB_AWS__OWNER_KEY_HASH", digest)
    key = functions.lambda_turn_worker()()._runtime.home.keys.find(digest)
    assert key is not None
    assert key.principal.scope is Scope.OWNER
