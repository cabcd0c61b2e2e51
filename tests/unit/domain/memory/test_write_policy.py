"""The gate for memories: what is kept, merged, superseded or refused."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.domain.access.authority import Authority
from opencrab.domain.conversation.session import Hearing, Participant, Session
from opencrab.domain.errors import Refused
from opencrab.domain.memory.memory import EARLIER_KEPT, Memory, Provenance
from opencrab.domain.memory.write_policy import (
    TAINTED_CONFIDENCE,
    MemoryCounts,
    MemoryRefusalReason,
    MemoryVerdict,
    Ruling,
    judge_memory,
    memory_audience,
    memory_confidence,
    memory_provenance,
)

NOW = datetime(2026, 2, 17, 9, 0, tzinfo=UTC)
OWNERS: dict[str, Any] = {"provenance": Provenance.OWNER, "confidence": 0.9}
WEB: dict[str, Any] = {"provenance": Provenance.WEB, "tainted": True, "confidence": 0.5}
CLAIMS = (
    "太郎は緑茶が好き",
    "太郎さんは緑茶が好きです",
    "太郎は緑茶が嫌い",
    "会議は月曜の10時",
    "会議は火曜の11時",
    "The code is 4412",
    "The door code is 4412",
    "The code is 9921",
)


def memory(content: str, number: int = 1, **changes: Any) -> Memory:
    """A memory that Mika made in a turn for her owner."""
    at = NOW + timedelta(minutes=number)
    fields: dict[str, Any] = {
        "id": f"m{number}",
        "category": "fact",
        "session_id": "s1",
        "turn_id": f"t{number}",
        "person_id": "owner",
        "created_at": at,
        "updated_at": at,
        **OWNERS,
        **changes,
    }
    return Memory(content=content, **fields)


def kept(verdict: MemoryVerdict) -> Memory:
    assert verdict.memory is not None
    return verdict.memory


memories = st.builds(
    memory,
    st.sampled_from(CLAIMS),
    st.integers(2, 9),
    tainted=st.booleans(),
    provenance=st.sampled_from(Provenance),
    hearing=st.sampled_from(Hearing),
    person_id=st.sampled_from(["owner", "ken"]),
    confidence=st.sampled_from([0.3, 0.5, 0.9]),
)


@pytest.mark.parametrize(
    ("old", "new", "wins"),
    [
        ("太郎は緑茶が好き", "太郎さんは緑茶が好きです", "太郎さんは緑茶が好きです"),
        ("Taro likes strong green tea", "Taro likes green tea", "Taro likes strong green tea"),
        ("The code is 4412", "The code is 4412", "The code is 4412"),
    ],
)
def test_the_same_again_confirms_what_is_there(old: str, new: str, wins: str) -> None:
    stored = memory(old, importance=0.9)
    verdict = judge_memory(memory(new, 2, importance=0.2), [stored])
    after = kept(verdict)
    assert (verdict.ruling, after.id, after.content) == (Ruling.MERGED, "m1", wins)
    assert (after.merged, after.importance) == (1, 0.9)
    assert stored.confidence < after.confidence < 1
    assert [each.content for each in after.earlier] == [x for x in (old, new) if x != wins]
    assert after.created_at == stored.created_at < after.updated_at


@pytest.mark.parametrize(
    ("old", "new"),
    [("会議は月曜の10時", "会議は火曜の10時"), ("Taro likes tea", "Taro doesn't like tea")],
)
def test_a_contradiction_takes_the_place_and_leaves_the_old_in_the_history(
    old: str, new: str
) -> None:
    verdict = judge_memory(memory(new, 2), [memory(old)])
    after = kept(verdict)
    assert (verdict.ruling, after.id, after.content) == (Ruling.SUPERSEDED, "m1", new)
    (earlier,) = after.earlier
    assert (earlier.content, earlier.reason, earlier.turn_id) == (old, "contradicted", "t1")
    assert (after.turn_id, after.created_at) == ("t2", memory(old).created_at)


def test_what_the_author_names_is_replaced_whatever_it_says() -> None:
    old = memory("太郎は東京に住んでいる")
    verdict = judge_memory(memory("太郎は大阪に住んでいる", 2), [old], replaces=old)
    assert verdict.ruling is Ruling.SUPERSEDED
    assert kept(verdict).earlier[0].reason == "replaced"


@pytest.mark.parametrize(
    ("content", "changes", "reason"),
    [
        (" \n", {}, MemoryRefusalReason.BLANK),
        ("\u200b\u3164", {}, MemoryRefusalReason.BLANK),
        ("!?…", {}, MemoryRefusalReason.SAYS_NOTHING),
        ("太郎", {"session_id": "", "turn_id": "", "person_id": ""}, MemoryRefusalReason.UNSOURCED),
        ("太郎は緑茶が好きで、毎朝それを飲む。" * 10, {}, MemoryRefusalReason.NOT_ATOMIC),
        ("Taro likes tea. He drinks it every day. " * 5, {}, MemoryRefusalReason.NOT_ATOMIC),
        ("緑茶と紅茶と麦茶、" * 100, {}, MemoryRefusalReason.NOT_ATOMIC),
        ("- tea for Taro\n" * 20, {}, MemoryRefusalReason.NOT_ATOMIC),
    ],
)
def test_what_is_no_single_sourced_claim_is_refused(
    content: str, changes: dict[str, Any], reason: MemoryRefusalReason
) -> None:
    assert judge_memory(memory(content, **changes), []) == MemoryVerdict(
        Ruling.REFUSED, reason=reason
    )


@pytest.mark.parametrize(
    "content",
    ["蟹", "42", "Taro likes tea. He hates coffee.", "太郎は緑茶が好き。花子は嫌い。", "茶" * 700],
)
def test_one_claim_is_kept(content: str) -> None:
    assert judge_memory(memory(content), []).ruling is Ruling.KEPT


def test_a_summary_may_have_many_claims() -> None:
    long = "太郎は緑茶が好き。花子は紅茶が好き。" * 20
    assert judge_memory(memory(long, category="session_summary"), []).ruling is Ruling.KEPT


@given(memories.filter(lambda each: not each.tainted), st.sampled_from(CLAIMS), st.booleans())
def test_foreign_words_never_touch_what_somebody_vouches_for(
    stored: Memory,
    content: str,
    named: bool,  # noqa: FBT001 - hypothesis gives it
) -> None:
    new = memory(content, 1, **WEB, hearing=stored.hearing, person_id=stored.person_id)
    verdict = judge_memory(new, [stored], replaces=stored if named else None)
    assert verdict in {
        MemoryVerdict(Ruling.KEPT, new),
        MemoryVerdict(Ruling.REFUSED, stored, MemoryRefusalReason.KNOWN),
    }
    assert new.confidence <= TAINTED_CONFIDENCE


def test_a_clean_word_cleans_what_foreign_words_said_before() -> None:
    stored = memory("The door codes are 4412", **WEB)
    after = kept(judge_memory(memory("The door code is 4412", 2), [stored]))
    assert (after.content, after.tainted) == ("The door code is 4412", False)
    assert (after.confidence, after.provenance) == (0.9, Provenance.OWNER)
    assert after.earlier[0].content == stored.content


def test_repetition_makes_foreign_words_no_surer_than_they_may_be() -> None:
    stored = memory("The code is 4412", **WEB)
    for number in range(2, 9):
        stored = kept(judge_memory(memory("The code is 4412", number, **WEB), [stored]))
    assert (stored.confidence, stored.merged, stored.tainted) == (TAINTED_CONFIDENCE, 7, True)


@pytest.mark.parametrize(
    "elsewhere",
    [
        {"hearing": Hearing.SESSION},
        {"hearing": Hearing.PUBLIC},
        {"hearing": Hearing.PRIVATE, "provenance": Provenance.USER, "person_id": "ken"},
    ],
)
def test_what_is_told_to_others_or_said_by_others_stands_beside(elsewhere: dict[str, Any]) -> None:
    ours = {"provenance": elsewhere.get("provenance", Provenance.OWNER)}
    stored = memory("The code is 4412", **elsewhere)
    assert judge_memory(memory("The code is 4412", 2, **ours), [stored]).ruling is Ruling.KEPT


def test_a_user_does_not_change_what_the_owner_opened() -> None:
    stored = memory("The code is 4412", hearing=Hearing.GUILD, guild_id="g")
    ken = {"provenance": Provenance.USER, "person_id": "ken"}
    ken |= {"hearing": Hearing.GUILD, "guild_id": "g"}
    assert judge_memory(memory("The code is 9921", 2, **ken), [stored]).ruling is Ruling.KEPT
    known = judge_memory(memory("The code is 4412", 2, **ken), [stored])
    assert (known.ruling, known.reason) == (Ruling.REFUSED, MemoryRefusalReason.KNOWN)


@given(memories, st.lists(memories, max_size=4, unique_by=lambda each: each.id))
def test_the_order_of_what_is_similar_is_irrelevant(new: Memory, others: list[Memory]) -> None:
    new = new.replaced(id="m1")
    assert judge_memory(new, others) == judge_memory(new, others[::-1])


@given(memories, memories)
def test_merging_twice_says_the_same_as_merging_once(new: Memory, stored: Memory) -> None:
    new, stored = new.replaced(id="m10"), stored.replaced(id="m11")
    once = judge_memory(new, [stored])
    if once.ruling in {Ruling.MERGED, Ruling.SUPERSEDED}:
        twice = judge_memory(new, [kept(once)])
        assert twice.ruling is Ruling.MERGED
        assert kept(twice).content == kept(once).content
        assert kept(twice).earlier == kept(once).earlier


@given(st.lists(st.sampled_from(CLAIMS), max_size=40))
def test_the_history_has_an_end(claims: list[str]) -> None:
    stored = memory("会議は月曜の10時")
    for number, content in enumerate(claims, start=2):
        stored = kept(judge_memory(memory(content, number), [stored], replaces=stored))
        assert stored.content == content
    assert len(stored.earlier) <= EARLIER_KEPT
    assert Memory.model_validate_json(stored.model_dump_json()) == stored


def test_links_grow_with_what_is_merged_and_never_lead_back() -> None:
    stored = memory("The code is 4412", links=("a", "b"))
    after = kept(judge_memory(memory("The code is 4412", 2, links=("b", "m1", "c")), [stored]))
    assert after.links == ("a", "b", "c")


def session(guild: str | None = None) -> Session:
    return Session(
        id="s1",
        participants=(Participant(agent_id="mika"),),
        guild_id=guild,
        created_by="owner",
        created_at=NOW,
        updated_at=NOW,
    )


@pytest.mark.parametrize(
    ("authority", "taint", "guild", "allowed"),
    [
        (Authority.OWNER, False, "g", set(Hearing)),
        (Authority.SELF, False, None, set(Hearing) - {Hearing.GUILD}),
        (Authority.OWNER, True, "g", {Hearing.PRIVATE}),
        (Authority.USER, False, "g", {Hearing.SESSION, Hearing.GUILD}),
        (Authority.USER, False, None, {Hearing.SESSION}),
        (Authority.USER, True, "g", {Hearing.SESSION}),
    ],
)
def test_who_may_hear_depends_on_whose_word_it_is(
    authority: Authority, *, taint: bool, guild: str | None, allowed: set[Hearing]
) -> None:
    default = memory_audience(None, authority, session(guild), taint=taint)
    own = authority in {Authority.OWNER, Authority.SELF}
    assert default is (Hearing.PRIVATE if own else Hearing.SESSION)
    for chosen in Hearing:
        if chosen in allowed:
            assert memory_audience(chosen, authority, session(guild), taint=taint) is chosen
        else:
            with pytest.raises(Refused):
                memory_audience(chosen, authority, session(guild), taint=taint)


@pytest.mark.parametrize(
    ("authority", "taint", "actions", "whose"),
    [
        (Authority.OWNER, False, ["web_fetch"], Provenance.OWNER),
        (Authority.OWNER, True, [], Provenance.OWNER),
        (Authority.SELF, True, ["web_search"], Provenance.WEB),
        (Authority.SELF, False, [], Provenance.AGENT),
        (Authority.USER, False, [], Provenance.USER),
        (Authority.PEER, True, [], Provenance.PEER),
        (Authority.PUBLIC, True, [], Provenance.PEER),
    ],
)
def test_a_memory_rests_on_the_word_of_who_is_behind_the_turn(
    authority: Authority, *, taint: bool, actions: list[str], whose: Provenance
) -> None:
    assert memory_provenance(authority, taint=taint, actions=actions) is whose
    assert not taint or memory_confidence(whose, taint=taint) <= TAINTED_CONFIDENCE


def test_the_gate_counts_by_reason() -> None:
    gate = (
        MemoryCounts()
        .with_refusal(MemoryRefusalReason.BLANK)
        .with_refusal(MemoryRefusalReason.BLANK)
        .changed(-1)
        .changed(2)
    )
    assert (gate.kept, gate.refused) == (2, {MemoryRefusalReason.BLANK: 2})
    assert MemoryCounts.model_validate(gate.model_dump(mode="json")) == gate
