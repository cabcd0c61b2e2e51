"""What nobody may find: clearance, filters and agents against generated rows and hostile words."""

import random
from datetime import timedelta
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from opencrab.adapters.search_rows import Batch
from opencrab.adapters.sqlite_search.index import Index
from opencrab.domain.conversation.session import Hearing
from opencrab.domain.erasure.request import ErasureMark, ErasureScope
from opencrab.domain.memory.search_row import RowKind, SearchClearance, SearchRow
from opencrab.ports.memory.search import SearchHit, SearchQuery
from tests.soak import count, examples
from tests.unit.adapters.sqlite_search.shelf import NOW, index_of, lines, mark

CANARIES = count("hostile questions to a limited search")
"""How many hostile queries are made; the full run makes 100,000."""

_SESSIONS = ("s1", "s2", "s3", "")
_PEOPLE = ("p1", "p2", "p3", "")
_GUILDS = ("g1", "g2", "")
_TEXTS = ("温泉", "温泉に行く", "hot spring", "温泉 on Friday", "島根", "!!")
_LINES = (RowKind.SPEECH, RowKind.INSTRUCTION, RowKind.INNER_VOICE)
_KEPT = (RowKind.MEMORY, RowKind.EXPERIENCE, RowKind.SUMMARY)


@st.composite
def _rows(draw: st.DrawFn) -> tuple[SearchRow, ...]:
    """Rows of every kind and hearing, each line and each kept thing once."""
    numbers = draw(st.lists(st.integers(1, 40), max_size=25, unique=True))
    return tuple(_row(number, draw(st.randoms(use_true_random=False))) for number in numbers)


def _row(number: int, chance: random.Random) -> SearchRow:
    is_line = chance.random() < 0.7
    person = chance.choice(_PEOPLE)
    return SearchRow(
        session_id=_SESSIONS[number % 3] if is_line else chance.choice(_SESSIONS),
        sequence=number if is_line else 0,
        kind=chance.choice(_LINES if is_line else _KEPT),
        hearing=chance.choice(list(Hearing)),
        speaker_id=person,
        speaker=person.upper(),
        at=NOW - timedelta(minutes=chance.randrange(200)),
        text=chance.choice(_TEXTS),
        guild_id=chance.choice(_GUILDS),
        ref="" if is_line else f"k{number}",
        importance=chance.choice((0.0, 0.5, 1.0)),
        taint=chance.random() < 0.2,
    )


_CLEARANCES = st.builds(
    SearchClearance,
    whole=st.booleans(),
    session_id=st.sampled_from((*_SESSIONS, "elsewhere")),
    guild_id=st.sampled_from((*_GUILDS, "g9")),
    person_id=st.sampled_from((*_PEOPLE, "p9")),
)
_MOMENTS = st.none() | st.integers(-10, 210).map(lambda ago: NOW - timedelta(minutes=ago))
_QUERIES = st.builds(
    SearchQuery,
    text=st.sampled_from((*_TEXTS, "P1 温泉はいつ?", "温泉 島根 spring")),
    clearance=_CLEARANCES,
    limit=st.just(50),
    session_id=st.none() | st.sampled_from(_SESSIONS),
    kinds=st.frozensets(st.sampled_from(RowKind), max_size=2),
    hearings=st.frozensets(st.sampled_from(Hearing), max_size=2),
    speaker=st.none() | st.sampled_from((*_PEOPLE, "P1", "P9")),
    since=_MOMENTS,
    until=_MOMENTS,
    before=st.none() | st.tuples(st.sampled_from(_SESSIONS), st.integers(0, 41)),
)


def _heard(rows: tuple[SearchRow, ...], clearance: SearchClearance) -> set[str]:
    spoken = (row for row in rows if row.is_spoken)
    return {row.session_id for row in spoken if row.speaker_id == clearance.person_id}


def _may_be_heard(row: SearchRow, rows: tuple[SearchRow, ...], query: SearchQuery) -> bool:
    session_id, number = query.before or ("", 10**6)
    asked = row.session_id == session_id and not row.ref and row.sequence >= number
    return query.clearance.allows(row, _heard(rows, query.clearance)) and not asked


def _fits(row: SearchRow, rows: tuple[SearchRow, ...], query: SearchQuery) -> bool:
    return (
        _may_be_heard(row, rows, query)
        and query.session_id in {None, row.session_id}
        and (not query.kinds or row.kind in query.kinds)
        and (not query.hearings or row.hearing in query.hearings)
        and query.speaker in {None, row.speaker, row.speaker_id}
        and (query.since is None or row.at >= query.since)
        and (query.until is None or row.at <= query.until)
    )


@settings(max_examples=examples(150))
@given(_rows(), _QUERIES)
def test_exactly_what_clearance_and_filters_allow_is_found(
    rows: tuple[SearchRow, ...], query: SearchQuery
) -> None:
    index = index_of(*rows)
    fitting = {row.id for row in rows if _fits(row, rows, query)}
    answer = index.find(query, NOW)
    assert {each.row.id for each in answer} <= fitting
    having = {row.id for row in rows if "温泉" in row.text}
    if "温泉" in query.text:
        assert fitting & having <= {each.row.id for each in answer}
    heard = tuple(row for row in rows if _may_be_heard(row, rows, query))
    shown = {f"{row.speaker}: {row.text}" if row.speaker else row.text for row in heard}
    assert {part for each in answer for part in each.excerpt.split("\n")} <= shown


@settings(max_examples=examples(60))
@given(_rows(), st.randoms(use_true_random=False), st.data())
def test_whatever_the_order_the_answers_are_the_same(
    rows: tuple[SearchRow, ...], chance: random.Random, data: st.DataObject
) -> None:
    marks = data.draw(st.lists(st.sampled_from(_MARKS), max_size=2))
    batches = [*(Batch(rows=(row,)) for row in rows), *marks]
    again = [*batches, *chance.sample(batches, len(batches) // 2)]
    chance.shuffle(again)
    index = Index("a1", None)
    cut = chance.randrange(len(again) + 1)
    index.take(again[:cut], NOW)
    for batch in again[cut:]:
        index.take([batch], NOW)
    known = [each for batch in marks for _, each in batch.marks]
    rebuilt = index_of(*(row for row in rows if not _forgotten(row, known)))
    assert index.content() == rebuilt.content()
    query = data.draw(_QUERIES)
    assert _told(index.find(query, NOW)) == _told(rebuilt.find(query, NOW))


_MARKS = (
    mark(1, lines=(*lines(3, 9), *lines(1, 20, "s2"))),
    mark(2, refs=tuple(f"{kind}:k{n}" for kind in _KEPT for n in range(1, 25))),
    mark(3, scope=ErasureScope.EVERYTHING, everything=True, at=NOW - timedelta(minutes=90)),
)


def _forgotten(row: SearchRow, marks: list[ErasureMark]) -> bool:
    return any(
        (each.everything and row.at <= each.at)
        or row.id in each.refs
        or any(
            not row.ref
            and row.session_id == span.session_id
            and span.first <= row.sequence <= span.last
            for span in each.lines
        )
        for each in marks
    )


def _told(answer: tuple[SearchHit, ...]) -> list[tuple[str, float, tuple[str, ...], str]]:
    return [(each.row.id, each.score, each.why, each.excerpt) for each in answer]


_HOSTILE = (
    '" OR 1=1 --',
    "*",
    "agent_id:other",
    "text:*",
    "NEAR(canary, 10)",
    "-canary",
    "canary*",
    "^canary",
    '"canary" OR "温泉"',
    ") UNION SELECT * FROM row --",
    "合言葉 カナリア",
    "ｶﾅﾘｱ",
    "canary\0other",
    "\ud800canary",
    "{text}: canary",
    "canary AND NOT x",
)


def test_hostile_words_never_bring_out_what_is_not_for_whoever_asks(tmp_path: Path) -> None:
    chance = random.Random(6)  # noqa: S311 - a game of chance, no secret
    own, foreign = _worlds(tmp_path, chance)
    checked = 0
    for _ in range(CANARIES):
        agent, rows, index = chance.choice((own, foreign))
        words = chance.choices((*_HOSTILE, *_TEXTS, "secret of a1", "secret of a2"), k=2)
        query = SearchQuery(
            " ".join(words),
            clearance=SearchClearance(
                whole=chance.random() < 0.1,
                session_id=chance.choice(("a1-s1", "a2-s1", "a1-s5", "a2-s7", "", *_HOSTILE)),
                guild_id=chance.choice((*_GUILDS, *_HOSTILE)),
                person_id=chance.choice((*_PEOPLE, *_HOSTILE)),
            ),
            limit=chance.choice((1, 10, 20)),
            session_id=chance.choice((*[None] * 30, "a1-s2", "a2-s2", *_HOSTILE)),
            speaker=chance.choice((*[None] * 30, "P1", *_HOSTILE)),
            before=chance.choice((None, ("a1-s1", 5), (chance.choice(_HOSTILE), -1))),
        )
        heard = _heard(rows, query.clearance)
        for each in index.find(query, NOW):
            checked += 1
            assert query.clearance.allows(each.row, heard)
            assert each.row.session_id.startswith(agent)
            assert f"secret of {'a2' if agent == 'a1' else 'a1'}" not in each.excerpt
            for part in each.excerpt.split("\n"):
                number = part.rpartition("#")[2]
                assert query.clearance.allows(rows[int(number)], heard)
    assert checked > CANARIES / 4


def _worlds(
    folder: Path, chance: random.Random
) -> tuple[tuple[str, tuple[SearchRow, ...], Index], tuple[str, tuple[SearchRow, ...], Index]]:
    """Two agents, each with sessions of all hearings; the same words but for the secret."""
    a1, a2 = (_world(agent, folder, chance) for agent in ("a1", "a2"))
    return a1, a2


def _world(
    agent: str, folder: Path, chance: random.Random
) -> tuple[str, tuple[SearchRow, ...], Index]:
    rows: list[SearchRow] = []
    for session in range(8):
        heard = list(Hearing)[session % 4]
        for sequence in range(1, 11):
            person = chance.choice(_PEOPLE[:2])
            kind = RowKind.SPEECH if chance.random() < 0.8 else RowKind.INNER_VOICE
            rows.append(
                SearchRow(
                    session_id=f"{agent}-s{session}",
                    sequence=sequence,
                    kind=kind,
                    hearing=heard if kind is RowKind.SPEECH else Hearing.PRIVATE,
                    speaker_id=person,
                    speaker=person.upper(),
                    at=NOW,
                    text=f"canary カナリア 温泉 secret of {agent} #{len(rows)}",
                    guild_id=_GUILDS[session % 3],
                )
            )
    index = Index(agent, folder / agent)
    index.take([Batch(rows=tuple(rows))], NOW)
    return agent, tuple(rows), index
