"""Findings of the doctor in English and Japanese: what is, and what mends it if it is wrong."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from opencrab.domain.value import Language
from opencrab.engine.discord.diagnosis import Check, DiagnosisResult
from opencrab.ports.texts import Texts

_WHAT = Texts(__file__, "what")
_CURES = Texts(__file__, "cure")


@dataclass(frozen=True)
class Findings:
    """Makes checks in one language; a sentence and its cure lie under the same key."""

    language: Language

    def well(self, name: str, key: str, /, **facts: object) -> Check:
        """Return a check that passed."""
        return self._check(DiagnosisResult.OK, name, key, facts)

    def warning(self, name: str, key: str, /, **facts: object) -> Check:
        """Return a check of something that works and may soon not, or that nobody can tell."""
        return self._check(DiagnosisResult.WARNING, name, key, facts)

    def problem(self, name: str, key: str, /, **facts: object) -> Check:
        """Return a check that failed."""
        return self._check(DiagnosisResult.PROBLEM, name, key, facts)

    def words(self, key: str, /, **facts: object) -> str:
        """Return a part of a sentence."""
        return _WHAT[key][self.language].format(**facts)

    def _check(
        self, state: DiagnosisResult, name: str, key: str, facts: dict[str, object]
    ) -> Check:
        what = _WHAT[key][self.language].format(**facts)
        if state is DiagnosisResult.OK or key not in _CURES:
            return Check(name=name, state=state, what=what)
        return Check(
            name=name, state=state, what=what, cure=_CURES[key][self.language].format(**facts)
        )


Look = Callable[[Findings], Iterable[Check]]
"""A part of the examination."""


def no_further_installation_checks(findings: Findings) -> Iterable[Check]:
    """Return nothing, for an installation without a computer of its own."""
    del findings
    return ()
