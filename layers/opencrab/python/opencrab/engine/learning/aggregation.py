"""Aggregation of turn signals into evidence by day, and of closed days into one total."""

import logging
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from functools import cached_property

from opencrab.domain.document import Document, new_fact
from opencrab.domain.identifier import new_ulid
from opencrab.domain.learning.aggregate import LearningDay, compute_learning_days
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
from opencrab.domain.learning.reward import turn_feedback_opinions
from opencrab.domain.learning.reward_model import RewardSums
from opencrab.domain.learning.reward_rows import CLOSED_REWARDS, ClosedRewards, KnownRewards
from opencrab.domain.learning.signals import KEPT_DAYS, SIGNALS, TurnSignals, signals_id
from opencrab.domain.memory.memory import EXPERIENCE, Experience
from opencrab.ports.clock import Clock
from opencrab.ports.documents import Documents
from opencrab.ports.home import Home
from opencrab.ports.paging import all_pages, paginate
from opencrab.ports.usage.ledger import UsageLedger

log = logging.getLogger(__name__)

_PAGE = 500
_STANDING_AND_DAYS = 200
_BEFORE = timedelta(hours=6)
"""Longest time between a turn's first call and its end."""

_REMOVED_AT_ONCE = 20


@dataclass(frozen=True)
class AggregatedEvidence:
    """Evidence known when a day has `ended`: closed days, days to be closed now, open days.

    `stored` are the documents read; `later` are the days after `ended`, today included, which later
    runs save.
    """

    ended: date
    stored: tuple[Document, ...]
    standing: ClosedEvidence
    closing: dict[date, Evidence]
    open: dict[date, Evidence]
    later: dict[date, Evidence] = field(default_factory=dict)
    worths: KnownRewards = field(default_factory=KnownRewards)

    @cached_property
    def reward_sums(self) -> RewardSums:
        """Sums of the reward model over all days up to `ended`, discounted to that day."""
        days = {**self.closing, **self.open}
        return self.worths.total(self.standing, days, max((self.ended, *days)))

    @property
    def through_now(self) -> "AggregatedEvidence":
        """This evidence with the `later` days counted as open days."""
        return replace(self, open={**self.open, **self.later}, later={})

    @cached_property
    def evidence(self) -> Evidence:
        """Total evidence of all days up to `ended`."""
        days = (*self.closing.values(), *self.open.values())
        return sum(days, self.standing.evidence)

    def until(self, day: date) -> Evidence | None:
        """Return the evidence up to the end of a day; None if it is not over or closed before."""
        if not self.standing.closed_to < day.isoformat() <= self.ended.isoformat():
            return None
        days = {**self.closing, **self.open}
        early = (each for name, each in days.items() if name <= day)
        return sum(early, self.standing.evidence)


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
    must not be saved. Raises Unavailable if a store cannot be reached.
    """
    stored = home.facts.page(agent_id, EVIDENCE, limit=_STANDING_AND_DAYS)
    now = clock.now()
    fact = next((fact for fact in stored if fact.id == STANDING), None)
    standing = _fresh(fact.read(ClosedEvidence) if fact else ClosedEvidence(), worded)
    standing = _of_a_right_clock(standing, now, agent_id)
    whole = max(ended - timedelta(days=KEPT_DAYS - 1), _day(now - timedelta(days=KEPT_DAYS - 1)))
    first = whole
    if standing.closed_to:
        first = max(first, date.fromisoformat(standing.closed_to) + timedelta(days=1))
    known = learning_days(home, agent_id, first, max(ended, _day(now)), worded, graded=graded)
    days = {day: each.evidence for day, each in known.items()}
    for fact in stored:
        if fact.id == STANDING or not standing.closed_to < fact.id <= ended.isoformat():
            continue
        if (day := date.fromisoformat(fact.id)) < whole:
            days[day] = _known_then(fact, worded)
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
    """Split days into those to be closed and the last OPEN_DAYS days up to `ended`.

    Days after `ended` are kept apart as `later`.
    """
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
    changed = [
        fact
        for day, evidence in folded.open.items()
        if (fact := _fact(agent_id, day.isoformat(), evidence)).body
        != (known[fact.id].body if fact.id in known else None)
    ]
    if changed:
        facts.commit(*changed)
    before = known[STANDING].read(ClosedEvidence) if STANDING in known else ClosedEvidence()
    if folded.closing or folded.standing != before:
        _close(facts, agent_id, folded, skills)


def _close(
    facts: Documents, agent_id: str, folded: AggregatedEvidence, skills: Collection[str]
) -> None:
    standing = close_evidence_days(folded, skills) if folded.closing else folded.standing
    before = next((fact for fact in folded.stored if fact.id == STANDING), None)
    fact = (
        before.with_body(standing) if before else new_fact(agent_id, EVIDENCE, STANDING, standing)
    )
    gone = [
        fact.removed().replaced(version=0)
        for fact in folded.stored
        if fact.id != STANDING and fact.id <= standing.closed_to
    ]
    worths = list[Document]()
    if folded.closing:
        closed = folded.worths.close(folded.standing, folded.closing, skills)
        worths = [new_fact(agent_id, CLOSED_REWARDS, CLOSED_REWARDS, closed).replaced(version=0)]
    # Days that remain stored no longer count: `closed_to` says which ones are in the total.
    facts.commit(fact, *worths, *gone[:_REMOVED_AT_ONCE])


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


def _known_then(fact: Document, worded: Mapping[str, datetime]) -> Evidence:
    """Return a stored day's evidence without skills whose text changed since."""
    day = ClosedEvidence(closed_to=fact.id, evidence=fact.read(Evidence))
    return _fresh(day, worded).evidence


def _day(at: datetime) -> date:
    return at.astimezone(UTC).date()


def _fresh(standing: ClosedEvidence, worded: Mapping[str, datetime]) -> ClosedEvidence:
    """Return closed days without skills whose text changed since they were closed."""

    def is_old(key: str) -> bool:
        at = worded.get(key.partition("/")[0])
        return at is not None and at.date().isoformat() > standing.closed_to

    skills = {key: each for key, each in standing.evidence.skills.items() if not is_old(key)}
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
    if first > ended:
        return {}
    signals = tuple(_signals(home.facts, agent_id, review_day_midnight(first)))
    if not signals:
        return {}
    said = turn_feedback_opinions(_experiences(home.facts, agent_id, review_day_midnight(first)))
    grades = _grades(home.usage, agent_id, review_day_midnight(first) - _BEFORE) if graded else {}
    return compute_learning_days(signals, said, grades, ended=ended, worded=worded)


def _signals(facts: Documents, agent_id: str, since: datetime) -> Iterator[TurnSignals]:
    kept = all_pages(facts, agent_id, SIGNALS, after=signals_id(since))
    return (fact.read(TurnSignals) for fact in kept)


def _experiences(facts: Documents, agent_id: str, since: datetime) -> Iterator[Experience]:
    """Yield experiences since a time; one about a turn is sorted by the turn's end."""
    after = new_ulid(int(since.timestamp() * 1_000), bytes(10))
    kept = all_pages(facts, agent_id, EXPERIENCE, after=after)
    return (fact.read(Experience) for fact in kept)


def _grades(usage: UsageLedger, agent_id: str, since: datetime) -> dict[str, float]:
    """Return the grades that the agent gave its own answers, by metrics id."""
    rows = paginate(usage.rows, agent_id, limit=_PAGE, since=since, oldest_first=True)
    return {row.id: row.quality_score for row in rows if row.quality_score is not None}


def _fact(agent_id: str, name: str, evidence: Evidence) -> Document:
    return new_fact(agent_id, EVIDENCE, name, evidence).replaced(version=0)
