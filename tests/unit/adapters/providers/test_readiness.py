"""Which providers answer: asked side by side, remembered for seconds, never waited for too long."""

import threading

from opencrab.adapters.providers.catalogue.configuration import ProviderSettings
from opencrab.adapters.providers.readiness import (
    BAD_SECONDS,
    GOOD_SECONDS,
    OLDEST_SECONDS,
    ProviderReadiness,
)
from opencrab.ports.models.readiness import ProviderHealth

OLLAMA = ProviderSettings("ollama", "ollama")
CLOUD = ProviderSettings("openai", "openai", api_key="sk-1")
PATIENT = 30.0


class Asked:
    """Providers that answer as they are told, and a clock that moves only when told to."""

    def __init__(self) -> None:
        self.now = 0.0
        self.asked: list[str] = []
        self.well = {"ollama": True, "openai": True}
        self.go = threading.Event()
        self.go.set()
        self.readiness = ProviderReadiness(self._probe, clock=lambda: self.now)

    def _probe(self, settings: ProviderSettings, seconds: float) -> ProviderHealth:
        self.asked.append(settings.name)
        assert seconds > 0
        assert self.go.wait(PATIENT)
        return ProviderHealth(ok=self.well[settings.name], latency_ms=1)

    def told(self, *providers: ProviderSettings, wait_seconds: float = PATIENT) -> dict[str, bool]:
        found = self.readiness.answers(providers or (OLLAMA,), wait_seconds=wait_seconds)
        return {name: health.ok for name, health in found.items()}


def test_an_answer_counts_for_a_while_and_a_bad_one_for_less() -> None:
    at = Asked()
    assert at.told() == {"ollama": True}
    at.now = GOOD_SECONDS - 1
    assert at.told() == {"ollama": True}
    assert at.asked == ["ollama"]
    at.now, at.well["ollama"] = GOOD_SECONDS, False
    assert at.told() == {"ollama": False}
    at.now, at.well["ollama"] = GOOD_SECONDS + BAD_SECONDS, True
    assert at.told() == {"ollama": True}
    assert at.asked == ["ollama"] * 3


def test_who_does_not_wait_gets_the_last_answer_and_nobody_is_asked_twice_at_once() -> None:
    at = Asked()
    at.told()
    at.now = GOOD_SECONDS
    at.go.clear()
    at.well["ollama"] = False
    for _ in range(3):
        assert at.told(wait_seconds=0) == {"ollama": True}
    assert len(at.asked) == 2
    at.now = OLDEST_SECONDS
    assert at.told(wait_seconds=0) == {}
    at.go.set()
    assert at.told() == {"ollama": False}


def test_a_provider_that_says_nothing_delays_no_other() -> None:
    at = Asked()
    at.go.clear()
    assert at.told(OLLAMA, CLOUD, wait_seconds=0) == {}
    at.go.set()
    assert at.told(OLLAMA, CLOUD) == {"ollama": True, "openai": True}


def test_who_wants_the_newest_answer_asks_again_and_gets_no_older_one() -> None:
    at = Asked()
    at.told()
    at.now, at.well["ollama"] = 2.0, False
    fresh = {"wait_seconds": PATIENT, "newer_than_seconds": 1.0}
    assert not at.readiness.answers((OLLAMA,), **fresh)["ollama"].ok
    at.now = 10.0
    at.go.clear()
    assert at.readiness.answers((OLLAMA,), wait_seconds=0, newer_than_seconds=1.0) == {}
    at.go.set()


def test_another_key_is_another_question() -> None:
    at = Asked()
    at.told(CLOUD)
    at.told(ProviderSettings("openai", "openai", api_key="sk-2"))
    assert at.asked == ["openai", "openai"]
