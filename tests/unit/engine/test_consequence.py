"""Consequences: who does something is asked, in the order of registration."""

from opencrab.engine.consequence import Consequences, TurnConsequence


class Noted(TurnConsequence[list[str], list[str]]):
    """Notes that it was asked."""

    def __init__(self, name: str) -> None:
        self._name = name

    def on_begin(self, work: list[str]) -> None:
        work.append(self._name)


class Later(Noted):
    """Inherits its hook, and has one more."""

    def after_close(self, work: list[str]) -> None:
        work.append(f"{self._name} after")


def test_whoever_has_a_hook_is_asked_in_order() -> None:
    registered, asked = Consequences(Noted("b"), Later("a")), list[str]()
    for hook in (*registered.on_begin, *registered.after_close):
        hook(asked)
    assert asked == ["b", "a", "a after"]


def test_a_hook_that_does_nothing_is_not_asked() -> None:
    registered = Consequences(Noted("b"), TurnConsequence[list[str], list[str]]())
    assert len(registered.on_begin) == 1
    assert not any((registered.on_message, registered.try_resume, registered.on_save))
    assert not any((registered.may_write_on_close, registered.on_close, registered.on_abandon))
