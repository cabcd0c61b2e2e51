"""Declarations of custom actions: what a function becomes, and what is said of a wrong one."""

import functools
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, ValidationError

from opencrab.actions.custom import CallContext, action
from opencrab.actions.custom.call import CustomValues
from opencrab.actions.custom.declaration import (
    DECLARED,
    MOST_WORDS,
    ActionDeclarationError,
    declared_custom_action,
)
from opencrab.domain.access.impact import Impact
from opencrab.domain.turn.action import Effect
from opencrab.domain.value import Language
from opencrab.ports.turn.action import Action
from tests.unit.actions.bench import ROUTING, agent


class Row(BaseModel):
    amount: int


@action(
    impact="external",
    effect="keyed",
    ja="請求書を送ります。",
    sentences=("Send the bill {title}", "請求書「{title}」を送る"),
    timeout_seconds=100,
)
def send_bill(
    title: Annotated[str, Field(max_length=9)],
    rows: list[Row],
    context: CallContext,
    urgency: Literal["low", "high"] = "low",
) -> dict[str, Any]:
    """Send a bill,

    with its rows.
    """
    return {"title": title, "sum": sum(row.amount for row in rows), "urgency": urgency}


def offered(function: Any = send_bill, **options: Any) -> Action:
    return declared_custom_action(function).offer(CustomValues(), most_seconds=60, **options)


def test_a_function_becomes_an_action_as_it_is_annotated() -> None:
    made = offered()
    assert (made.name, made.impact, made.effect) == ("send_bill", Impact.EXTERNAL, Effect.KEYED)
    assert made.owner_only
    assert made.origin.startswith(f"{__file__}:")
    assert made.descriptions == {
        Language.EN: "Send a bill, with its rows.",
        Language.JA: "請求書を送ります。",
    }
    schema = made.schema(Language.JA).parameters
    assert list(schema["properties"]) == ["title", "rows", "urgency"]
    assert schema["required"] == ["title", "rows"]
    assert schema["properties"]["rows"]["items"]["properties"] == {"amount": {"type": "integer"}}
    assert made.sentence({"title": "潮"}, Language.JA) == "請求書「潮」を送る"
    assert made.touches is not None
    assert "潮" in made.touches(made.arguments(title="潮", rows=[]))
    assert declared_custom_action(send_bill).call.seconds == 100


def test_the_function_itself_stays_as_it_was() -> None:
    told: Any = None
    assert send_bill("蟹", [Row(amount=2), Row(amount=3)], told)["sum"] == 5


@pytest.mark.parametrize(
    "wrong",
    [
        {"title": "ten letters", "rows": []},
        {"title": "a", "rows": [{"amount": "x"}]},
        {"title": "a", "rows": [], "more": 1},
        {"title": "a\x00", "rows": []},
        {"title": "\ud83e", "rows": []},
        {"title": "a", "rows": [], "context": {}},
    ],
)
def test_arguments_that_do_not_fit_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        offered().arguments.model_validate(wrong)


def test_an_emoji_of_two_halves_is_one_text() -> None:
    given = offered().arguments.model_validate({"title": "🦀", "rows": []})
    assert given.model_dump()["title"] == "🦀"


def test_what_is_not_said_has_a_careful_default() -> None:
    @action(impact="read", effect="pure")
    def look(place: str) -> str:
        """見る。"""
        return place

    made = offered(look)
    assert made.descriptions[Language.JA] == "見る。"
    assert made.sentence({}, Language.EN) == "Run look"
    assert made.prepare is None
    assert declared_custom_action(look).call.taints


def test_only_named_agents_have_it() -> None:
    assert offered().offered(agent(), ROUTING)
    assert offered(agents=["美香"]).offered(agent(), ROUTING)
    assert offered(agents=["mika"]).offered(agent(), ROUTING)
    assert not offered(agents=["カニ"]).offered(agent(), ROUTING)


def _plain(title: str) -> str:
    """Do it."""
    return title


def _keyless(title: str) -> None:
    """Do it."""


async def _later(title: str) -> None:
    """Do it."""


def _bare(title) -> None:  # type: ignore[no-untyped-def]
    """Do it."""


def _many(*titles: str) -> None:
    """Do it."""


def _taken(copy: str) -> None:
    """Do it."""


def _lost(title: "Missing") -> None:  # type: ignore[name-defined]  # noqa: F821
    """Do it."""


def _renamed(from_: Annotated[str, Field(alias="from")]) -> str:
    """Do it."""
    return from_


def _asked(context: CallContext | None = None) -> None:
    """Do it."""


def _twice(context: CallContext, other: CallContext) -> None:
    """Do it."""


def _odd(title: object) -> None:
    """Do it."""


def _open(file: pytest.MonkeyPatch) -> None:
    """Do it."""


def _silent(title: str) -> None:
    pass


def _long(title: str) -> None:
    pass


_long.__doc__ = "海" * MOST_WORDS
PURE = {"impact": "read", "effect": "pure"}


@pytest.mark.parametrize(
    ("function", "name", "options", "said"),
    [
        (_plain, "act", {"impact": "all", "effect": "pure"}, "has the impact 'all': write one of"),
        (_plain, "act", {"impact": "speech", "effect": "pure"}, "has the impact 'speech'"),
        (_plain, "act", {"impact": "read", "effect": "transactional"}, "the effect 'transactional"),
        (_plain, "act", PURE | {"timeout_seconds": 121}, "has timeout_seconds=121"),
        (_plain, "act", PURE | {"timeout_seconds": 0}, "has timeout_seconds=0"),
        (_plain, "act", PURE | {"sentences": "one"}, "are not two"),
        (_plain, "act", PURE | {"sentences": ("{name}", "{title}")}, "names {name}"),
        (_plain, "act", PURE | {"sentences": ("{title.x}", "{title}")}, "names {title.x}"),
        (_plain, "act", PURE | {"sentences": ("{title", "{title}")}, "braces that do not match"),
        (_plain, "act", PURE | {"sentences": ("{title}", "{title:.2f}円")}, "has a format that no"),
        (_plain, "act", PURE | {"sentences": ("{title:{x}}", "{title}")}, "has a format that no"),
        (_renamed, "act", PURE | {"sentences": ("{from_}", "{from}")}, "names {from_}"),
        (_asked, "act", PURE, "'context' of act is a CallContext that a model would fill in"),
        (_twice, "act", PURE, "'other' of act is a CallContext that a model would fill in"),
        (_plain, "Act", PURE, "cannot be named 'Act'"),
        (_plain, "行動", PURE, "cannot be named '行動'"),
        (_plain, "mcp__files", PURE, "cannot be named 'mcp__files'"),
        (_keyless, "act", {"impact": "external", "effect": "keyed"}, "never sees its key"),
        (_later, "act", PURE, "is async"),
        (_bare, "act", PURE, "'title' of act has no annotation"),
        (_many, "act", PURE, "takes *titles: str"),
        (_taken, "act", PURE, "'copy' of act has a name that pydantic uses"),
        (_lost, "act", PURE, "cannot be read: name 'Missing' is not defined"),
        (_open, "act", PURE, "no model can fill in"),
        (_silent, "act", PURE, "has no docstring"),
        (_long, "act", PURE, "has 3072 bytes"),
    ],
)
def test_a_wrong_declaration_names_the_function_and_the_cure(
    function: Any, name: str, options: dict[str, Any], said: str
) -> None:
    function.__name__ = name
    with pytest.raises(ActionDeclarationError) as raised:
        action(**options)(function)
    assert said.partition(":")[0] in str(raised.value)
    assert raised.value.cure


def test_what_is_no_function_cannot_be_declared() -> None:
    with pytest.raises(ActionDeclarationError, match="is no function"):
        action(impact="read", effect="pure")(Row)
    with pytest.raises(ActionDeclarationError, match="is no action"):
        declared_custom_action(_plain)


def test_people_read_an_argument_under_the_name_that_models_use() -> None:
    _renamed.__name__ = "renamed"
    made = offered(
        action(impact="read", effect="pure", sentences=("From {from}", "{from}から"))(_renamed)
    )
    assert made.arguments.model_validate({"from": "東京"}).model_dump() == {"from_": "東京"}
    assert made.sentence({"from": "東京"}, Language.JA) == "東京から"


def test_what_a_library_wraps_is_declared_where_its_author_wrote_it() -> None:
    def act(title: str) -> str:
        """Do it."""
        return title

    library = dict[str, Any]({"act": act, "functools": functools})
    code = "@functools.wraps(act)\ndef retried(*given, **named): return act(*given, **named)"
    exec(compile(code, "/lib/retry.py", "exec"), library)  # noqa: S102 - another file than this
    made = declared_custom_action(action(impact="read", effect="pure")(library["retried"]))
    assert made.call.file == __file__
    assert made.origin == f"{__file__}:{act.__code__.co_firstlineno}"
    assert DECLARED not in library


def test_a_text_may_write_of_nul_but_not_have_it() -> None:
    _plain.__name__ = "plain"
    made = offered(action(impact="read", effect="pure")(_plain))
    assert made.arguments.model_validate({"title": "\\u0000"}).model_dump() == {"title": "\\u0000"}
    for text in ("\x00", "\\\x00", "海\ud800"):
        with pytest.raises(ValidationError, match="NUL"):
            made.arguments.model_validate({"title": text})


def test_any_value_can_be_a_parameter() -> None:
    _odd.__name__ = "odd"
    made = offered(action(impact="read", effect="pure")(_odd))
    given = made.arguments.model_validate({"title": [1, "二"]})
    assert given.model_dump() == {"title": [1, "二"]}
