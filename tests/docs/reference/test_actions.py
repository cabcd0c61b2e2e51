"""The page about the actions says what the code of the actions says."""

from importlib import import_module
from pkgutil import walk_packages
from typing import Literal

import opencrab.actions
from opencrab.actions import GROUPS, Group
from opencrab.domain.access.impact import Impact
from opencrab.domain.turn.action import ActionResult, Effect
from opencrab.domain.value import Language, Value
from opencrab.ports.turn.action import ActionContext
from tests.docs.reference.actions import page, row


class Sought(Value):
    query: str
    how: Literal["a", "b"] = "a"
    tags: tuple[str, ...] = ()
    note: str | None = None


def test_every_group_that_is_written_is_in_the_product() -> None:
    found = set[str]()
    for each in walk_packages(opencrab.actions.__path__, "opencrab.actions."):
        module = import_module(each.name)
        if isinstance(group := getattr(module, "group", None), Group):
            found.add(group.name)
    assert found == {group.name for group in GROUPS}


def test_a_row_tells_types_defaults_and_who_may() -> None:
    group = Group("sample")

    def weighs(_arguments: Sought, _context: ActionContext) -> Impact:
        return Impact.SHARED

    @group.action(
        impact=Impact.SELF,
        effect=Effect.TRANSACTIONAL,
        ja="探す|選ぶ",
        sentences=("Seek", "探す"),
        for_peers=True,
        impact_of=weighs,
        result_bytes=100,
    )
    def seek(arguments: Sought, context: ActionContext) -> ActionResult:
        """Seek | choose."""
        return ActionResult.ok()

    assert row(group.actions[0], Language.EN) == (
        "`seek`",
        '`query: string`<br>`how: a|b = "a"`<br>'
        "`tags: array of string = []`<br>`note: string = unset`",
        "self+",
        "transactional",
        "64 KiB, 100",
        "owner, user, peer, self",
        "Seek | choose.",
    )
    assert row(group.actions[0], Language.JA)[-1] == "探す|選ぶ"
    english = page(Language.EN, [group])
    assert "1 actions in 1 groups" in english
    assert "| Seek \\| choose. |" in english
