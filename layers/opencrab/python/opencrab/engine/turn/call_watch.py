"""A running model call: its words go to whoever watches, and a stop of its turn ends it.

Both are looked at in steps of time, so a call that answers at once costs nothing more. What had
arrived of a call that was ended is kept, and charged.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from opencrab.domain.conversation.message import Channel
from opencrab.domain.errors import NotFound, Unavailable
from opencrab.domain.money.budget import Usage
from opencrab.domain.turn.record import CallState, ModelAnswer, ModelIntent, ModelResult
from opencrab.domain.turn.turn import TurnStatus
from opencrab.domain.value import MicroUsd
from opencrab.engine.phrases import system_phrase
from opencrab.engine.turn.close import close_turn
from opencrab.engine.turn.work import TurnWork
from opencrab.ports.conversation.answers import AnswerPart, CallProgress
from opencrab.ports.conversation.channel import AnswerPreview
from opencrab.ports.turn.journal import Interruption

NOT_INTERRUPTED = Interruption()


PROGRESS_MS = 500.0
"""Milliseconds between two signs of how far a call of an action has come."""


class CallWatch:
    """`ports.models.model.AnswerWatch` of the turn's model call `n`, in the thread of the call.

    The call begins at `now`, in monotonic ms; `interruption` is why it was ended, if it was. Words
    are shown in turns that a message began: all who may read the session may hear them, because the
    turn read no more than they may (ADR 0033). They may include what is said before a tool call, of
    which no line is kept.
    """

    def __init__(self, work: TurnWork, n: int, now: float) -> None:
        self.interruption = NOT_INTERRUPTED
        self._work = work
        self._n = n
        self._clock = work.runtime.clock
        rules = work.runtime.rules
        self._show_ms, self._check_ms = rules.answer_part_ms, rules.stop_check_ms
        self._next_check = now + self._check_ms
        self._first_part = self._next_part = now + rules.answer_first_ms
        self._is_shown = work.job is None and not work.turn.is_autonomous
        self._text: Callable[[], str] | None = None
        self._shown = ""
        self._began = False

    def show(self, text: Callable[[], str]) -> None:
        if self._is_shown:
            self._text = text
            self._show_due()

    def is_stopped(self) -> bool:
        self._show_due()
        now = self._clock.monotonic_ms()
        if not self.interruption and now >= self._next_check:
            self._next_check = now + self._check_ms
            self._work.looked_ms = now
            self.interruption = self._look()
            if not self.interruption:
                self._work.renew_lease()
        return bool(self.interruption)

    def _look(self) -> Interruption:
        try:
            found = self._work.runtime.home.journal.interruption(self._work.turn)
        except Unavailable:
            # What cannot be read now is read at the next step at the latest.
            return NOT_INTERRUPTED
        except NotFound:
            # It was forgotten meanwhile: nothing of it can be saved any more.
            return Interruption(superseded=True)
        if found.stop is not None and found.stop.after_step:
            # The call may end by itself; the next step heeds it (`ports.turn.journal`).
            return replace(found, stop=None)
        return found

    def end(self, answer: ModelAnswer | None) -> None:
        """Show what is left, and that no more will come; None if the call brought no answer.

        An answer that is complete before words may be shown is told by its line alone.
        """
        if self._text is not None and self._clock.monotonic_ms() >= self._first_part:
            self._show()
        if self._began:
            self._publish("", ended=True, withdrawn=not self._will_be_said(answer))

    def _will_be_said(self, answer: ModelAnswer | None) -> bool:
        """Check whether the words of an answer become a line, as far as it is known now."""
        stop = self.interruption.stop
        is_taken_back = self.interruption.superseded or (stop is not None and stop.pause)
        return answer is not None and not answer.calls and not is_taken_back

    def _show_due(self) -> None:
        if self._text is None:
            return
        now = self._clock.monotonic_ms()
        if now >= self._next_part:
            self._next_part = now + self._show_ms
            self._show()

    def _show(self) -> None:
        """Publish what is new of the text; all of it if it does not go on as it began."""
        assert self._text is not None  # noqa: S101 - both callers look
        turn = self._work.turn
        # Whoever comes later gets all of it at the next look, also if no more words arrive.
        if not self._work.runtime.answers.is_watched(turn.session_id, turn.agent_id):
            return
        arrived, self._text = self._text, None
        text = arrived()
        if text == self._shown:
            return
        if text.startswith(self._shown):
            self._publish(text[len(self._shown) :])
        else:
            self._publish(text, starts_over=True)
        self._shown = text

    def _publish(
        self, text: str, *, starts_over: bool = False, ended: bool = False, withdrawn: bool = False
    ) -> None:
        self._began = True
        turn = self._work.turn
        self._work.runtime.answers.publish(
            AnswerPart(
                turn.session_id,
                turn.agent_id,
                turn.id,
                self._n,
                text,
                starts_over=starts_over,
                ended=ended,
                withdrawn=withdrawn,
            )
        )


class ActionCallWatch:
    """`ports.conversation.answers.CallProgressWatch` of a turn's running call of an action.

    What is shown is stored nowhere and enters no prompt. A pause, and the next message, let
    the call end by itself: it may be one that cannot be repeated.
    """

    def __init__(self, work: TurnWork, action: str) -> None:
        self._work = work
        self._action = action
        self._progress: CallProgress | None = None
        self._next_check = self._next_show = work.runtime.clock.monotonic_ms()

    def show(self, done: float, total: float | None, text: str) -> None:
        self._progress = CallProgress(self._action, done, total, text)
        self._show_due(self._work.runtime.clock.monotonic_ms())

    def is_stopped(self) -> bool:
        now = self._work.runtime.clock.monotonic_ms()
        self._show_due(now)
        if now < self._next_check:
            return False
        self._next_check = now + self._work.runtime.rules.stop_check_ms
        try:
            found = self._work.runtime.home.journal.interruption(self._work.turn)
        except Unavailable:
            return False
        except NotFound:
            # It was forgotten meanwhile.
            return True
        stop = found.stop
        is_over = stop is not None and not (stop.pause or stop.is_takeover)
        if is_over or found.frozen is not None or found.superseded:
            return True
        self._work.renew_lease()
        return False

    def _show_due(self, now: float) -> None:
        if self._progress is None or now < self._next_show:
            return
        self._next_show = now + PROGRESS_MS
        turn, progress, self._progress = self._work.turn, self._progress, None
        part = AnswerPart(turn.session_id, turn.agent_id, turn.id, 0, progress=progress)
        self._work.runtime.answers.publish(part)


def result_of_interrupted_turn_call(
    intent: ModelIntent, answer: ModelAnswer, cost: MicroUsd, *, latency_ms: int, at: datetime
) -> ModelResult:
    """Return the result of a call that was ended, at the bound of its cost.

    It is unconfirmed (`UsageRow.unconfirmed_micro_usd`): no vendor has counted what it will bill.
    """
    return ModelResult(
        n=intent.n,
        state=CallState.CANCELLED,
        answer=answer.replaced(usage=Usage()),
        provider_call_id=answer.provider_call_id,
        cost=min(intent.reserved, cost),
        latency_ms=latency_ms,
        at=at,
    )


def end_interrupted_call(
    work: TurnWork, intent: ModelIntent, result: ModelResult, why: Interruption
) -> None:
    """Save the result and end the turn with what had been said, or let it pause.

    A paused turn asks the model again when it goes on. What an agent thinks unasked is said when it
    is complete, or not at all.
    """
    turn = work.turn.with_cost(reserved=intent.reserved, cost=result.cost)
    if why.stop is not None and why.stop.pause:
        # The header's pause comes back with this change, and the next step heeds it.
        work.save(turn, result, progress=True, at=result.at)
        return
    said = "" if work.turn.is_autonomous or result.answer is None else result.answer.text.strip()
    language = work.profile.agent.language
    if why.stop is None:
        notice = system_phrase("frozen_in_answer" if said else "frozen", language)
    elif why.stop.is_takeover and work.turn.task is not None:
        notice = system_phrase("gave_way", language)
    elif why.stop.is_takeover:
        notice = system_phrase("taken_over_in_answer" if said else "taken_over", language)
    else:
        notice = system_phrase("stopped_in_answer" if said else "stopped", language)
    close_turn(
        work, TurnStatus.STOPPED, result, turn=turn, speech=said, notice=notice, at=result.at
    )


def watch_turn_model_call(work: TurnWork, n: int, now: float) -> CallWatch:
    """Return the watch of a turn's model call, with a preview where somebody waits for the turn.

    `now` is the monotonic time in ms at which the call begins.
    """
    channel = work.turn.channel
    if channel is None or not channel.awaited:
        return CallWatch(work, n, now)
    return PreviewedCall(work, n, now, channel)


class PreviewedCall(CallWatch):
    """A `CallWatch` with a preview in the channel, if it has one and the answer comes first there.

    The preview is opened at the first look: a call that answers at once needs none. What is shown
    is what watchers may see. Before each part it was looked whether the turn is still this
    worker's, and after `end` nothing is on its way: the delivered answer comes last.
    """

    def __init__(self, work: TurnWork, n: int, now: float, channel: Channel) -> None:
        super().__init__(work, n, now)
        self._channel = channel
        self._began_ms = now
        self._has_looked = False
        self._preview: AnswerPreview | None = None
        self._said: Callable[[], str] = str

    def show(self, text: Callable[[], str]) -> None:
        super().show(text)
        self._said = text

    def is_stopped(self) -> bool:
        if super().is_stopped():
            return True
        if not self._has_looked:
            self._has_looked, self._preview = True, self._opened()
        if self._preview is not None:
            self._preview.show(self._said)
        return False

    def end(self, answer: ModelAnswer | None) -> None:
        super().end(answer)
        if self._preview is not None:
            self._preview.end()

    def _opened(self) -> AnswerPreview | None:
        if self._work.has_notified_clients or not self._is_shown:
            return None
        previews = self._work.runtime.previews.get(self._channel.kind)
        if previews is None:
            return None
        return previews.preview(self._channel, self._work.turn.id, self._began_ms)
