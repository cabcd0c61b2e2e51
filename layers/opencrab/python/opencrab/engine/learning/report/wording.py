"""Wording of a learning report: one optional model call that summarises its numbers.

The nightly run only requests it. The compaction worker opens one turn for each period, whose id is
derived from the period, so the model is asked once; a call interrupted by a crash is paid for and
not repeated. The answer is stored in the transaction that settles its cost, then inserted into the
report.
"""

import json
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from opencrab.domain.agents.agent import Agent, Profile
from opencrab.domain.conversation.session import Session
from opencrab.domain.document import Document, new_fact
from opencrab.domain.erasure.request import RECORDS_KEPT
from opencrab.domain.errors import Conflict, TooLarge, Unavailable
from opencrab.domain.identifier import stable_id
from opencrab.domain.insight.report_wording import (
    SENTENCES,
    WORDING,
    ReportWording,
    first_learning_report_sentences,
    learning_report_wording_flaw,
)
from opencrab.domain.learning.review_period import (
    KEPT,
    ReviewResult,
    ReviewSpan,
    parse_review_period,
)
from opencrab.domain.models.routing import CallOptions
from opencrab.domain.money.budget import Limits
from opencrab.domain.turn.record import CallState, ModelAnswer, ModelIntent, ModelResult, Record
from opencrab.domain.turn.turn import Trigger, Turn, TurnStatus
from opencrab.domain.value import Language
from opencrab.engine.consequence import ExtraWrites
from opencrab.engine.learning.report.files import NightReport, learning_report_without_section
from opencrab.engine.learning.report.phrases import ReportPhrases
from opencrab.engine.learning.snapshot import NightlyContext
from opencrab.engine.queueing import enqueue_turn
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.background import (
    TurnJob,
    background_turn_of_agent,
    placeholder_session_of_turn,
)
from opencrab.engine.turn.prompt.request import prompt_answer_token_limit
from opencrab.engine.turn.prompt.single_question import single_question_prompt_request
from opencrab.engine.turn.prompt.truncation import truncate_prompt_lines
from opencrab.engine.turn.work import QuestionJob, TurnWork
from opencrab.ports.models.model import ChatRequest, ModelInfo, TrustedText
from opencrab.ports.texts import Texts
from opencrab.ports.turn.action import one_line

log = logging.getLogger(__name__)

SHARE_PERCENT = 10
"""Most that one wording may cost, in percent of its agent's day; part of the heartbeats' share."""

REPORT_TOKENS = 6_000
"""Most tokens of a report that are shown to a model."""

OUTPUT_TOKENS = 1_024

_GROUP = "words:"
_UNWANTED = "unwanted"
_READ = 4_000
_TRIES = 5
_SOUL_TOKENS, _LINE = 400, 500
_TEXTS = Texts(__file__)


@dataclass(frozen=True)
class WordingTurn:
    """The `QuestionJob` for the wording of one report; `report` is its current text."""

    period: str
    report: str
    language: Language

    @classmethod
    def of(cls, runtime: Runtime, turn: Turn, agent: Agent) -> "WordingTurn":
        """Load the report that a turn is to word; raises Invalid for a malformed period."""
        period, language = parse_review_period(turn.group.removeprefix(_GROUP)).id, agent.language
        text = _report(runtime, agent.id, period).written(language)
        head = ReportPhrases(language)("words_head")
        return cls(period, learning_report_without_section(text, head), language)

    def limits(self, work: TurnWork, limits: Limits) -> Limits:
        """Limit the turn to SHARE_PERCENT of the agent's day, drawing only what it needs."""
        day = limits.agent_day(work.profile.agent.day_limit_micro_usd)
        most = min(day * SHARE_PERCENT // 100, limits.turn_micro_usd)
        return limits.replaced(turn_micro_usd=most, session_micro_usd=None, block_micro_usd=1)

    def skip_reason(self, work: TurnWork) -> str:
        agent = work.profile.agent
        if any(result.state is CallState.UNKNOWN for _, result in work.transcript.asked):
            return "unknown"
        wanted = agent.answers and agent.llm.aim.worded and self.report
        return "" if wanted else _UNWANTED

    def request(self, work: TurnWork, info: ModelInfo, manner: CallOptions) -> ChatRequest:
        language = self.language
        # A report has counts, and names that the owner or the configuration gave.
        report = truncate_prompt_lines(TrustedText(self.report), REPORT_TOKENS, language)
        day = self.period.partition("-")[2]
        question = TrustedText(_wording_question(day, report.splitlines(), language))
        output = min(prompt_answer_token_limit(info, work.runtime.rules), OUTPUT_TOKENS)
        system = TrustedText(_wording_rules(work.profile, language))
        return single_question_prompt_request(
            work, info, manner, system=system, question=question, output=output
        )

    def end_with_answer(self, work: TurnWork, result: ModelResult, turn: Turn) -> None:
        intent, answer = work.transcript.open_intent, result.answer or ModelAnswer()
        model = intent.model if isinstance(intent, ModelIntent) else ""
        said = one_line(answer.text, _READ)
        text = first_learning_report_sentences(said, answer.finish)
        missing = learning_report_wording_flaw(text, self.report)
        if answer.calls or (said and not text):
            missing = "form"
        told = self._told(work, turn, missing)
        if not missing:
            told = told.replaced(text=text, model=model)
        status = TurnStatus.IDLE if missing else TurnStatus.COMPLETED
        self._end(work, (result,), turn.replaced(status=status, note=missing), told)

    def end_without_answer(
        self, work: TurnWork, status: TurnStatus, result: tuple[Record, ...], turn: Turn, why: str
    ) -> None:
        """End the turn without a wording; the report will say why.

        A turn that found no room in the agent's budget ends as idle, not as exhausted.
        """
        missing = self._missing(work, status)
        spared = status is TurnStatus.EXHAUSTED and missing == "budget"
        ended = turn.replaced(status=TurnStatus.IDLE if spared else status, note=why[:1_000])
        told = self._told(work, turn, missing)
        self._end(work, result, ended, None if missing == _UNWANTED else told)

    def _told(self, work: TurnWork, turn: Turn, missing: str) -> ReportWording:
        now = work.runtime.clock.now()
        return ReportWording(at=now, turn_id=turn.id, language=self.language, missing=missing)

    def _missing(self, work: TurnWork, status: TurnStatus) -> str:
        """Return the code of the reason why there is no wording."""
        if status is TurnStatus.STOPPED:
            return "stopped" if work.turn.stop is not None else "frozen"
        if status is TurnStatus.EXHAUSTED:
            return "budget" if work.calls_left > 0 else "unanswered"
        return self.skip_reason(work) or "unanswered"

    def _end(
        self, work: TurnWork, records: tuple[Record, ...], header: Turn, told: ReportWording | None
    ) -> None:
        """End the turn and store its wording, if any, in one transaction."""
        now, agent_id = work.runtime.clock.now(), work.turn.agent_id
        facts: tuple[Document, ...] = ()
        if told is not None:
            until = now + RECORDS_KEPT
            facts = (new_fact(agent_id, WORDING, self.period, told, expires_at=until),)
        draws = header.closing_budget_draws(now.strftime("%Y-%m-%d"))
        ended = header.replaced(ended_at=now, allowance=0)
        work.save(ended, *records, beside=ExtraWrites(draws=draws, facts=facts), progress=True)


class WordingJob(TurnJob):
    """Background job that words reports, if the owner enabled it."""

    def open_turn(self, runtime: Runtime, message: Mapping[str, str]) -> bool:
        if "period" not in message:
            return False
        _open_words(runtime, message["agent"], message["period"])
        return True

    def handles_turn(self, turn: Turn) -> bool:
        return turn.trigger is Trigger.COMPACTION and turn.group.startswith(_GROUP)

    def prepare(
        self, runtime: Runtime, turn: Turn, profile: Profile
    ) -> tuple[Turn, Session, QuestionJob]:
        return turn, placeholder_session_of_turn(turn), WordingTurn.of(runtime, turn, profile.agent)

    def after_end(self, runtime: Runtime, turn: Turn) -> None:
        """Insert the wording, or why there is none, into the report."""
        _show_stored(runtime, turn.agent_id, turn.group.removeprefix(_GROUP))


def stored_learning_report_wording(
    scene: NightlyContext, looked: ReviewResult
) -> ReportWording | None:
    """Return the known wording of a report, or why there is none; None if nothing is known."""
    agent, facts = scene.agent, scene.runtime.home.facts
    if not is_learning_report_worded(agent, looked):
        return None
    fact = facts.get(agent.id, WORDING, looked.period)
    if fact is not None:
        return fact.read(ReportWording)
    frozen = ReportWording(at=scene.at, turn_id="", language=agent.language, missing="frozen")
    return frozen if scene.frozen else None


def settle_learning_report_wording(
    scene: NightlyContext, looked: ReviewResult, shown: ReportWording | None
) -> None:
    """Insert or request the wording of a report written with the wording `shown`.

    A wording stored meanwhile is inserted; otherwise one is requested if the owner enabled it.
    Raises Unavailable if a store or the queue cannot be reached.
    """
    runtime, agent = scene.runtime, scene.agent
    if not is_learning_report_worded(agent, looked) or (shown is not None and shown.turn_id):
        return
    if not _show_stored(runtime, agent.id, looked.period) and not scene.frozen:
        told = {"v": 1, "agent": agent.id, "period": looked.period}
        body = json.dumps(told, separators=(",", ":"))
        wish = stable_id("words", agent.id, looked.period)
        runtime.home.compactions.send(body, group=wish, deduplication=f"{wish}-wish")


def _open_words(runtime: Runtime, agent_id: str, period: str) -> None:
    """Open and queue the turn that words a report; raises NotFound, Invalid for a bad period."""
    agent, home = runtime.home.agents.get(agent_id).agent, runtime.home
    name = parse_review_period(period).id
    if not agent.answers or not agent.llm.aim.worded:
        return
    turn_id, group = stable_id("words", agent_id, name), f"{_GROUP}{name}"
    opened = home.journal.open(
        background_turn_of_agent(agent_id, turn_id, group, runtime.clock.now())
    )
    if opened.status.is_end:
        _show_stored(runtime, agent_id, name)
    enqueue_turn(home, opened)


def is_learning_report_worded(agent: Agent, looked: ReviewResult) -> bool:
    """Return True if the report gets a wording: enabled, daily or weekly, and with turns.

    The wording's own call makes an agent active on that day; without the last condition a wording
    would cause the next day's.
    """
    over = looked.period.startswith((ReviewSpan.DAILY.value, ReviewSpan.WEEKLY.value))
    return agent.llm.aim.worded and over and looked.turns > 0


def learning_report_wording_section(told: ReportWording, report: str) -> tuple[str, str]:
    """Return the section with the wording, as heading and body.

    Numbers may have changed since the model saw them: a wording that does not fit them is not
    shown.
    """
    return ReportPhrases(told.language)("words_head"), _body(told, report)


def _body(told: ReportWording, report: str) -> str:
    missing, say = told.missing, ReportPhrases(told.language)
    missing = missing or learning_report_wording_flaw(told.text, report)
    if not missing:
        return say("words", text=told.text, model=told.model)
    return say("no_words", reason=say(f"words_{missing}"))


def _show_stored(runtime: Runtime, agent_id: str, period: str) -> bool:
    """Insert the stored wording, if there is one, into its report; it may be repeated.

    Raises Unavailable.
    """
    fact = runtime.home.facts.get(agent_id, WORDING, period)
    if fact is None:
        return False
    told, page = fact.read(ReportWording), _report(runtime, agent_id, period)
    head = ReportPhrases(told.language)("words_head")
    for _ in range(_TRIES):
        try:
            page.replace_section(told.language, head, partial(_body, told))
        except Conflict:
            continue
        except TooLarge as error:
            shown = period, agent_id, error.message
            log.warning("cannot add wording to a report: period=%s, agent=%s, error=%s", *shown)
        return True
    raise Unavailable(
        f"concurrent updates to report {period!r} of agent {agent_id!r}; retries exhausted"
    )


def _report(runtime: Runtime, agent_id: str, period: str) -> NightReport:
    return NightReport(runtime.home, agent_id, period, runtime.clock.now() + KEPT)


def _wording_rules(profile: Profile, language: Language) -> str:
    """Return the system prompt: the agent's persona and the task."""
    soul = truncate_prompt_lines(
        TrustedText(profile.soul.describe(language)), _SOUL_TOKENS, language
    )
    name = one_line(profile.soul.persona_name)
    return _TEXTS["rules"][language].format(name=name, soul=soul, most=SENTENCES)


def _wording_question(period: str, report: Iterable[str], language: Language) -> str:
    """Return the question with the report, each line of which is marked with "| "."""
    lines = (f"| {one_line(line, _LINE)}" for line in report if line.strip())
    question = _TEXTS["question"][language].format(period=period)
    return "\n".join((question, _TEXTS["begin"][language], *lines, _TEXTS["end"][language]))
