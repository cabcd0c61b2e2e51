"""Orient text: the surroundings of an agent that acts unasked, as text within token shares.

It reads no store and no clock: the caller passes the surroundings and the time.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from opencrab.domain.agents.event import ANSWERED
from opencrab.domain.agents.soul import Drives
from opencrab.domain.autonomy.settings import Autonomy
from opencrab.domain.goals.goal import ActionReceipt, Goal
from opencrab.domain.goals.priority import Score
from opencrab.domain.goals.selection import rank_goals
from opencrab.domain.goals.value_estimate import Horizon
from opencrab.domain.memory.peer import remembered_peer_trust
from opencrab.domain.memory.salient_beliefs import BriefBelief
from opencrab.domain.value import Language
from opencrab.engine.turn.prompt.history import RECENT_PART
from opencrab.engine.turn.prompt.promises_text import prompt_text_of_promises
from opencrab.engine.turn.prompt.truncation import truncate_prompt_lines
from opencrab.engine.turn.prompt_cache import Surroundings
from opencrab.ports.models.model import (
    NO_TEXT,
    PromptText,
    TrustedText,
    fill_model_template,
    join_texts_for_model_call,
    label_text_for_model_call,
)
from opencrab.ports.texts import Texts
from opencrab.ports.turn.action import one_line

GOALS, EVENTS, RECEIPTS, NOTICES = 5, 10, 5, 5
"""The most goals, events, receipts and notices that are listed."""

EVENT_CHARACTERS, ANSWER_CHARACTERS = 200, 1_000


@dataclass(frozen=True)
class WakingMoment:
    """The moment of waking: time, drives, and whether the turn is tainted already.

    `said` are the texts of which the prompt tells elsewhere, so that goals of these words are not
    listed; nor is the goal `served`.
    """

    language: Language
    now: datetime
    zone: str
    drives: Drives
    tainted: bool
    budget: PromptText = NO_TEXT
    said: tuple[str, ...] = ()
    served: str = ""


_TEXTS = Texts(__file__)


def waking_prompt_text(key: str, language: Language, **facts: PromptText | float) -> PromptText:
    """Return one line of the text by its key."""
    return fill_model_template(_TEXTS[key][language], **facts)


def render_prompt_surroundings(
    around: Surroundings, moment: WakingMoment, autonomy: Autonomy, memory_used: int = 0
) -> PromptText:
    """Return the text on the surroundings; core memories have used `memory_used` tokens."""
    shares, language = autonomy.shares, moment.language
    goals = truncate_prompt_lines(_goals(around, moment), shares.world // 2, language)
    events = truncate_prompt_lines(_events(around, moment), shares.world // 2, language)
    recent = truncate_prompt_lines(
        _recent(around.goals, moment), shares.recent // RECENT_PART, language
    )
    parts = (
        _head(around, moment, autonomy),
        goals,
        _answers(around, language),
        _notices(around, moment),
        events,
        _memory(around, moment, autonomy, max(shares.memory - memory_used, 0)),
        recent,
        truncate_prompt_lines(_promises(around, moment), shares.recent // RECENT_PART, language),
        waking_prompt_text("end", language),
    )
    return join_texts_for_model_call("\n", parts)


def _head(around: Surroundings, moment: WakingMoment, autonomy: Autonomy) -> PromptText:
    language = moment.language
    rows = [waking_prompt_text("head", language)]
    in_vain = around.signs.in_vain if around.signs is not None else 0
    if in_vain >= autonomy.warn_after:
        rows.append(
            waking_prompt_text("in_vain", language, count=in_vain, most=autonomy.dormant_after)
        )
    if moment.budget:
        rows.append(moment.budget)
    return join_texts_for_model_call("\n", rows)


def _answers(around: Surroundings, language: Language) -> PromptText:
    """Return what other agents answered for the goal of this turn, in their words."""
    rows = [label_text_for_model_call(f"- {each}", tainted=True) for each in around.answers]
    return _titled_list(waking_prompt_text("answers", language), rows)


def _notices(around: Surroundings, moment: WakingMoment) -> PromptText:
    """Return who wrote on the notice board lately; the words are left to `read_notices`."""
    signs, language = around.signs, moment.language
    own = "" if signs is None else signs.agent_id
    new = [each for each in around.notices if each.is_new(own, moment.now)]
    if not new:
        return NO_TEXT
    named = (
        waking_prompt_text(f"notice_{each.kind}", language, who=TrustedText(each.agent_name))
        for each in new[:NOTICES]
    )
    return waking_prompt_text(
        "notices", language, count=len(new), who=join_texts_for_model_call(", ", tuple(named))
    )


def _goals(around: Surroundings, moment: WakingMoment) -> PromptText:
    language = moment.language
    told = (goal for goal in around.goals if not _is_told_elsewhere(goal, moment))
    order = rank_goals(told, around.capability, moment.drives, moment.now)
    rows = [_goal(goal, score, moment) for goal, score in order[:GOALS]]
    if len(order) > GOALS:
        rows.append(waking_prompt_text("more_goals", language, count=len(order) - GOALS))
    return _titled_list(waking_prompt_text("goals", language), rows)


def _is_told_elsewhere(goal: Goal, moment: WakingMoment) -> bool:
    """Check whether a goal is the one of this turn, or an aspiration in words that were said."""
    if goal.horizon is not Horizon.ASPIRATION:
        return goal.id == moment.served
    begins = goal.name.removesuffix("…")
    return any(text.startswith(begins) for text in moment.said)


def _goal(goal: Goal, score: Score, moment: WakingMoment) -> PromptText:
    language = moment.language
    hidden = goal.taint and not moment.tainted
    told = waking_prompt_text("hidden", language) if hidden else one_line(goal.name, 120)
    due = (
        waking_prompt_text("deadline", language, at=TrustedText(_at(goal.deadline, moment)))
        if goal.deadline
        else ""
    )
    kind = goal.horizon.value if goal.horizon is Horizon.ASPIRATION else goal.source.value
    state = "" if goal.pause is None else f", {waking_prompt_text('paused', language)}"
    return label_text_for_model_call(
        f"- {goal.id} {score.priority:.1f} ({kind}{state}){due} {told}",
        tainted=goal.taint and not hidden,
    )


def _events(around: Surroundings, moment: WakingMoment) -> PromptText:
    events = around.events
    language = moment.language
    rows = list[PromptText]()
    if len(events) > EVENTS:
        rows.append(waking_prompt_text("more_events", language, count=len(events) - EVENTS))
    for event in events[-EVENTS:]:
        answered = event.type == ANSWERED
        said = one_line(event.text, ANSWER_CHARACTERS if answered else EVENT_CHARACTERS)
        mark = waking_prompt_text("others", language) if event.tainted and said else ""
        told = f": 「{said}」" if said and moment.language is Language.JA else f': "{said}"'
        # Only an event of a session comes from the agent that its source names.
        source = _name_with_id(around, event.source) if event.session_id else event.source
        row = f"- {_at(event.at, moment)} {event.type} {source}"
        rows.append(
            label_text_for_model_call(f"{row}{told if said else ''}{mark}", tainted=event.tainted)
        )
    return _titled_list(waking_prompt_text("events", language), rows)


def _name_with_id(around: Surroundings, agent_id: str) -> str:
    """Return the name of an agent with its id; the id alone for what is no agent here."""
    name = around.names.get(agent_id)
    return agent_id if name is None or name == agent_id else f"{name} ({agent_id})"


def _memory(
    around: Surroundings, moment: WakingMoment, autonomy: Autonomy, room: int
) -> PromptText:
    """Return notes in at most half of the tokens, peers in a quarter, and beliefs in the rest."""
    language, working = moment.language, around.working
    notes: PromptText = NO_TEXT
    if working is not None and working.text:
        noted = label_text_for_model_call(working.text, tainted=working.tainted)
        notes = join_texts_for_model_call("\n", (waking_prompt_text("working", language), noted))
    notes = truncate_prompt_lines(notes, room // 2, language)
    peers = truncate_prompt_lines(_peers(around, moment, autonomy), room // 4, language)
    left = room // 2 if notes else room - (room // 4 if peers else 0)
    left -= room // 4 if notes and peers else 0
    beliefs = truncate_prompt_lines(_beliefs(around.outlook.beliefs, moment), left, language)
    return join_texts_for_model_call("\n", (beliefs, peers, notes))


def _peers(around: Surroundings, moment: WakingMoment, autonomy: Autonomy) -> PromptText:
    """Return the peers by trust; only tainted turns see ids and interests in untrusted words."""
    language = moment.language
    foreign = {p.agent_id for p in around.outlook.peers if p.tainted} - around.known_peers
    shown = [p for p in around.outlook.peers if moment.tainted or p.agent_id not in foreign]
    known = [(remembered_peer_trust(peer, moment.now, autonomy.peer_prior), peer) for peer in shown]
    known.sort(key=lambda each: -each[0])
    rows = list[PromptText]()
    for trusted, peer in known:
        row = waking_prompt_text(
            "peer",
            language,
            id=label_text_for_model_call(
                _name_with_id(around, peer.agent_id), tainted=peer.agent_id in foreign
            ),
            trust=trusted,
            able=peer.competence,
            true=peer.reliability,
            well=peer.successes,
            met=peer.interactions,
        )
        if peer.interests and (moment.tainted or not peer.tainted):
            what = one_line(", ".join(peer.interests), 100)
            told = label_text_for_model_call(what, tainted=peer.tainted)
            row = join_texts_for_model_call(
                "", (row, waking_prompt_text("interests", language, what=told))
            )
        rows.append(row)
    return _titled_list(waking_prompt_text("peers", language), rows)


def _beliefs(beliefs: tuple[BriefBelief, ...], moment: WakingMoment) -> PromptText:
    """Return the beliefs; only tainted turns see those that rest on untrusted words."""
    told = (belief for belief in beliefs if moment.tainted or not belief.tainted)
    rows = [
        label_text_for_model_call(
            f"- {belief.confidence:.2f} {one_line(belief.claim, 200)}", tainted=belief.tainted
        )
        for belief in told
    ]
    return _titled_list(waking_prompt_text("beliefs", moment.language), rows)


def _recent(goals: tuple[Goal, ...], moment: WakingMoment) -> PromptText:
    """Return the receipts of recent calls; only tainted turns see the paths of tainted goals."""
    rows = list[PromptText]()
    for goal in goals:
        hidden = goal.taint and not moment.tainted
        for receipt in _receipts(goal):
            path = "" if hidden else one_line(receipt.path or "", 120)
            row = f"- {goal.id} {receipt.action} {path}".rstrip()
            rows.append(label_text_for_model_call(row, tainted=goal.taint and not hidden))
    return _titled_list(waking_prompt_text("recent", moment.language), rows[-RECEIPTS:])


def _promises(around: Surroundings, moment: WakingMoment) -> PromptText:
    return prompt_text_of_promises(
        around.promises, moment.language, moment.now, moment.zone, tainted=moment.tainted
    )


def _receipts(goal: Goal) -> Iterable[ActionReceipt]:
    yield from goal.receipts
    for task in goal.tasks:
        yield from task.receipts


def _at(moment: datetime | None, here: WakingMoment) -> str:
    return "" if moment is None else f"{moment.astimezone(ZoneInfo(here.zone)):%m-%d %H:%M}"


def _titled_list(title: PromptText, rows: list[PromptText]) -> PromptText:
    return join_texts_for_model_call("\n", (title, *rows)) if rows else NO_TEXT
