"""Faults: what goes wrong between a client and Discord, at requests that a test names."""

import re
from dataclasses import dataclass, field
from typing import Literal

When = Literal["before", "after"]
"""Before Discord does what is asked, or after it: then only the answer is lost."""


@dataclass(frozen=True)
class Status:
    """An answer that says nothing of Discord's state, such as 500, 502 or 503."""

    status: int = 503
    when: When = "before"


@dataclass(frozen=True)
class Drop:
    """The connection ends without an answer."""

    when: When = "before"


@dataclass(frozen=True)
class Delay:
    """So many seconds of the injected clock pass before or after the effect."""

    seconds: float
    when: When = "before"


@dataclass(frozen=True)
class Limited:
    """429; without `via` it is the network's in front of Discord, with a page instead of JSON."""

    retry_after: float = 1.5
    everywhere: bool = False
    via: bool = True


Fault = Status | Drop | Delay | Limited


@dataclass
class _Planned:
    pattern: re.Pattern[str]
    fault: Fault
    skip: int
    times: int


@dataclass
class Faults:
    """What is planned; each request takes the first plan that fits it."""

    _planned: list[_Planned] = field(default_factory=list)

    def plan(self, pattern: str, fault: Fault, *, skip: int = 0, times: int = 1) -> None:
        """Let requests fail whose `METHOD /path` holds the pattern: so many, after some."""
        self._planned.append(_Planned(re.compile(pattern), fault, skip, times))

    def clear(self) -> None:
        """Let everything go well again."""
        self._planned.clear()

    def take(self, request: str) -> Fault | None:
        """What befalls this request."""
        for planned in self._planned:
            if not planned.times or not planned.pattern.search(request):
                continue
            if planned.skip:
                planned.skip -= 1
                continue
            planned.times -= 1
            return planned.fault
        return None
