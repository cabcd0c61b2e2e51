"""Night: one agent's day or week is looked at: what it told, what follows, and the report on it.

By day its skills are reviewed, after many new sessions. No model is called. Whatever happens on
the way may happen again: days are reckoned anew, changes have ids of the night's own, and the last
write says that the night is done. Of a frozen agent it is measured what there is, and nothing is
changed or proposed.
"""

import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from opencrab.domain.agents.agent import Profile
from opencrab.domain.document import new_fact
from opencrab.domain.errors import Changed, Conflict, Invalid, NotFound, Refused
from opencrab.domain.learning.change import ADJUSTMENT, Adjustment, AdjustmentState, end_adjustment
from opencrab.domain.learning.evidence import RECALLED_DAYS
from opencrab.domain.learning.model_selection import day_budget_for_models
from opencrab.domain.learning.review_period import (
    KEPT,
    NIGHT,
    OPEN_DAYS,
    Looked,
    NightlyRun,
    ReviewPeriod,
    Span,
    Standstill,
    day_period,
    last_ended_review_day,
    newest_period,
    useless_searches,
)
from opencrab.domain.money.budget import INSTALLATION
from opencrab.domain.skills.skill import SKILL, SKILLS_KEPT, AcquiredSkill
from opencrab.engine.learning.aggregation import aggregate_evidence_of_day, save_evidence
from opencrab.engine.learning.changes import (
    LearningChange,
    learned_mind,
    recent_adjustments,
    roll_back_mix,
    write_adjustment,
)
from opencrab.engine.learning.measures import candidate_models
from opencrab.engine.learning.nightly.experiences import (
    experience_proposals,
    search_hits_of_experiences,
)
from opencrab.engine.learning.nightly.models import (
    find_model_regressions,
    learned_mixes,
    subjects_rolled_back,
    update_regression_watches,
)
from opencrab.engine.learning.nightly.schedule import current_review_period, parse_review_message
from opencrab.engine.learning.nightly.skills import (
    decide_skill_trials,
    review_skills,
    skill_proposals,
)
from opencrab.engine.learning.report.report import PeriodSummary, report_period, write_report
from opencrab.engine.learning.snapshot import NightlyContext
from opencrab.engine.models.preferences import current_preferences
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.pace import MessageOutcome, Pace
from opencrab.ports.agents import Agents
from opencrab.ports.documents import Documents
from opencrab.ports.turn.queue import Delivery, Queue

log = logging.getLogger(__name__)

SECONDS = 30.0
"""A night is not begun with less time than this."""

RECENT = timedelta(days=62)
"""How far back adjustments are read: what was proposed, followed and let be, 30 days each."""

_TRIES = 3
_LATER_SECONDS = 5


def run_nightly_review(
    runtime: Runtime,
    delivery: Delivery,
    pace: Pace,
    *,
    tell: Callable[[Looked], None] | None = None,
) -> MessageOutcome:
    """Look at the period that a message names, unless that is done, and `tell` of it.

    A message of unknown form ends among the dead letters, and nobody who is gone is looked at; all
    else that fails is to be tried again. Raises Unavailable when a store is.
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
        looked = review_agent_period(runtime, agent_id, stretch)
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
) -> Looked:
    """Look at an agent's last whole day or week, or review its skills, now.

    With `dry_run` nothing is written. A period that was done is told again, and nothing comes of it
    twice: another review is for the sessions of the next one. Raises NotFound, Invalid for a period
    other than daily, weekly and review, Changed and Unavailable.
    """
    if period not in {span.value for span in Span}:
        cure = "use daily, weekly or review"
        raise Invalid(f"{period[:100]!r} is not a valid period", field="period", cure=cure)
    if period == Span.REVIEW:
        stretch = current_review_period(runtime, agent_id)
    else:
        stretch = newest_period(Span(period), last_ended_review_day(runtime.clock.now(), 0))
    for _ in range(_TRIES - 1):
        try:
            return review_agent_period(runtime, agent_id, stretch, dry_run=dry_run)
        except Changed:
            continue
    return review_agent_period(runtime, agent_id, stretch, dry_run=dry_run)


def review_agent_period(
    runtime: Runtime, agent_id: str, stretch: ReviewPeriod, *, dry_run: bool = False
) -> Looked:
    """Look at one period of an agent; raises NotFound, Changed and Unavailable.

    What follows from the evidence follows day by day: a week begins with its last day, and tells.
    """
    profile = runtime.home.agents.get(agent_id)
    current_preferences(runtime)
    fact = runtime.home.facts.get(agent_id, NIGHT, stretch.id)
    night = fact.read(NightlyRun) if fact else NightlyRun(at=runtime.clock.now())
    if dry_run or night.done_at is not None:
        scene = _scene(runtime, profile, stretch, night.at)
        return _foreseen(_counting(scene), stretch, done=night.done_at is not None)
    last_day = day_period(stretch.last)
    if stretch.span is Span.WEEKLY and not _is_done(runtime.home.facts, agent_id, last_day):
        review_agent_period(runtime, agent_id, last_day)
    if fact is None:
        begun = new_fact(agent_id, NIGHT, stretch.id, night, expires_at=night.at + KEPT)
        runtime.home.facts.commit(begun)
        fact = begun
    scene = _scene(runtime, profile, stretch, night.at)
    looked = _review(scene, stretch) if stretch.span is Span.REVIEW else _night(scene, stretch)
    done = night.replaced(done_at=runtime.clock.now())
    runtime.home.facts.commit(fact.holding(done))
    return looked


def _night(scene: NightlyContext, stretch: ReviewPeriod) -> Looked:
    """Keep what a day or week told, do what follows, and report on it."""
    scene = _counting(scene, _hold)
    save_evidence(
        scene.runtime.home.facts,
        scene.agent.id,
        scene.folded,
        {skill.name for skill in scene.skills},
    )
    standstills = _follow(scene) if stretch.span is Span.DAILY else learned_mixes(scene)[1]
    scene, during = _again(scene), report_period(scene, stretch)
    looked = _period_summary(scene, stretch, during, standstills)
    if scene.agent.answers:
        looked = write_report(scene, looked, during)
    if looked.problem:
        log.warning("nightly run %s of agent %s: %s", stretch.id, scene.agent.id, looked.problem)
    return looked


def _review(scene: NightlyContext, stretch: ReviewPeriod) -> Looked:
    """Do what follows for skills; what the day told is kept by its night, which also reports."""
    _revise(scene)
    return _period_summary(_again(scene), stretch, report_period(scene, stretch), ())


def _is_done(facts: Documents, agent_id: str, stretch: ReviewPeriod) -> bool:
    """Whether a period was looked at: one read."""
    fact = facts.get(agent_id, NIGHT, stretch.id)
    return fact is not None and fact.read(NightlyRun).done_at is not None


def _is_there(agents: Agents, agent_id: str) -> bool:
    try:
        agents.get(agent_id)
    except NotFound:
        return False
    return True


def _counting(
    scene: NightlyContext, hold: Callable[[NightlyContext, Adjustment], None] = lambda *_: None
) -> NightlyContext:
    """The scene with from where on its mixes are watched, and `hold` of what is new of that."""
    counted = update_regression_watches(scene)
    for each in counted.values():
        hold(scene, each)
    return replace(scene, recent=tuple(counted.get(each.id, each) for each in scene.recent))


def _hold(scene: NightlyContext, made: Adjustment) -> None:
    facts = scene.runtime.home.facts
    fact = facts.get(scene.agent.id, ADJUSTMENT, made.id)
    if fact is not None and fact.read(Adjustment).state is made.state:
        facts.commit(fact.holding(made))


def _follow(scene: NightlyContext) -> tuple[Standstill, ...]:
    """Do what follows from the evidence; answers where nothing does, and why."""
    if not scene.changes:
        return learned_mixes(scene)[1] if scene.agent.answers else ()
    scene = _taken_back(scene)
    changes, standstills = learned_mixes(scene, subjects_rolled_back(scene))
    _write(scene, changes)
    _revise(scene)
    return standstills


def _taken_back(scene: NightlyContext) -> NightlyContext:
    """The scene once all that fell is taken back: also what comes back, if it fell as well."""
    runtime, agent_id = scene.runtime, scene.agent.id
    while fell := find_model_regressions(scene):
        for each in fell:
            _apply_unless_refused(
                runtime.home.agents,
                agent_id,
                partial(roll_back_mix, runtime, agent_id, each, scene.period),
            )
        after = _again(scene)
        if after.recent == scene.recent:
            break
        scene = after
    return scene


def _revise(scene: NightlyContext) -> None:
    """End and begin trials of skills, then propose, by all that is known now.

    A review did so by day: a night that went by less would take what it lacks for something new.
    """
    if scene.changes:
        known = _so_far(scene)
        _write(known, decide_skill_trials(known))
        known = _again(known)
        _write(known, (*skill_proposals(known, review_skills(known)), *experience_proposals(known)))


def _write(scene: NightlyContext, changes: tuple[LearningChange, ...]) -> None:
    runtime, agent_id = scene.runtime, scene.agent.id
    for change in changes:
        _apply_unless_refused(
            runtime.home.agents,
            agent_id,
            partial(write_adjustment, runtime.home.facts, agent_id, change),
        )


def _apply_unless_refused(agents: Agents, agent_id: str, act: Callable[[], Adjustment]) -> None:
    """Do one thing; what somebody else has changed meanwhile is left, and who retired likewise."""
    try:
        if agents.get(agent_id).agent.answers:
            act()
    except Changed:
        raise
    except (Conflict, Refused) as error:
        log.info("nightly run made no changes: agent=%s, error=%s", agent_id, error.message)


def _foreseen(scene: NightlyContext, stretch: ReviewPeriod, *, done: bool) -> Looked:
    """What a look finds that changes nothing: what it would do, or what was done before."""
    is_review = stretch.span is Span.REVIEW
    changes, standstills = ((), ()) if is_review else learned_mixes(scene)
    looked = _period_summary(scene, stretch, report_period(scene, stretch), standstills)
    looked = looked.replaced(dry_run=not done, done_before=done)
    if done or stretch.span is Span.WEEKLY or not scene.changes:
        return looked
    fell = () if is_review else find_model_regressions(scene)
    back = (
        end_adjustment(each, AdjustmentState.ROLLED_BACK, scene.at, scene.period) for each in fell
    )
    known = _so_far(scene)
    skills = (*decide_skill_trials(known), *skill_proposals(known, looked.reviews))
    following = (*changes, *skills, *experience_proposals(known))
    return looked.replaced(adjustments=(*back, *(each.adjustment for each in following)))


def _period_summary(
    scene: NightlyContext,
    stretch: ReviewPeriod,
    during: PeriodSummary,
    standstills: tuple[Standstill, ...],
) -> Looked:
    """The look as it is told; what others changed in that time is part of it."""
    days, since = len(stretch.days), stretch.ends() - timedelta(days=RECALLED_DAYS)
    adjusted = tuple(each for each in scene.recent if _belongs(each, stretch))
    moved = {each.subject for each in adjusted}
    return Looked(
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
        junk=useless_searches(scene.evidence.memories_recalled, since),
        lived=useless_searches(search_hits_of_experiences(scene), since),
    )


def _belongs(each: Adjustment, stretch: ReviewPeriod) -> bool:
    """Whether a change was made by a night of the period, ended by one, or made in that time.

    To a review only its own belong; the day's night tells of them too.
    """
    if stretch.span is Span.REVIEW:
        return each.by == stretch.id
    nights = {day_period(day).id for day in stretch.days}
    in_time = stretch.begins() <= each.at < stretch.ends()
    by_night = each.by.startswith(f"{Span.DAILY.value}-")
    return bool({each.by, each.ended_by} & nights) or (in_time and not by_night)


def _scene(
    runtime: Runtime, profile: Profile, stretch: ReviewPeriod, at: datetime
) -> NightlyContext:
    """What is known of an agent when a period has ended, or a day so far."""
    agent, facts = profile.agent, runtime.home.facts
    skills = _skills(runtime, agent.id)
    worded = {skill.name: skill.worded_at for skill in skills if skill.worded_at is not None}
    graded = stretch.span is not Span.REVIEW
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
        folded=known,
        tallies=tallies,
        recent=recent_adjustments(facts, agent.id, at - RECENT),
        at=at,
        period=stretch.id,
        frozen=not {agent.id, INSTALLATION}.isdisjoint(runtime.home.switches.all_frozen()),
        trials=runtime.rules.trials,
        routing=runtime.models.routing,
        choices=dict(candidate_models(runtime.models, agent)),
        day_micro_usd=day_budget_for_models(agent, limits.agent_day(agent.day_limit_micro_usd)),
    )


def _so_far(scene: NightlyContext) -> NightlyContext:
    """The scene with what happened since the period ended."""
    return replace(scene, folded=scene.folded.so_far)


def _again(scene: NightlyContext) -> NightlyContext:
    """The scene with what this night, or anybody else, has changed since."""
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
