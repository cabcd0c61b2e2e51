"""Readiness: which providers answer now, asked at most once in some seconds and remembered.

Nobody waits longer than they say: a provider that is asked meanwhile counts with its last answer.
"""

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from opencrab.adapters.providers.catalogue.configuration import ProviderSettings
from opencrab.ports.models.readiness import ProviderHealth

GOOD_SECONDS = 30.0
"""How long a good answer counts before the provider is asked again."""

BAD_SECONDS = 5.0
"""The same for a bad one, since a server may be starting."""

OLDEST_SECONDS = 120.0
"""An answer that is older than this is not told any more, even while the provider is asked."""

PROBE_SECONDS = 2.0
"""How long a provider may take to answer."""


@dataclass
class _Answer:
    """The last answer of a provider with these settings; `asking` until the next one is there."""

    settings: ProviderSettings
    health: ProviderHealth | None = None
    at: float = 0.0
    asking: threading.Event | None = None

    def is_fresh(self, now: float, newer_than_seconds: float | None) -> bool:
        """Check whether the provider need not be asked again."""
        if self.health is None:
            return False
        seconds = GOOD_SECONDS if self.health.ok else BAD_SECONDS
        return now - self.at < min(seconds, newer_than_seconds or seconds)


class ProviderReadiness:
    """The last answer of each provider; `probe` asks one and never raises."""

    def __init__(
        self,
        probe: Callable[[ProviderSettings, float], ProviderHealth],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._probe = probe
        self._clock = clock
        self._lock = threading.Lock()
        self._answers: dict[str, _Answer] = {}

    def answers(
        self,
        providers: Iterable[ProviderSettings],
        *,
        wait_seconds: float,
        newer_than_seconds: float | None = None,
    ) -> dict[str, ProviderHealth]:
        """Return the answers by provider, asking side by side those whose answer is too old.

        A provider that has not answered within `wait_seconds` is left out, unless it answered a
        short while ago.
        """
        oldest = OLDEST_SECONDS if newer_than_seconds is None else newer_than_seconds + wait_seconds
        asked = [self._asked(settings, newer_than_seconds) for settings in providers]
        deadline = self._clock() + wait_seconds
        for answer in asked:
            if (asking := answer.asking) is not None:
                asking.wait(max(deadline - self._clock(), 0.0))
        now = self._clock()
        return {
            answer.settings.name: answer.health
            for answer in asked
            if answer.health is not None and now - answer.at < oldest
        }

    def _asked(self, settings: ProviderSettings, newer_than_seconds: float | None) -> _Answer:
        """Return the answer of a provider, which is being asked again if it is too old."""
        with self._lock:
            answer = self._answers.get(settings.name)
            if answer is None or answer.settings != settings:
                # What another address or another key answered says nothing about these.
                answer = self._answers[settings.name] = _Answer(settings)
            if answer.asking is None and not answer.is_fresh(self._clock(), newer_than_seconds):
                answer.asking = threading.Event()
                threading.Thread(
                    target=self._ask, args=(answer, answer.asking), name="readiness", daemon=True
                ).start()
            return answer

    def _ask(self, answer: _Answer, done: threading.Event) -> None:
        try:
            answer.health = self._probe(answer.settings, PROBE_SECONDS)
            answer.at = self._clock()
        finally:
            answer.asking = None
            done.set()
