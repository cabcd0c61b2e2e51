"""The nightly review of one agent's day or week: evidence, decisions, and the report.

After many new sessions its skills are reviewed during the day as well. No model is called. Every
step can be repeated: days are computed again, changes have ids derived from the run, and the last
write marks the run as done. A frozen agent is measured, but nothing is changed or proposed.
"""

import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

from opencrab.domain.agents.agent import Profile
from opencrab.domain.document import new_fact
from opencrab.domain.errors import Changed, Conflict, Invalid, NotFound, Refused
from opencrab.domain.learning.change import Adjustment
from opencrab.domain.learning.evidence import RECALLED_DAYS
from opencrab.domain.learning.model_selection import day_budget_of_bandit
from opencrab.domain.learning.review_period import (
    KEPT,
    NIGHT,
    OPEN_DAYS,
    NightlyRun,
    ReviewPeriod,
    ReviewResult,
    ReviewSpan,
    Standstill,
    last_ended_review_day,
    newest_period,
    review_period_of_day,
    review_useless_searches,
)
from opencrab.domain.money.budget import INSTALLATION
from opencrab.domain.skills.skill import SKILL, SKILLS_KEPT, AcquiredSkill
from opencrab.engine.learning.aggregation import aggregate_evidence_of_day, save_evidence
from opencrab.engine.learning.candidate_models import ready_candidate_models
from opencrab.engine.learning.changes import (
    LearningChange,
    learned_mind,
    recent_adjustments,
    store_adjustment,
)
from opencrab.engine.learning.nightly.experiences import (
    experience_proposals,
    nightly_experience_search_hits,
)
from opencrab.engine.learning.nightly.models import learned_mixes
from opencrab.engine.learning.nightly.schedule import current_review_period, parse_review_message
from opencrab.engine.learning.nightly.skills import (
    decide_skill_trials_nightly,
    review_skills,
    skill_proposals,
    store_skill_holdouts,
)
from opencrab.engine.learning.report.report import PeriodSummary, report_period, write_report
from opencrab.engine.learning.snapshot import NightlyContext
from opencrab.engine.models.preferences import current_model_preferences
from opencrab.engine.retry import retry_after_changes
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.run import Pace
from opencrab.ports.agents import Agents
from opencrab.ports.documents import Documents
from opencrab.ports.learning import text_times_of_skills
from opencrab.ports.turn.queue import Delivery, MessageOutcome, Queue

log = logging.getLogger(__name__)

SECONDS = 30.0
"""Least remaining seconds of the function with which a review is started."""

RECENT = timedelta(days=62)
"""Age of the oldest adjustments that are read: 30 days as a proposal, 30 days of cooldown."""

_LATER_SECONDS = 5


def run_nightly_review(
    runtime: Runtime,
    delivery: Delivery,
    pace: Pace,
    *,
    tell: Callable[[ReviewResult], None] | None = None,
) -> MessageOutcome:
    """Review the period that a queue message names, unless that is done, and pass it to `tell`.

    A malformed message goes to the dead-letter queue; an agent that no longer exists is skipped;
    other errors are retried. Raises Unavailable if a store cannot be reached.
    """
    if pace.stopping() or pace.seconds_left() < SECONDS:
        return _later(runtime.home.nights, delivery)
    try:
        agent_id, stretch = parse_review_message(delivery.body)
    except Invalid as error:
        runtime.home.nights.dead_letter(delivery.body, group=delivery.group, reason=error.message)
        return MessageOutcome.FINISHED
    try:
        if _is_done(runtime.home.facts, agent_id, stretch):
            return MessageOutcome.FINISHED
        looked = _review_agent_period(runtime, agent_id, stretch)
    except Changed:
        return _later(runtime.home.nights, delivery)
    except NotFound:
        if _is_there(runtime.home.agents, agent_id):
            raise
        return MessageOutcome.FINISHED
    if tell is not None:
        tell(looked)
    return MessageOutcome.FINISHED


def review_agent_now(
    runtime: Runtime, agent_id: str, period: str, *, dry_run: bool = False
) -> ReviewResult:
    """Review an agent's last whole day or week, or its skills, now.

    With `dry_run` nothing is written. A period that was reviewed before is returned again without
    new changes. Raises NotFound, Invalid for a period other than daily, weekly and review, Changed
    and Unavailable.
    """
    if period not in {span.value for span in ReviewSpan}:
        cure = "use daily, weekly or review"
        raise Invalid(f"{period[:100]!r} is not a valid period", field="period", cure=cure)
    if period == ReviewSpan.REVIEW:
        stretch = current_review_period(runtime, agent_id)
    else:
        stretch = newest_period(ReviewSpan(period), last_ended_review_day(runtime.clock.now(), 0))
    return retry_after_changes(
        lambda: _review_agent_period(runtime, agent_id, stretch, dry_run=dry_run), tries=3
    )


def _review_agent_period(
    runtime: Runtime, agent_id: str, stretch: ReviewPeriod, *, dry_run: bool = False
) -> ReviewResult:
    """Review one period of an agent; raises NotFound, Changed and Unavailable.

    Decisions are made by day: a week first reviews its last day, then only reports.
    """
    profile = runtime.home.agents.get(agent_id)
    current_model_preferences(runtime)
    fact = runtime.home.facts.get(agent_id, NIGHT, stretch.id)
    night = fact.read(NightlyRun) if fact else NightlyRun(at=runtime.clock.now())
    if dry_run or night.done_at is not None:
        scene = _scene(runtime, profile, stretch, night.at)
        return _foreseen(scene, stretch, done=night.done_at is not None)
    last_day = review_period_of_day(stretch.last)
    if stretch.span is ReviewSpan.WEEKLY and not _is_done(runtime.home.facts, agent_id, last_day):
        _review_agent_period(runtime, agent_id, last_day)
    if fact is None:
        begun = new_fact(agent_id, NIGHT, stretch.id, night, expires_at=night.at + KEPT)
        runtime.home.facts.commit(begun)
        fact = begun
    scene = _scene(runtime, profile, stretch, night.at)
    work = _review if stretch.span is ReviewSpan.REVIEW else _night
    looked = work(scene, stretch)
    runtime.home.facts.commit(fact.with_body(night.replaced(done_at=runtime.clock.now())))
    return looked


def _night(scene: NightlyContext, stretch: ReviewPeriod) -> ReviewResult:
    """Save the evidence of a day or week, decide on changes, and write the report."""
    names = {skill.name for skill in scene.skills}
    save_evidence(scene.runtime.home.facts, scene.agent.id, scene.known, names)
    changes, standstills = learned_mixes(scene) if scene.agent.answers else ((), ())
    if stretch.span is ReviewSpan.DAILY and scene.changes:
        _write(scene, changes)
        _revise(scene)
    scene, during = _again(scene), report_period(scene, stretch)
    looked = _period_summary(scene, stretch, during, standstills)
    if scene.agent.answers:
        looked = write_report(scene, looked, during)
    if looked.problem:
        shown = stretch.id, scene.agent.id, looked.problem
        log.warning("report is incomplete: period=%s, agent=%s, problem=%s", *shown)
    return looked


def _review(scene: NightlyContext, stretch: ReviewPeriod) -> ReviewResult:
    """Decide on skills only; the day's nightly run saves its evidence and reports."""
    _revise(scene)
    return _period_summary(_again(scene), stretch, report_period(scene, stretch), ())


def _is_done(facts: Documents, agent_id: str, stretch: ReviewPeriod) -> bool:
    """Return True if a period was reviewed; costs one read."""
    fact = facts.get(agent_id, NIGHT, stretch.id)
    return fact is not None and fact.read(NightlyRun).done_at is not None


def _is_there(agents: Agents, agent_id: str) -> bool:
    try:
        agents.get(agent_id)
    except NotFound:
        return False
    return True


def _revise(scene: NightlyContext) -> None:
    """End and begin trials of skills, then make proposals, by all evidence so far.

    Days after the period count too, since a review during the day used them already.
    """
    if scene.changes:
        known = _so_far(scene)
        _write(known, decide_skill_trials_nightly(known))
        known = _again(known)
        store_skill_holdouts(known)
        _write(known, (*skill_proposals(known, review_skills(known)), *experience_proposals(known)))


def _write(scene: NightlyContext, changes: tuple[LearningChange, ...]) -> None:
    """Make changes; one that conflicts with another is skipped, all if the agent has retired."""
    home, agent_id = scene.runtime.home, scene.agent.id
    for change in changes:
        try:
            if home.agents.get(agent_id).agent.answers:
                store_adjustment(home.facts, agent_id, change)
        except Changed:
            raise
        except (Conflict, Refused) as error:
            log.info("learning change skipped: agent=%s, error=%s", agent_id, error.message)


def _foreseen(scene: NightlyContext, stretch: ReviewPeriod, *, done: bool) -> ReviewResult:
    """Return what a review would do, or did before, without changing anything."""
    is_review = stretch.span is ReviewSpan.REVIEW
    changes, standstills = ((), ()) if is_review else learned_mixes(scene)
    looked = _period_summary(scene, stretch, report_period(scene, stretch), standstills)
    looked = looked.replaced(dry_run=not done, done_before=done)
    if done or stretch.span is ReviewSpan.WEEKLY or not scene.changes:
        return looked
    known = _so_far(scene)
    skills = (*decide_skill_trials_nightly(known), *skill_proposals(known, looked.reviews))
    following = (*changes, *skills, *experience_proposals(known))
    return looked.replaced(adjustments=tuple(each.adjustment for each in following))


def _period_summary(
    scene: NightlyContext,
    stretch: ReviewPeriod,
    during: PeriodSummary,
    standstills: tuple[Standstill, ...],
) -> ReviewResult:
    """Return the summary of a review, with changes that people made in the period."""
    days, since = len(stretch.days), stretch.end_time() - timedelta(days=RECALLED_DAYS)
    adjusted = tuple(each for each in scene.recent if _belongs(each, stretch))
    moved = {each.subject for each in adjusted}
    return ReviewResult(
        agent_id=scene.agent.id,
        period=stretch.id,
        first=stretch.first,
        last=stretch.last,
        turns=during.evidence.turns,
        judged=during.evidence.judged,
        spent_micro_usd=during.spent_micro_usd,
        budget_micro_usd=scene.day_micro_usd * days,
        adjustments=adjusted,
        reviews=review_skills(_so_far(scene)),
        standstills=tuple(each for each in standstills if each.subject not in moved),
        junk=review_useless_searches(scene.evidence.memories_recalled, since),
        lived=review_useless_searches(nightly_experience_search_hits(scene), since),
    )


def _belongs(each: Adjustment, stretch: ReviewPeriod) -> bool:
    """Return True if a change was made in the period, or made or ended by its runs.

    A review has only its own changes; the day's nightly run reports them too.
    """
    if stretch.span is ReviewSpan.REVIEW:
        return each.by == stretch.id
    nights = {review_period_of_day(day).id for day in stretch.days}
    in_time = stretch.start_time() <= each.at < stretch.end_time()
    by_night = each.by.startswith(f"{ReviewSpan.DAILY.value}-")
    return bool({each.by, each.ended_by} & nights) or (in_time and not by_night)


def _scene(
    runtime: Runtime, profile: Profile, stretch: ReviewPeriod, at: datetime
) -> NightlyContext:
    """Load what is known of an agent at the end of a period, or of a day so far."""
    agent, facts = profile.agent, runtime.home.facts
    skills = _skills(runtime, agent.id)
    worded = text_times_of_skills(skills)
    graded = stretch.span is not ReviewSpan.REVIEW
    known = aggregate_evidence_of_day(
        runtime.home, runtime.clock, agent.id, stretch.last, worded, graded=graded
    )
    first = stretch.last - timedelta(days=OPEN_DAYS - 1)
    tallies = runtime.home.tallies.between(agent.id, first.isoformat(), stretch.last.isoformat())
    limits = runtime.rules.limits.changed(runtime.home.budgets.limits())
    return NightlyContext(
        runtime=runtime,
        agent=agent,
        mind=learned_mind(facts, agent.id),
        skills=skills,
        known=known,
        tallies=tallies,
        recent=recent_adjustments(facts, agent.id, at - RECENT),
        at=at,
        period=stretch.id,
        frozen=not {agent.id, INSTALLATION}.isdisjoint(runtime.home.switches.all_frozen()),
        trials=runtime.rules.trials,
        routing=runtime.models.routing,
        choices=dict(ready_candidate_models(runtime, agent)),
        day_micro_usd=day_budget_of_bandit(agent, limits.agent_day(agent.day_limit_micro_usd)),
    )


def _so_far(scene: NightlyContext) -> NightlyContext:
    """Return the context with the days since the period ended."""
    return replace(scene, known=scene.known.through_now)


def _again(scene: NightlyContext) -> NightlyContext:
    """Return the context with the agent's state, skills and adjustments read again."""
    facts, agent_id = scene.runtime.home.facts, scene.agent.id
    return replace(
        scene,
        mind=learned_mind(facts, agent_id),
        skills=_skills(scene.runtime, agent_id),
        recent=recent_adjustments(facts, agent_id, scene.at - RECENT),
    )


def _skills(runtime: Runtime, agent_id: str) -> tuple[AcquiredSkill, ...]:
    page = runtime.home.facts.page(agent_id, SKILL, limit=SKILLS_KEPT + 1)
    skills = (fact.read(AcquiredSkill) for fact in page)
    return tuple(skill for skill in skills if runtime.skills.find(skill.name) is None)


def _later(nights: Queue, delivery: Delivery) -> MessageOutcome:
    nights.continue_later(delivery.receipt, _LATER_SECONDS)
    return MessageOutcome.CONTINUE
