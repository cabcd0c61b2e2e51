"""DynamoDB's expressions, as far as our adapters write them, worked out on items in memory."""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

from opencrab.adapters.dynamodb.item import Item

Attribute = Mapping[str, Any]
Values = Mapping[str, Attribute]
Names = Mapping[str, str]
Test = Callable[[Item, Names, Values], bool]
Change = Callable[[Item, Item, Names, Values], None]
Operand = Callable[[Item, Names, Values], Attribute | None]

_TOKEN = re.compile(r"[#:]?\w+|<>|<=|>=|[<>=(),+-]")
_ORDERED: dict[str, Callable[[Any, Any], bool]] = {
    "<": lambda one, other: one < other,
    "<=": lambda one, other: one <= other,
    ">": lambda one, other: one > other,
    ">=": lambda one, other: one >= other,
}
_CLAUSES = ("SET", "REMOVE", "ADD", "DELETE")


def holds(expression: str | None, item: Item | None, names: Names, values: Values) -> bool:
    """Whether a condition holds for an item, which may be missing."""
    return expression is None or _condition(expression)(item or {}, names, values)


def change(expression: str, item: Item, names: Names, values: Values) -> None:
    """Carry out an update on an item."""
    before = dict(item)
    for each in _update(expression):
        each(item, before, names, values)


@cache
def _condition(expression: str) -> Test:
    tokens = _Tokens(expression)
    test = _either(tokens)
    assert tokens.ended, expression
    return test


@cache
def _update(expression: str) -> tuple[Change, ...]:
    tokens, changes = _Tokens(expression), list[Change]()
    clause = ""
    while not tokens.ended:
        if tokens.next in _CLAUSES:
            clause = tokens.take()
        elif tokens.next == ",":
            tokens.take()
        else:
            changes.append(_change(clause, tokens))
    return tuple(changes)


class _Tokens:
    """The words of an expression, taken one by one."""

    def __init__(self, expression: str) -> None:
        self._words = _TOKEN.findall(expression)
        self._at = 0

    @property
    def ended(self) -> bool:
        """Whether all were taken."""
        return self._at == len(self._words)

    @property
    def next(self) -> str:
        """The one that comes next; "" at the end."""
        return "" if self.ended else str(self._words[self._at])

    def take(self, expected: str | None = None) -> str:
        """Take the next one."""
        word = self.next
        assert expected in (None, word), (expected, word, self._words)
        self._at += 1
        return word


def _either(tokens: _Tokens) -> Test:
    first = _both(tokens)
    while tokens.next == "OR":
        tokens.take()
        first = _or(first, _both(tokens))
    return first


def _both(tokens: _Tokens) -> Test:
    first = _single(tokens)
    while tokens.next == "AND":
        tokens.take()
        first = _and(first, _single(tokens))
    return first


def _or(one: Test, other: Test) -> Test:
    return lambda *given: one(*given) or other(*given)


def _and(one: Test, other: Test) -> Test:
    return lambda *given: one(*given) and other(*given)


def _single(tokens: _Tokens) -> Test:
    word = tokens.take()
    if word == "(":
        inside = _either(tokens)
        tokens.take(")")
        return inside
    if word in ("attribute_exists", "attribute_not_exists"):
        tokens.take("(")
        name = tokens.take()
        tokens.take(")")
        wanted = word == "attribute_exists"
        return lambda item, names, _values: (names[name] in item) is wanted
    if word == "begins_with":
        tokens.take("(")
        name = tokens.take()
        tokens.take(",")
        start = tokens.take()
        tokens.take(")")
        return lambda item, names, values: str(
            next(iter(item.get(names[name], {"S": ""}).values()))
        ).startswith(values[start]["S"])
    return _comparison(_reference(word), tokens)


def _comparison(left: Operand, tokens: _Tokens) -> Test:
    sign = tokens.take()
    if sign == "BETWEEN":
        low = _reference(tokens.take())
        tokens.take("AND")
        return _and(_compares(">=", left, low), _compares("<=", left, _reference(tokens.take())))
    if sign == "IN":
        tokens.take("(")
        among = [_reference(tokens.take())]
        while tokens.take() == ",":
            among.append(_reference(tokens.take()))
        return lambda *given: left(*given) in [one(*given) for one in among]
    return _compares(sign, left, _reference(tokens.take()))


def _compares(sign: str, left: Operand, right: Operand) -> Test:
    def compares(item: Item, names: Names, values: Values) -> bool:
        one, other = left(item, names, values), right(item, names, values)
        if sign == "=":
            return one == other
        if sign == "<>":
            return one != other
        # What is not there, or of another type, is neither more nor less.
        if one is None or other is None or one.keys() != other.keys():
            return False
        return _ORDERED[sign](comparable(one), comparable(other))

    return compares


def comparable(attribute: Attribute) -> Any:
    """An attribute's value as something that can be ordered."""
    ((kind, value),) = attribute.items()
    return int(value) if kind == "N" else value.encode()


def _reference(word: str) -> Operand:
    if word.startswith(":"):
        return lambda _item, _names, values: values[word]
    return lambda item, names, _values: item.get(names[word])


def _change(clause: str, tokens: _Tokens) -> Change:
    name = tokens.take()
    if clause == "REMOVE":

        def _remove(item: Item, _before: Item, names: Names, _values: Values) -> None:
            item.pop(names[name], None)

        return _remove
    if clause == "SET":
        tokens.take("=")
        terms = list(_terms(tokens))

        def _set(item: Item, before: Item, names: Names, values: Values) -> None:
            found = [operand(before, names, values) for _, operand in terms]
            assert None not in found, f"{names[name]} is set to what is not there"
            if len(terms) == 1:
                item[names[name]] = dict(found[0] or {})
                return
            total = sum(
                int((one or {})["N"]) * (-1 if sign == "-" else 1)
                for (sign, _), one in zip(terms, found, strict=True)
            )
            item[names[name]] = {"N": str(total)}

        return _set
    given = tokens.take()
    return _added(name, given) if clause == "ADD" else _deleted(name, given)


def _terms(tokens: _Tokens) -> Iterator[tuple[str, Operand]]:
    yield "+", _reference(tokens.take())
    while tokens.next in ("+", "-"):
        sign = tokens.take()
        yield sign, _reference(tokens.take())


def _added(name: str, given: str) -> Change:
    def _add(item: Item, _before: Item, names: Names, values: Values) -> None:
        ((kind, value),) = values[given].items()
        stored = item.get(names[name])
        if kind == "N":
            item[names[name]] = {"N": str(int((stored or {"N": "0"})["N"]) + int(value))}
        else:
            item[names[name]] = {kind: sorted({*(stored or {kind: ()})[kind], *value})}

    return _add


def _deleted(name: str, given: str) -> Change:
    def _delete(item: Item, _before: Item, names: Names, values: Values) -> None:
        ((kind, value),) = values[given].items()
        left = sorted({*item.get(names[name], {kind: ()})[kind]} - {*value})
        if left:
            item[names[name]] = {kind: left}
        else:
            item.pop(names[name], None)

    return _delete
