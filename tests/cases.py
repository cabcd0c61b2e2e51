"""Many cases in one test, for tests of a millisecond: pytest needs two for each case of its own."""

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest


def for_each(names: str | tuple[str, ...], values: Iterable[Any]) -> Callable[..., Any]:
    """As `pytest.mark.parametrize`, but all cases in one test; each that fails is named.

    The fixtures are those of the one test: what a case changes the next one finds.
    """
    cases = tuple(values)
    assert cases, "a test without a case tests nothing"

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def run(**fixtures: Any) -> None:
            failed: list[BaseException] = []
            for case in cases:
                given = {names: case} if isinstance(names, str) else _paired(names, case)
                try:
                    test(**fixtures, **given)
                except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 - all are named
                    told = ", ".join(f"{name}={value!r:.300}" for name, value in given.items())
                    error.add_note(f"where {told}")
                    failed.append(error)
            if failed:
                raise BaseExceptionGroup(f"{len(failed)} of {len(cases)} cases", failed)

        signature = inspect.signature(test)
        own = {names} if isinstance(names, str) else set(names)
        assert own <= set(signature.parameters)
        left = [each for name, each in signature.parameters.items() if name not in own]
        run.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        return run

    return decorate


def _paired(names: tuple[str, ...], case: Iterable[Any]) -> dict[str, Any]:
    return dict(zip(names, case, strict=True))
