"""Facts: each has a version, and whoever writes one says which version it follows."""

from datetime import datetime
from typing import Any

import pytest

from opencrab.domain.agents.agent_state import MIND, Agenda, AgentState
from opencrab.domain.document import Document, new_fact
from opencrab.domain.errors import Changed
from opencrab.ports.documents import DUE_PARTS
from opencrab.ports.home import Home
from tests.contract.example import ENGLISH, JAPANESE, due_item, fact, later, profile
from tests.contract.waiting import at_once, eventually


def after(before: Document, text: str = ENGLISH) -> Document:
    """The next version of a fact."""
    return before.replaced(body={"text": text}, version=before.version + 1)


def ids(found: tuple[Document, ...]) -> list[str]:
    return [one.id for one in found]


@pytest.mark.parametrize("text", [JAPANESE, ENGLISH, "「 改行\n\t引用 」\u2028 é e\u0301 🦀"])
@pytest.mark.parametrize("expires_at", [None, later(60.25)])
def test_a_fact_comes_back_as_it_was_written(
    home: Home, text: str, expires_at: datetime | None
) -> None:
    written = fact(text=text, expires_at=expires_at)
    home.facts.commit(written)
    assert home.facts.get("hana", "note", "a") == written


def test_a_fact_that_nobody_wrote_is_none(home: Home) -> None:
    home.facts.commit(fact())
    assert home.facts.get("hana", "note", "b") is None
    assert home.facts.get("hana", "other", "a") is None
    assert home.facts.get("ken", "note", "a") is None


def test_a_first_version_demands_that_there_is_none(home: Home) -> None:
    home.facts.commit(fact())
    with pytest.raises(Changed, match="note 'a'"):
        home.facts.commit(fact(text=ENGLISH))
    assert home.facts.get("hana", "note", "a") == fact()


def test_a_version_follows_the_one_before(home: Home) -> None:
    second = after(fact())
    with pytest.raises(Changed):
        home.facts.commit(second)
    home.facts.commit(fact())
    home.facts.commit(second)
    assert home.facts.get("hana", "note", "a") == second
    for stale in (second, after(fact(), JAPANESE), after(after(second))):
        with pytest.raises(Changed):
            home.facts.commit(stale)
    assert home.facts.get("hana", "note", "a") == second


def test_version_nought_replaces_whatever_there_is_and_counts_on(home: Home) -> None:
    anyway = fact(version=0, expires_at=later(9))
    home.facts.commit(anyway)
    first = home.facts.get("hana", "note", "a")
    assert first == anyway.replaced(version=1)
    home.facts.commit(anyway.replaced(body={"text": ENGLISH}, expires_at=None))
    second = home.facts.get("hana", "note", "a")
    assert second == fact(body={"text": ENGLISH}, version=2)
    assert first is not None
    with pytest.raises(Changed):
        home.facts.commit(after(first))
    home.facts.commit(after(second))


def test_a_removed_fact_is_gone_and_may_be_new_again(home: Home) -> None:
    home.facts.commit(fact())
    with pytest.raises(Changed):
        home.facts.commit(after(fact()).removed())
    home.facts.commit(fact().removed())
    assert home.facts.get("hana", "note", "a") is None
    with pytest.raises(Changed):
        home.facts.commit(fact().removed())
    home.facts.commit(fact(text=ENGLISH))
    home.facts.commit(fact(version=0, body=None), fact("b", version=0, body=None))
    assert home.facts.page("hana", "note") == ()


def test_facts_and_due_items_are_written_together_or_not_at_all(home: Home) -> None:
    home.facts.commit(fact("a"), fact("b").replaced(owner="ken"), due=(due_item("d1"),))
    with pytest.raises(Changed, match="'b'"):
        home.facts.commit(fact("c"), fact("b").replaced(owner="ken"), due=(due_item("d2"),))
    assert ids(home.facts.page("hana", "note")) == ["a"]
    assert ids(home.facts.page("ken", "note")) == ["b"]
    eventually(lambda: [one.id for one in home.due.list_due(later(99), 9)], ["d1"])
    home.facts.commit()


def test_no_transaction_writes_one_fact_twice(home: Home) -> None:
    with pytest.raises(AssertionError, match="twice"):
        home.facts.commit(fact(), after(fact()))
    assert home.facts.get("hana", "note", "a") is None


def test_of_eight_who_count_at_once_each_is_counted(home: Home) -> None:
    home.facts.commit(fact(body={"used": 0}))

    def count(_number: int) -> None:
        while True:
            stored = home.facts.get("hana", "note", "a")
            assert stored is not None
            assert stored.body is not None
            used = stored.body["used"] + 1
            try:
                home.facts.commit(stored.replaced(body={"used": used}, version=stored.version + 1))
            except Changed:
                continue
            return

    at_once(8, count)
    assert home.facts.get("hana", "note", "a") == fact(body={"used": 8}, version=9)


def test_pages_are_in_order_of_ids_from_either_end(home: Home) -> None:
    names = ["a", "a-b", "a.b", "a0", "aa", "b", "B", "_", "2026-02-17"]
    for name in names:
        home.facts.commit(fact(name), fact(name, kind="notes"), fact(name, owner="hana2"))
    names.sort()
    assert ids(home.facts.page("hana", "note")) == names
    assert ids(home.facts.page("hana", "note", newest_first=True)) == names[::-1]
    for place, name in enumerate(names):
        later_ones = home.facts.page("hana", "note", after=name, limit=3)
        assert ids(later_ones) == names[place + 1 : place + 4]
        before = home.facts.page("hana", "note", after=name, limit=3, newest_first=True)
        assert ids(before) == names[:place][::-1][:3]


def test_a_page_begins_after_an_id_that_is_not_there(home: Home) -> None:
    home.facts.commit(*map(fact, "ace"))
    assert ids(home.facts.page("hana", "note", after="b")) == ["c", "e"]
    assert ids(home.facts.page("hana", "note", after="d", newest_first=True)) == ["c", "a"]
    assert ids(home.facts.page("hana", "note", limit=2)) == ["a", "c"]


def test_a_mind_is_read_with_its_agent(home: Home) -> None:
    created = home.agents.create(profile())
    assert created.mind == home.agents.get("hana").mind == AgentState()
    mind = AgentState(agenda=Agenda(last_number=2, open=("G1", "G2")), disabled=("notes",))
    first = new_fact("hana", MIND, MIND, mind)
    home.facts.commit(first)
    assert home.agents.get("hana") == created.replaced(mind=mind)
    assert home.facts.get("hana", MIND, MIND) == first
    assert home.facts.get("ken", MIND, MIND) is None
    home.facts.commit(first.with_body(AgentState()))
    assert home.agents.get("hana") == created
    assert home.facts.page("hana", MIND) == ()


def test_a_mind_is_no_part_of_what_creates_or_saves_an_agent(home: Home) -> None:
    created = home.agents.create(profile())
    mind = AgentState(enabled=("vault",))
    home.facts.commit(new_fact("hana", MIND, MIND, mind))
    assert home.agents.create(profile()) == created.replaced(mind=mind)
    saved = home.agents.save(created.agent.replaced(name="桜"))
    assert home.agents.get("hana") == created.replaced(agent=saved, mind=mind)
    eventually(lambda: home.agents.page(after=None, limit=9), (created.replaced(agent=saved),))


def test_a_body_is_read_as_the_value_that_was_kept(home: Home) -> None:
    remembered = new_fact("hana", MIND, "other", AgentState(enabled=("vault",)))
    home.facts.commit(remembered)
    stored = home.facts.get("hana", MIND, "other")
    assert stored is not None
    assert stored.read(AgentState) == AgentState(enabled=("vault",))
    assert ids(home.facts.page("hana", MIND)) == ["other"]


def due(home: Home, seconds: float = 1_000, limit: int = 10, kind: str = "note") -> list[str]:
    return [f"{one.owner}/{one.id}" for one in home.facts.list_due(kind, later(seconds), limit)]


def at(seconds: float, owner: str = "hana", **changes: Any) -> Document:
    """A new fact that has a time."""
    return fact(owner=owner, due_at=later(seconds), **changes)


def test_several_facts_are_read_by_their_names(home: Home) -> None:
    mind = new_fact("hana", MIND, MIND, AgentState(enabled=("vault",)))
    home.facts.commit(fact("a"), fact("b", kind="other"), fact("a", owner="ken"), mind)
    names = (("other", "b"), (MIND, MIND), ("note", "a"), ("note", "b"), ("other", "a"))
    assert home.facts.get_many("hana", *names) == (fact("b", kind="other"), mind, fact("a"))
    assert home.facts.get_many("hana") == home.facts.get_many("mika", *names) == ()


@pytest.mark.parametrize("version", [0, 1])
def test_facts_of_all_owners_are_found_when_their_time_has_come(home: Home, version: int) -> None:
    seconds = [40, 10.25, 30, 20, 50, 60, 70, 80, 90]
    for number, each in enumerate(seconds):
        home.facts.commit(at(each, owner=f"o{number}", version=version))
    home.facts.commit(at(15, kind="notes"), fact(owner="o99"))
    eventually(lambda: due(home, 40), ["o1/a", "o3/a", "o2/a", "o0/a"])
    assert due(home, 40, limit=2) == ["o1/a", "o3/a"]
    assert due(home, 10.25) == ["o1/a"]
    assert due(home, 10) == due(home, limit=0) == []
    assert due(home, kind="notes") == ["hana/a"]
    parts = [home.facts.list_due("note", later(40), 9, part=part) for part in range(DUE_PARTS)]
    assert sorted(one.owner for part in parts for one in part) == ["o0", "o1", "o2", "o3"]
    assert len([part for part in parts if part]) > 1
    stored = home.facts.list_due("note", later(11), 1)
    assert stored == (at(10.25, owner="o1"),)


def test_a_fact_whose_time_changes_is_found_by_the_new_one_only(home: Home) -> None:
    home.facts.commit(at(10), at(20, owner="ken"))
    home.facts.commit(at(30, version=2))
    eventually(lambda: due(home), ["ken/a", "hana/a"])
    assert due(home, 29) == ["ken/a"]
    home.facts.commit(at(5, version=0))
    eventually(lambda: due(home), ["hana/a", "ken/a"])
    with pytest.raises(Changed):
        home.facts.commit(at(1, version=2))
    assert due(home, 2) == []


@pytest.mark.parametrize("version", [0, 2])
@pytest.mark.parametrize("removed", [True, False])
def test_a_fact_without_a_time_or_that_is_gone_is_not_due(
    home: Home, version: int, *, removed: bool
) -> None:
    home.facts.commit(at(10), at(20, owner="ken"))
    change = fact(version=version, body=None) if removed else fact(version=version)
    home.facts.commit(change)
    eventually(lambda: due(home), ["ken/a"])


def test_a_fact_that_has_expired_hides_no_other_that_is_due(home: Home) -> None:
    home.facts.commit(at(1, expires_at=later(2)), at(3, owner="ken"))
    eventually(lambda: due(home)[-1:], ["ken/a"])


def due_at(seconds: float, version: int, text: str = JAPANESE) -> Document:
    """A version of a fact that is due at a time."""
    return fact(text=text).replaced(due_at=later(seconds), version=version)


@pytest.mark.parametrize("text", [JAPANESE, ENGLISH])
def test_what_is_written_soon_is_seen_at_once(home: Home, text: str) -> None:
    home.facts.commit(due_at(1, 1))
    for number, moment in enumerate((2, 3), 1):
        stored = home.facts.get("hana", "note", "a")
        assert stored is not None
        home.facts.commit_soon(due_at(moment, stored.version + 1, f"{text} {number}"))
    found = home.facts.get("hana", "note", "a")
    assert found is not None
    assert (found.body or {})["text"] == f"{text} 2"
    assert found.due_at == later(3)
    assert home.facts.page("hana", "note") == (found,)
    assert home.facts.get_many("hana", ("note", "a")) == (found,)
    assert home.facts.list_due("note", later(2.5), 9) == ()
    eventually(lambda: home.facts.list_due("note", later(3), 9), (found,))


def test_what_is_written_soon_follows_the_version_before_and_is_followed(home: Home) -> None:
    home.facts.commit(due_at(1, 1))
    with pytest.raises(Changed, match="note 'a'"):
        home.facts.commit_soon(due_at(2, 3))
    home.facts.commit_soon(due_at(2, 2))
    stored = home.facts.get("hana", "note", "a")
    assert stored is not None
    last = due_at(0, stored.version + 1, ENGLISH)
    home.facts.commit(last)
    assert home.facts.get("hana", "note", "a") == last
    home.facts.commit(last.removed())
    assert home.facts.get("hana", "note", "a") is None


def test_a_first_version_may_be_written_soon(home: Home) -> None:
    home.facts.commit_soon(fact())
    assert home.facts.get("hana", "note", "a") == fact()


def test_what_is_due_is_found_in_order_beside_what_was_put_off(home: Home) -> None:
    names = [f"{number}" for number in range(6)]
    for number, name in enumerate(names):
        home.facts.commit(fact(name).replaced(due_at=later(number)))
    for name in names[:3]:
        home.facts.commit_soon(fact(name).replaced(due_at=later(20), version=2))
    eventually(lambda: ids(home.facts.list_due("note", later(9), 2)), names[3:5])
    assert ids(home.facts.list_due("note", later(9), 9)) == names[3:]
    eventually(lambda: len(home.facts.list_due("note", later(20), 9)), len(names))
