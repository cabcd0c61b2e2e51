"""A pytest that has collected its tests, and runs some of them in a fork whenever it is asked.

To import and collect takes longer than most mutants live, so it is done once. A fork gets the
functions of the mutated module exchanged in place; what its tests start reads the mutated file.

It is asked on one pipe and answers on another, a line of JSON each.
"""

import gc
import json
import os
import select
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from inspect import CO_OPTIMIZED
from types import CodeType, FunctionType
from typing import Any

import pytest

PIPES = "MUTANTS_PIPES"
"""The variable that names the pipes: where questions come from, where answers go."""

READY, DONE = "ready", "done"

_Functions = dict[tuple[str, str, int], list[FunctionType]]


def pytest_runtestloop(session: pytest.Session) -> bool:
    """Answer until nobody asks any more, in place of running all that was collected."""
    asking, answering = (int(number) for number in os.environ[PIPES].split(","))
    functions = _functions()
    by_name: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in session.items:
        by_name[item.nodeid].append(item)
        by_name[item.nodeid.partition("::")[0]].append(item)
    with os.fdopen(asking) as questions, os.fdopen(answering, "w") as answers:
        answers.write(f"{json.dumps(READY)}\n")
        answers.flush()
        for line in questions:
            asked = json.loads(line)
            names = dict.fromkeys(asked["tests"])
            items = [item for name in names for item in by_name.get(name, ())]
            left = [item for item in items if item.nodeid not in asked["but"]]
            answers.write(json.dumps(_answer(session, functions, asked, left)) + "\n")
            answers.flush()
    return True


class Failures:
    """Sends the tests that fail to whoever waits for them."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe
        self.some = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Called by pytest with each phase of each test."""
        if report.failed:
            self.some = True
            self.send(report.nodeid)

    def send(self, word: str) -> None:
        """Send one word."""
        os.write(self._pipe, f"{json.dumps(word)}\n".encode())


def _answer(
    session: pytest.Session,
    functions: _Functions,
    asked: dict[str, Any],
    items: Sequence[pytest.Item],
) -> dict[str, Any]:
    """Which of these tests fail in a fork, and whether it came to an end in time."""
    receiving, sending = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        os.close(receiving)
        _run(session, functions, asked, items, Failures(sending))
    os.close(sending)
    said, in_time = _received(receiving, time.monotonic() + asked["seconds"])
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return {
        "failed": [word for word in said if word != DONE],
        "ended": DONE in said,
        "late": not in_time,
    }


def _run(
    session: pytest.Session,
    functions: _Functions,
    asked: dict[str, Any],
    items: Sequence[pytest.Item],
    failures: Failures,
) -> None:
    """Run the tests in this process, which ends with them."""
    try:
        if asked["module"]:
            _exchange(functions, asked["module"], asked["before"], asked["after"])
        session.config.pluginmanager.register(failures)
        for item, following in zip(items, [*items[1:], None], strict=False):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if failures.some and asked["first"]:
                break
        session._setupstate.teardown_exact(None)
        failures.send(DONE)
    finally:
        # Nothing that the parent wants to do at its end is this process's business.
        os._exit(0)


def _received(pipe: int, until: float) -> tuple[list[str], bool]:
    """What a fork says until it ends, and whether that was in time."""
    said = b""
    with os.fdopen(pipe, "rb", buffering=0) as words:
        while (left := until - time.monotonic()) > 0 and select.select([words], [], [], left)[0]:
            new = words.read(65_536)
            if not new:
                break
            said += new
            if said.endswith(f"{json.dumps(DONE)}\n".encode()):
                break
    return [json.loads(line) for line in said.splitlines()], left > 0


def _functions() -> _Functions:
    """Every function of the package that there is now, by file, name and line."""
    found: _Functions = defaultdict(list)
    gc.unfreeze()
    for each in gc.get_objects():
        if isinstance(each, FunctionType) and "/opencrab/" in each.__code__.co_filename:
            found[_key(each.__code__)].append(each)
    gc.freeze()
    return found


def _exchange(functions: _Functions, module: str, before: str, after: str) -> None:
    """Give the functions of a module the code of its mutated source.

    Raises LookupError where none of what differs is in use: then nothing would be tested.
    """
    loaded = sys.modules.get(module)
    if loaded is None:
        return
    file = str(loaded.__file__)
    old, new = (_codes(compile(source, file, "exec")) for source in (before, after))
    exchanged = 0
    for was, becomes in zip(old, new, strict=True):
        differs = (was.co_code, repr(was.co_consts)) != (becomes.co_code, repr(becomes.co_consts))
        for function in functions.get(_key(was), ()):
            function.__code__ = becomes
            exchanged += differs or was.co_names != becomes.co_names
    if not exchanged:
        raise LookupError(module)


def _codes(code: CodeType) -> Iterator[CodeType]:
    """The code of functions and methods; what is within a function comes with it."""
    for each in code.co_consts:
        if isinstance(each, CodeType) and each.co_flags & CO_OPTIMIZED:
            yield each
        elif isinstance(each, CodeType):
            yield from _codes(each)


def _key(code: CodeType) -> tuple[str, str, int]:
    return code.co_filename, code.co_qualname, code.co_firstlineno
