"""The examination of a running installation: checks side by side, each with a deadline.

It changes nothing, and asks a model only if told to. What does not answer in time is a finding.
"""

import logging
import threading
from collections.abc import Sequence

from opencrab.domain.errors import OpenCrabError
from opencrab.domain.value import Language
from opencrab.engine.discord.diagnosis import Check
from opencrab.engine.discord.setup import BotApplication
from opencrab.engine.installation.discord_checks import check_installation_discord
from opencrab.engine.installation.findings import Findings, Look, no_further_installation_checks
from opencrab.engine.installation.mcp_checks import check_installation_mcp
from opencrab.engine.installation.model_checks import ASK_SECONDS, ModelChecks
from opencrab.engine.installation.search_checks import check_installation_search
from opencrab.engine.installation.work_checks import (
    check_installation_spending,
    check_installation_switches,
)
from opencrab.engine.runtime import Runtime

log = logging.getLogger(__name__)

DEADLINE_SECONDS = 2.2
"""How long all checks may take together; `doctor` answers within 3 seconds."""


def installation_health_checks(
    runtime: Runtime,
    application: BotApplication,
    language: Language,
    of_machine: Look = no_further_installation_checks,
    *,
    asks_models: bool = False,
) -> tuple[Check, ...]:
    """Return all checks of a running installation; `of_machine` are those of its computer.

    With `asks_models` each chosen model is asked for a few tokens, which costs money.
    """
    models = ModelChecks(runtime)
    looks: dict[str, Look] = {
        "machine": of_machine,
        "model": models.ask if asks_models else models.check,
        "switches": lambda findings: check_installation_switches(runtime, findings),
        "spending": lambda findings: check_installation_spending(runtime, findings),
        "search": lambda findings: check_installation_search(runtime, findings),
        "discord": lambda findings: check_installation_discord(runtime, application, findings),
    }
    if runtime.mcp is not None and runtime.mcp.sign_ins is not None:
        looks["mcp"] = lambda findings: check_installation_mcp(runtime, findings)
    seconds = DEADLINE_SECONDS + (ASK_SECONDS if asks_models else 0)
    return run_installation_checks_concurrently(looks, Findings(language), seconds)


def run_installation_checks_concurrently(
    looks: dict[str, Look], findings: Findings, seconds: float
) -> tuple[Check, ...]:
    """Return what each look found, in order; one that is not done in time or fails is a finding."""
    runs = [_Run(name, look, findings) for name, look in looks.items()]
    deadline = threading.Event()
    timer = threading.Timer(seconds, deadline.set)
    timer.daemon = True
    timer.start()
    found: list[Check] = []
    for run in runs:
        found += run.result(deadline)
    timer.cancel()
    return tuple(found)


class _Run:
    """One look in a thread of its own."""

    def __init__(self, name: str, look: Look, findings: Findings) -> None:
        self._name = name
        self._look = look
        self._findings = findings
        self._found: Sequence[Check] | None = None
        self._thread = threading.Thread(target=self._run, name=f"check-{name}", daemon=True)
        self._thread.start()

    def result(self, deadline: threading.Event) -> Sequence[Check]:
        """Return what was found, or that nothing was before the deadline."""
        while self._thread.is_alive() and not deadline.is_set():
            self._thread.join(0.02)
        if self._found is not None:
            return self._found
        return [self._findings.warning(self._name, "late")]

    def _run(self) -> None:
        try:
            self._found = tuple(self._look(self._findings))
        except OpenCrabError as error:
            facts = {"why": error.message, "cure": error.cure or "-"}
            self._found = [self._findings.problem(self._name, "failed", **facts)]
        except Exception as error:
            log.exception("a check failed: name=%s", self._name)
            facts = {"why": type(error).__name__, "cure": "-"}
            self._found = [self._findings.problem(self._name, "failed", **facts)]
