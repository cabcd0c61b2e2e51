"""Aggregation of turn signals into evidence by day, and of closed days into one total."""

import logging
from collections.abc import Collection, Mapping
from datetime import UTC, date, datetime, timedelta

from opencrab.domain.document import Document, new_fact
from opencrab.domain.learning.aggregate import (
    AggregatedEvidence,
    LearningDay,
    compute_learning_days,
)
from opencrab.domain.learning.evidence import (
    EVIDENCE,
    RECALLED_DAYS,
    STANDING,
    ClosedEvidence,
    Evidence,
)
from opencrab.domain.learning.evidence_retention import (
    RECALLED,
    UNSEEN,
    models_last_seen_in_evidence,
    trim_evidence,
    without_retired_evidence,
)
from opencrab.domain.learning.review_period import (
    OPEN_DAYS,
    last_ended_review_day,
    review_day_midnight,
)
from opencrab.domain.learning.reward_rows import CLOSED_REWARDS, ClosedRewards, KnownRewards
from opencrab.domain.learning.signals import KEPT_DAYS
from opencrab.ports.clock import Clock
from opencrab.ports.documents import Documents
from opencrab.ports.home import Home
from opencrab.ports.learning import read_turn_opinions, read_turn_signals
from opencrab.ports.paging import paginate

log = logging.getLogger(__name__)

_PAGE = 500
_STANDING_AND_DAYS = 200
_BEFORE = timedelta(hours=6)
"""Longest time between a turn's first call and its end."""

_REMOVED_AT_ONCE = 20


def aggregate_evidence_of_day(
    home: Home,
    clock: Clock,
    agent_id: str,
    ended: date,
    worded: Mapping[str, datetime],
    *,
    graded: bool = True,
) -> AggregatedEvidence:
    """Compute the evidence known when a day has ended, without writing it.

    Days that are not closed are computed again from their turns' signals and the feedback so far; a
    day whose signals have expired counts as it is stored. `worded` is when each skill got its
    current text: measurements before that are dropped. Without grades (`graded` false) the result
    must not be saved.
    """
    stored = home.facts.page(agent_id, EVIDENCE, limit=_STANDING_AND_DAYS)
    today = clock.now().astimezone(UTC).date()
    standing = next((x.read(ClosedEvidence) for x in stored if x.id == STANDING), ClosedEvidence())
    standing = _of_a_right_clock(_fresh(standing, worded), clock.now(), agent_id)
    first = whole = max(ended, today) - timedelta(days=KEPT_DAYS - 1)
    if standing.closed_to:
        first = max(first, date.fromisoformat(standing.closed_to) + timedelta(days=1))
    known = learning_days(home, agent_id, first, max(ended, today), worded, graded=graded)
    days = {day: each.evidence for day, each in known.items()}
    for fact in stored:
        if fact.id == STANDING or not standing.closed_to < fact.id <= ended.isoformat():
            continue
        if (day := date.fromisoformat(fact.id)) < whole:
            as_stored = ClosedEvidence(closed_to=fact.id, evidence=fact.read(Evidence))
            days[day] = _fresh(as_stored, worded).evidence
        else:
            # All signals of the day's turns were erased.
            days.setdefault(day, Evidence())
    closed = home.facts.get(agent_id, CLOSED_REWARDS, CLOSED_REWARDS)
    worths = KnownRewards(
        closed.read(ClosedRewards).with_texts(worded) if closed else None,
        {day: each.worths for day, each in known.items()},
    )
    return split_open_and_closed_evidence(ended, standing, days, stored, worths)


def split_open_and_closed_evidence(
    ended: date,
    standing: ClosedEvidence,
    days: Mapping[date, Evidence],
    stored: tuple[Document, ...] = (),
    worths: KnownRewards | None = None,
) -> AggregatedEvidence:
    """Split days into those to be closed and the last OPEN_DAYS days up to `ended`."""
    opens = ended - timedelta(days=OPEN_DAYS - 1)
    return AggregatedEvidence(
        ended=ended,
        stored=stored,
        standing=standing,
        closing={day: each for day, each in days.items() if day < opens},
        open={day: each for day, each in days.items() if opens <= day <= ended},
        later={day: each for day, each in days.items() if day > ended},
        worths=worths or KnownRewards(),
    )


def save_evidence(
    facts: Documents, agent_id: str, folded: AggregatedEvidence, skills: Collection[str]
) -> None:
    """Save evidence: open days replace their stored values, closed days are added up once.

    Closing drops the evidence of skills that are not in `skills`. Raises Changed if another process
    closed a day meanwhile.
    """
    known = {fact.id: fact for fact in folded.stored}
    days = (
        new_fact(agent_id, EVIDENCE, day.isoformat(), evidence).replaced(version=0)
        for day, evidence in folded.open.items()
    )
    changed = [x for x in days if x.id not in known or known[x.id].body != x.body]
    if changed:
        facts.commit(*changed)
    before = known.get(STANDING)
    held = before.read(ClosedEvidence) if before else ClosedEvidence()
    if not folded.closing and folded.standing == held:
        return
    standing = close_evidence_days(folded, skills) if folded.closing else folded.standing
    total = (
        before.with_body(standing) if before else new_fact(agent_id, EVIDENCE, STANDING, standing)
    )
    gone = [
        fact.removed().replaced(version=0)
        for name, fact in known.items()
        if name != STANDING and name <= standing.closed_to
    ]
    worths = list[Document]()
    if folded.closing:
        closed = folded.worths.close(folded.standing, folded.closing, skills)
        worths = [new_fact(agent_id, CLOSED_REWARDS, CLOSED_REWARDS, closed).replaced(version=0)]
    # Days that remain stored no longer count: `closed_to` says which ones are in the total.
    facts.commit(total, *worths, *gone[:_REMOVED_AT_ONCE])


def close_evidence_days(folded: AggregatedEvidence, skills: Collection[str]) -> ClosedEvidence:
    """Add the days to be closed to the total, without retired subjects, at a bounded size."""
    newest, before = max(folded.closing), folded.standing
    evidence = sum(folded.closing.values(), before.evidence)
    seen = models_last_seen_in_evidence({newest: before.evidence}, {}) | before.seen
    oldest = (newest - UNSEEN).isoformat()
    seen = {
        name: day
        for name, day in models_last_seen_in_evidence(folded.closing, seen).items()
        if day > oldest
    }
    since = review_day_midnight(newest - timedelta(days=RECALLED_DAYS))
    recalled = {name: each for name, each in evidence.recalled.items() if each.at >= since}
    evidence = without_retired_evidence(evidence, skills, seen).replaced(recalled=recalled)
    return ClosedEvidence(
        closed_to=newest.isoformat(), seen=seen, evidence=trim_evidence(evidence, RECALLED)
    )


def _of_a_right_clock(standing: ClosedEvidence, now: datetime, agent_id: str) -> ClosedEvidence:
    """Set back a `closed_to` that a fast clock moved into the future."""
    ended = last_ended_review_day(now, 0)
    if standing.closed_to <= ended.isoformat():
        return standing
    closed_to = (ended - timedelta(days=OPEN_DAYS)).isoformat()
    log.warning(
        "evidence of agent %s was closed up to %s, which is in the future; using %s",
        agent_id,
        standing.closed_to,
        closed_to,
    )
    return standing.replaced(closed_to=closed_to)


def _fresh(standing: ClosedEvidence, worded: Mapping[str, datetime]) -> ClosedEvidence:
    """Return closed days without skills whose text changed since they were closed."""
    old = {name for name, at in worded.items() if at.date().isoformat() > standing.closed_to}
    known = standing.evidence.skills
    skills = {key: each for key, each in known.items() if key.partition("/")[0] not in old}
    return standing.replaced(evidence=standing.evidence.replaced(skills=skills))


def learning_days(
    home: Home,
    agent_id: str,
    first: date,
    ended: date,
    worded: Mapping[str, datetime],
    *,
    graded: bool = True,
) -> dict[date, LearningDay]:
    """Compute what each day from `first` to `ended` shows from its turns' signals.

    Grades, which a model gives its own answers, require reading the rows of all calls, so they are
    optional.
    """
    since = review_day_midnight(first)
    signals = read_turn_signals(home.facts, agent_id, since) if first <= ended else ()
    if not signals:
        return {}
    said, grades = read_turn_opinions(home.facts, agent_id, since), dict[str, float]()
    if graded:
        rows = paginate(
            home.usage.rows, agent_id, limit=_PAGE, since=since - _BEFORE, oldest_first=True
        )
        grades = {row.id: row.quality_score for row in rows if row.quality_score is not None}
    return compute_learning_days(signals, said, grades, ended=ended, worded=worded)
