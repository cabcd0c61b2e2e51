"""Readiness: which providers answer, as they said lately, without a call that costs anything."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from opencrab.domain.models.fault import Fault


@dataclass(frozen=True)
class ProviderHealth:
    """The result of a health check; `models` are the listed ids, None if it lists none.

    `dated` is the time that the provider's own clock shows, None if it does not say so. `fault` is
    the reason of a call that failed, None if none was made.
    """

    ok: bool
    latency_ms: int
    problem: str = ""
    cure: str = ""
    models: tuple[str, ...] | None = None
    dated: datetime | None = None
    fault: Fault | None = None


@dataclass(frozen=True)
class ProviderState:
    """A configured provider; `missing` is what it lacks, "" if it can be used.

    `key_name` is the name of the secret with its key, "" if it takes no key. `configured_url` is
    its address without an owner's change.
    """

    name: str
    kind: str
    base_url: str = ""
    enabled: bool = True
    private: bool = False
    has_key: bool = False
    missing: str = ""
    default_model: str = ""
    key_name: str = ""
    configured_url: str = ""


class Readiness(Protocol):
    """What providers answered lately."""

    def readiness(
        self,
        providers: Iterable[str] | None = None,
        *,
        wait_seconds: float,
        newer_than_seconds: float | None = None,
    ) -> Mapping[str, ProviderHealth]:
        """Return what usable providers answered, of all or of these, asked side by side.

        Answers are remembered for some seconds, or for less with `newer_than_seconds`. A provider
        that says nothing within `wait_seconds` is left out.
        """
