"""Lines: each caller pages through exactly what they may see, in either direction."""

from datetime import UTC, datetime
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.domain.access.authority import Authority, Scope, Source
from opencrab.domain.access.principal import Principal
from opencrab.domain.conversation.message import Audience, Line, LineKind
from opencrab.domain.errors import Invalid, Refused
from opencrab.engine.conversation.live import PUBLIC, VisibleKinds, collect_visible_session_lines
from opencrab.gateways.rest.conversation.lines import lines_visible_to
from opencrab.gateways.rest.http.access import Caller
from opencrab.ports.turn.journal import Journal

KINDS = st.lists(st.tuples(st.sampled_from(LineKind), st.sampled_from(Audience)), max_size=250)
VISIBLE = st.builds(
    VisibleKinds, kinds=st.frozensets(st.sampled_from(LineKind)), private=st.booleans()
)


class Kept:
    """A journal of one session that is only read."""

    def __init__(self, kinds: list[tuple[LineKind, Audience]]) -> None:
        self.all = [
            Line(
                session_id="s",
                sequence=sequence,
                group="g",
                kind=kind,
                audience=audience,
                speaker_id="mika",
                speaker_name="美香",
                authority=Authority.OWNER,
                text=f"行 {sequence}",
                at=datetime(2026, 2, 17, tzinfo=UTC),
            )
            for sequence, (kind, audience) in enumerate(kinds, 1)
        ]

    def lines(
        self,
        session_id: str,
        *,
        after: int = 0,
        before: int | None = None,
        limit: int = 100,
        newest_first: bool = False,
    ) -> tuple[Line, ...]:
        end = len(self.all) + 1 if before is None else before
        found = [line for line in self.all if after < line.sequence < end]
        return tuple((found[::-1] if newest_first else found)[:limit])


def caller(scope: Scope) -> Caller:
    """Somebody with a key."""
    return Caller(Principal(id="k", name="鍵", scope=scope), Source.REST)


@given(kinds=KINDS, visible=VISIBLE, limit=st.integers(1, 70), newest=st.booleans())
def test_pages_together_are_all_that_may_be_seen(
    kinds: list[tuple[LineKind, Audience]], visible: VisibleKinds, limit: int, *, newest: bool
) -> None:
    kept = Kept(kinds)
    found: list[Line] = []
    place: int | None = None
    for _ in range(len(kinds) + 2):
        lines, place = collect_visible_session_lines(
            cast("Journal", kept),
            "s",
            visible,
            limit=limit,
            after=0 if newest else place or 0,
            before=place if newest else None,
            newest_first=newest,
        )
        assert len(lines) <= limit
        found += lines
        if place is None:
            break
    expected = [line for line in kept.all if visible.shows(line)]
    assert found == (expected[::-1] if newest else expected)


def test_a_long_hidden_stretch_ends_a_page_early_and_goes_on() -> None:
    hidden = [(LineKind.ACTION, Audience.SELF)] * 2_000
    kept = cast("Journal", Kept([*hidden, (LineKind.SPEECH, Audience.ALL)]))
    place: int | None = 0
    pages, found = 0, list[str]()
    while place is not None:
        lines, place = collect_visible_session_lines(
            kept, "s", VisibleKinds(), limit=50, after=place
        )
        found += [line.text for line in lines]
        pages += 1
    assert found == ["行 2001"]
    assert 1 < pages < 10


@pytest.mark.parametrize("scope", Scope)
def test_without_a_wish_everybody_sees_what_is_public(scope: Scope) -> None:
    assert lines_visible_to(caller(scope), None) == VisibleKinds(kinds=PUBLIC, private=False)


def test_only_the_owner_names_private_kinds() -> None:
    kinds = frozenset({LineKind.ACTION, LineKind.SPEECH})
    assert lines_visible_to(caller(Scope.OWNER), " action,speech") == VisibleKinds(
        kinds=kinds, private=True
    )
    assert not lines_visible_to(caller(Scope.CHAT), "speech,system").private
    for scope in (Scope.CHAT, Scope.READ):
        with pytest.raises(Refused):
            lines_visible_to(caller(scope), "speech,inner_voice")


@pytest.mark.parametrize("kinds", ["", "speech,", "発言", "SPEECH", "speech system"])
def test_a_kind_that_does_not_exist_is_refused(kinds: str) -> None:
    with pytest.raises(Invalid) as caught:
        lines_visible_to(caller(Scope.OWNER), kinds)
    assert caught.value.field == "kinds"
