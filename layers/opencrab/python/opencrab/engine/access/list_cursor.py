"""List cursors: where a list continues after items that its reader may not see.

A cursor would name the last of them. So the place is stored for a day, and the cursor has a name
for it that says nothing.
"""

from collections.abc import Callable
from datetime import timedelta

from opencrab.domain.document import INSTALLATION_FACTS, new_fact
from opencrab.domain.value import Value
from opencrab.engine.runtime import Runtime

LIST_CURSOR = "list_cursor"
"""The kind of these documents; the id is the name in the cursor, without its mark."""

_MARK = "~"
"""What no id begins with."""

_KEPT = timedelta(days=1)


class ListCursor(Value):
    """The item after which a list continues."""

    listing: str
    after: str


def principal_place_hider(runtime: Runtime, listing: str) -> Callable[[str], str]:
    """Return the function that stores a place of a list and returns its name."""

    def hide(after: str) -> str:
        name, expires_at = runtime.clock.new_id(), runtime.clock.now() + _KEPT
        place = ListCursor(listing=listing, after=after)
        fact = new_fact(INSTALLATION_FACTS, LIST_CURSOR, name, place, expires_at=expires_at)
        runtime.home.facts.commit(fact)
        return f"{_MARK}{name}"

    return hide


def unhidden_principal_place(runtime: Runtime, listing: str, place: str) -> str | None:
    """Return the item of a place or of its name; None if the name is unknown or too old."""
    if not place.startswith(_MARK):
        return place
    fact = runtime.home.facts.get(INSTALLATION_FACTS, LIST_CURSOR, place.removeprefix(_MARK))
    stored = None if fact is None else fact.read(ListCursor)
    return stored.after if stored is not None and stored.listing == listing else None
