"""Bugs that are seeded in the source: functions of the product run with the code of a mutant."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from types import CodeType, FunctionType, ModuleType
from typing import Any

from tests.hostile.entry import Entry
from tests.hostile.world import Bug, World
from tests.mutants.mutant import Mutant


class SourceFault(Bug):
    """A fault of one function of the product, there while a run is played."""

    def __init__(
        self, name: str, *mutants: Mutant, entries: tuple[Callable[[World], Entry], ...] = ()
    ) -> None:
        self.name, self.mutants, self.entries = name, mutants, entries

    @contextmanager
    def active(self) -> Iterator[None]:
        """Exchange the code of what differs, and give it back at the end."""
        with ExitStack() as changed:
            for mutant in self.mutants:
                changed.enter_context(_exchanged(import_module(mutant.module), mutant))
            yield


@contextmanager
def _exchanged(module: ModuleType, mutant: Mutant) -> Iterator[None]:
    source = mutant.source()
    changed = _codes(compile(mutant.mutated(source), str(module.__file__), "exec"))
    before = [
        (function, function.__code__)
        for function in _functions(module)
        if _differs(function.__code__, changed.get(function.__code__.co_qualname))
    ]
    if not before:
        raise LookupError(mutant.id)
    for function, _ in before:
        function.__code__ = changed[function.__code__.co_qualname]
    try:
        yield
    finally:
        for function, code in before:
            function.__code__ = code


def _differs(was: CodeType, becomes: CodeType | None) -> bool:
    if becomes is None:
        return False
    return (was.co_code, was.co_names, _constants(was)) != (
        becomes.co_code, becomes.co_names, _constants(becomes),
    )  # fmt: skip


def _constants(code: CodeType) -> list[Any]:
    """Its constants, without what tells only where it stands."""
    return [
        (each.co_code, each.co_names, _constants(each)) if isinstance(each, CodeType) else each
        for each in code.co_consts
    ]


def _functions(module: ModuleType) -> Iterator[FunctionType]:
    """The functions and methods that a module defines."""
    for each in tuple(vars(module).values()):
        if getattr(each, "__module__", None) != module.__name__:
            continue
        inner = tuple(vars(each).values()) if isinstance(each, type) else (each,)
        for function in inner:
            plain = getattr(function, "fget", None) or getattr(function, "__func__", function)
            if isinstance(plain, FunctionType) and plain.__module__ == module.__name__:
                yield plain


def _codes(code: CodeType) -> dict[str, CodeType]:
    """Code by qualified name, of everything within."""
    found = {}
    for each in code.co_consts:
        if isinstance(each, CodeType):
            found[each.co_qualname] = each
            found |= _codes(each)
    return found


FAULTS = (
    SourceFault(
        "InterruptedGoalsForgetTaint",
        Mutant(
            id="hostile-interrupted-goal",
            module="opencrab.engine.goals.after_turn",
            old="pause=waiting.replaced(turn_waits=False), taint=goal.taint or work.turn.taint",
            new="pause=waiting.replaced(turn_waits=False)",
            fault="a goal that was interrupted after foreign words goes on as if it had read none",
        ),
    ),
    SourceFault(
        "OldTurnsAdvanceGoals",
        Mutant(
            id="hostile-old-turn",
            module="opencrab.engine.goals.after_turn",
            old="if goal is not None and goal.turn_id == work.turn.id:",
            new="if goal is not None:",
            fault="a turn that a goal no longer waits for moves it on once more",
        ),
        Mutant(
            id="hostile-second-turn",
            module="opencrab.engine.goals.instructions",
            old="turn_waits = goal.turn_id is not None and not _is_over(",
            new="turn_waits = goal.turn_id is None and not _is_over(",
            fault="a goal that is resumed gets a second turn although its first one waits",
        ),
    ),
    SourceFault(
        "HeadersForgetSenders",
        Mutant(
            id="hostile-header",
            module="opencrab.engine.turn.admission",
            old='"taint": taint or does_authority_taint_reader(message.authority)',
            new='"taint": taint',
            fault="a turn begins clean although its message is a stranger's or a peer's",
        ),
    ),
    SourceFault(
        "StoppedTurnsTransact",
        Mutant(
            id="hostile-stop",
            module="opencrab.engine.turn.act",
            old="unless_stopped=action.effect is Effect.TRANSACTIONAL,",
            new="unless_stopped=False,",
            fault="an action whose effect is its result takes effect after its turn was stopped",
        ),
    ),
    SourceFault(
        "ExtendedByAnybody",
        Mutant(
            id="hostile-extend",
            module="opencrab.adapters.sqlite.journal",
            old="if (stored.epoch, stored.status, stored.lease_until) != same:",
            new="if stored.id != turn.id:",
            fault="a sweep that came late queues a turn again that a worker has taken up since",
        ),
    ),
    SourceFault(
        "FileNamesForgotten",
        Mutant(
            id="hostile-file-names",
            module="opencrab.actions.workspace.provenance",
            old="return tuple(each for each in found if each.clean and each.path not in marked)",
            new="return tuple(found)",
            fault="file names that foreign words chose are shown as the agent's own",
        ),
    ),
    SourceFault(
        "GoalNamesShown",
        Mutant(
            id="hostile-goal-names",
            module="opencrab.engine.turn.prompt.surroundings_text",
            old='told = waking_prompt_text("hidden", language) if hidden '
            "else one_line(goal.name, 120)",
            new="told = one_line(goal.name, 120)",
            fault="a name that foreign words gave a goal stands in a clean heartbeat",
        ),
    ),
)  # fmt: skip
"""Each as it would be written by mistake; `tests/mutants` holds others against the unit tests."""
