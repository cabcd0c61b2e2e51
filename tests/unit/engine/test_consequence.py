"""Consequences: who does something is asked, in the order of registration."""

from opencrab.engine.consequence import EVERY_TRAIT, Consequences, TurnConsequence, TurnTrait


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


def registered() -> Consequences[list[str], list[str]]:
    def noted() -> Noted:
        return Noted("b")

    def later() -> Later:
        return Later("a")

    return Consequences((noted, {TurnTrait.ANY}), (later, {TurnTrait.TASK, TurnTrait.CALLS}))


def asked(*traits: TurnTrait) -> list[str]:
    hooks, found = registered()[frozenset(traits)], list[str]()
    for hook in (*hooks.on_begin, *hooks.after_close):
        hook(found)
    return found


def test_whoever_has_a_hook_is_asked_in_order() -> None:
    assert asked(TurnTrait.ANY, TurnTrait.CALLS) == ["b", "a", "a after"]


def test_whom_a_turn_does_not_concern_is_not_asked() -> None:
    assert asked(TurnTrait.ANY) == ["b"]
    assert asked(TurnTrait.ANY, TurnTrait.PEER) == ["b"]
    assert asked(TurnTrait.PEER) == []


def test_a_hook_that_does_nothing_is_not_asked() -> None:
    hooks = registered()[EVERY_TRAIT]
    assert len(hooks.on_begin) == 2
    assert not any((hooks.on_message, hooks.try_resume, hooks.on_save))
    assert not any((hooks.may_write_on_close, hooks.on_close, hooks.on_abandon))


def test_a_consequence_is_made_once_and_only_for_a_turn_that_it_concerns() -> None:
    made = list[str]()

    def noted() -> Noted:
        made.append("made")
        return Noted("b")

    hooks: Consequences[list[str], list[str]] = Consequences((noted, {TurnTrait.TASK}))
    assert hooks[frozenset({TurnTrait.ANY})].on_begin == ()
    assert made == []
    assert hooks[frozenset({TurnTrait.TASK})].on_begin == hooks[EVERY_TRAIT].on_begin
    assert made == ["made"]
