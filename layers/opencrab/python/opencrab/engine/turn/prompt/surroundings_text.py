"""Orient text: what an agent that woke of its own accord is told, in words and within shares.

It knows no store and no clock: whoever loads the surroundings says what time it is.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from opencrab.domain.agents.event import AgentEvent
from opencrab.domain.agents.soul import Drives
from opencrab.domain.autonomy.settings import Autonomy
from opencrab.domain.goals.goal import ActionReceipt, Goal
from opencrab.domain.goals.priority import Score
from opencrab.domain.goals.selection import rank_goals
from opencrab.domain.memory.peer import Peer, peer_trust
from opencrab.domain.memory.salient_beliefs import BriefBelief
from opencrab.domain.value import Language
from opencrab.engine.turn.prompt.truncation import truncate_prompt_lines
from opencrab.engine.turn.prompt_cache import Surroundings
from opencrab.ports.texts import Texts
from opencrab.ports.turn.action import one_line

GOALS, EVENTS, RECEIPTS = 5, 10, 5
"""How many of each are told at most."""

EVENT_CHARACTERS = 200

RECENT_PART = 4
"""The deeds that are listed take such a part of the share of recent actions; history the rest."""


@dataclass(frozen=True)
class WakingMoment:
    """Who woke, when and why, and whether foreign words are in this turn already."""

    language: Language
    now: datetime
    zone: str
    drives: Drives
    tainted: bool
    reason: str = ""
    budget: str = ""


_TEXTS = Texts(__file__)


def waking_text(key: str, language: Language, **facts: object) -> str:
    """A line of what a heartbeat's turn is told."""
    return _TEXTS[key][language].format(**facts)


def render_surroundings(
    around: Surroundings, moment: WakingMoment, autonomy: Autonomy, memory_used: int = 0
) -> str:
    """What an agent is told when it wakes; `memory_used` tokens of memory are told elsewhere."""
    shares, language = autonomy.shares, moment.language
    goals = truncate_prompt_lines(_goals(around, moment), shares.world // 2, language)
    events = truncate_prompt_lines(_events(around.events, moment), shares.world // 2, language)
    recent = truncate_prompt_lines(
        _recent(around.goals, moment), shares.recent // RECENT_PART, language
    )
    parts = (
        _head(around, moment, autonomy),
        goals,
        events,
        _memory(around, moment, autonomy, max(shares.memory - memory_used, 0)),
        recent,
        waking_text("end", language),
    )
    return "\n".join(part for part in parts if part)


def _head(around: Surroundings, moment: WakingMoment, autonomy: Autonomy) -> str:
    language = moment.language
    here = moment.now.astimezone(ZoneInfo(moment.zone))
    rows = [waking_text("head", language)]
    if moment.reason:
        rows.append(waking_text("why", language, what=one_line(moment.reason, 500)))
    rows.append(waking_text("now", language, what=f"{here:%Y-%m-%d %H:%M} {moment.zone}"))
    in_vain = around.signs.in_vain if around.signs is not None else 0
    if in_vain >= autonomy.warn_after:
        rows.append(waking_text("in_vain", language, count=in_vain, most=autonomy.dormant_after))
    if moment.budget:
        rows.append(waking_text("budget", language, what=moment.budget))
    return "\n".join(rows)


def _goals(around: Surroundings, moment: WakingMoment) -> str:
    language = moment.language
    order = rank_goals(around.goals, around.capability, moment.drives, moment.now)
    rows = [_goal(goal, score, moment) for goal, score in order[:GOALS]]
    if len(order) > GOALS:
        rows.append(waking_text("more_goals", language, count=len(order) - GOALS))
    return _titled_list(waking_text("goals", language), rows)


def _goal(goal: Goal, score: Score, moment: WakingMoment) -> str:
    language = moment.language
    terms = (
        score.urgency,
        score.expected_reward,
        score.capability_match,
        score.novelty,
        score.social_value,
    )
    told = (
        waking_text("hidden", language)
        if goal.taint and not moment.tainted
        else one_line(goal.name, 120)
    )
    due = waking_text("deadline", language, at=_at(goal.deadline, moment)) if goal.deadline else ""
    sum_of = " + ".join(f"{term:.2f}" for term in terms)
    kind = f"{goal.horizon}/{goal.source}/{goal.status}"
    return f"- {goal.id} {score.priority:.2f} = {sum_of} [{kind}]{due} {told}"


def _events(events: tuple[AgentEvent, ...], moment: WakingMoment) -> str:
    language = moment.language
    rows = list[str]()
    if len(events) > EVENTS:
        rows.append(waking_text("more_events", language, count=len(events) - EVENTS))
    for event in events[-EVENTS:]:
        said = one_line(event.text, EVENT_CHARACTERS)
        mark = waking_text("others", language) if event.tainted and said else ""
        told = f": 「{said}」" if said and moment.language is Language.JA else f': "{said}"'
        row = f"- {_at(event.at, moment)} {event.type} {event.source}"
        rows.append(f"{row}{told if said else ''}{mark}")
    return _titled_list(waking_text("events", language), rows)


def _memory(around: Surroundings, moment: WakingMoment, autonomy: Autonomy, room: int) -> str:
    """Notes in half of the room at most, peers in a quarter, and beliefs in what is left."""
    language, working = moment.language, around.working
    notes = (
        f"{waking_text('working', language)}\n{working.text}"
        if working is not None and working.text
        else ""
    )
    notes = truncate_prompt_lines(notes, room // 2, language)
    peers = truncate_prompt_lines(
        _peers(around.outlook.peers, moment, autonomy), room // 4, language
    )
    left = room // 2 if notes else room - (room // 4 if peers else 0)
    left -= room // 4 if notes and peers else 0
    beliefs = truncate_prompt_lines(_beliefs(around.outlook.beliefs, moment), left, language)
    return "\n".join(part for part in (beliefs, peers, notes) if part)


def _peers(peers: tuple[Peer, ...], moment: WakingMoment, autonomy: Autonomy) -> str:
    """Peers by trust; interests that came of foreign words are told to tainted turns only."""
    language = moment.language
    known = [(peer_trust(peer, moment.now, autonomy.peer_prior), peer) for peer in peers]
    known.sort(key=lambda each: -each[0])
    rows = list[str]()
    for trusted, peer in known:
        row = waking_text(
            "peer",
            language,
            id=peer.agent_id,
            trust=trusted,
            able=peer.competence,
            true=peer.reliability,
            well=peer.successes,
            met=peer.interactions,
        )
        if peer.interests and (moment.tainted or not peer.tainted):
            row += waking_text("interests", language, what=one_line(", ".join(peer.interests), 100))
        rows.append(row)
    return _titled_list(waking_text("peers", language), rows)


def _beliefs(beliefs: tuple[BriefBelief, ...], moment: WakingMoment) -> str:
    """Beliefs; those that came of foreign words are told to tainted turns only."""
    told = (belief for belief in beliefs if moment.tainted or not belief.tainted)
    rows = [f"- {belief.confidence:.2f} {one_line(belief.claim, 200)}" for belief in told]
    return _titled_list(waking_text("beliefs", moment.language), rows)


def _recent(goals: tuple[Goal, ...], moment: WakingMoment) -> str:
    """Deeds; paths that a goal with foreign words was given are told to tainted turns only."""
    rows = list[str]()
    for goal in goals:
        for receipt in _receipts(goal):
            path = "" if goal.taint and not moment.tainted else one_line(receipt.path or "", 120)
            rows.append(f"- {goal.id} {receipt.action} {path}".rstrip())
    return _titled_list(waking_text("recent", moment.language), rows[-RECEIPTS:])


def _receipts(goal: Goal) -> Iterable[ActionReceipt]:
    yield from goal.receipts
    for task in goal.tasks:
        yield from task.receipts


def _at(moment: datetime | None, here: WakingMoment) -> str:
    return "" if moment is None else f"{moment.astimezone(ZoneInfo(here.zone)):%m-%d %H:%M}"


def _titled_list(title: str, rows: list[str]) -> str:
    return "\n".join((title, *rows)) if rows else ""
