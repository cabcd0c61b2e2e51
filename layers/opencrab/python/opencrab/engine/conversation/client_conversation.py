"""Client conversations: finds the session that a client's transcript continues, or opens one.

A request continues the session of the request before it, as long as nobody has said anything there
since. Whatever the client changed afterwards, such as an edited message, opens a session of its
own, whose first message repeats the conversation as the client has it. All of it is words of the
client's user: what a transcript calls the assistant may be made up.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta

from opencrab.domain.access.authority import Source
from opencrab.domain.agents.agent import Profile
from opencrab.domain.conversation.client_transcript import (
    CLIENT_REQUEST,
    ClientRequest,
    ClientTranscript,
    TranscriptLine,
    TranscriptSpeaker,
)
from opencrab.domain.conversation.message import Audience, Line, LineKind, Message
from opencrab.domain.conversation.session import Session, SessionStatus
from opencrab.domain.document import Document, new_fact
from opencrab.domain.errors import Changed, Conflict, NotFound, TooLarge
from opencrab.domain.identifier import content_hash, stable_id
from opencrab.domain.turn.turn import Turn
from opencrab.domain.value import MESSAGE_BYTES, Language
from opencrab.engine.agents.creation import NewSession, create_first_session_of_agents
from opencrab.engine.conversation.client_heading import client_heading
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.admission import admit_turns_of_message, id_of_admitted_message

KEPT = timedelta(days=90)
"""How long a request is recognized again; the next one after that opens a new session."""

_NEWEST = 64
"""How many lines of a session are read to find the newest one of a person."""

_PEOPLE = 50
"""The most people that a message may quote: all are named in it, so that each can be forgotten."""

_TRIES = 4
_ROOM = 1_000
"""Bytes of a message that are left for headings."""

_TOLD = ("instructions", "now")

MessageOf = Callable[[Session, str, str], Message]
"""Builds a message of a session from its source id and its text."""


@dataclass(frozen=True)
class ClientConversation:
    """The conversations of one principal with one agent that clients keep."""

    runtime: Runtime
    principal_id: str
    source: Source
    agent: Profile
    field: str
    """The field of a request that holds the messages; errors name it."""

    def admit(
        self,
        transcript: ClientTranscript,
        message_of: MessageOf,
        *,
        key: str | None = None,
        after: Turn | None = None,
    ) -> tuple[Turn, ...]:
        """Admit the newest messages of a transcript as one message; return its turns.

        The same transcript sent again while its turns run returns these, and once more if the
        client was told to ask again; after that it asks anew, as people do who want another answer.
        With `key`, an idempotency key, it always returns the same turns. With `after` it goes on
        after that turn, with which the transcript then begins (`transcript_after`). Raises
        TooLarge, Conflict (the key was used for another transcript, the agent does not answer).
        """
        by_words = transcript.request_id(self.principal_id, self.agent.agent.id)
        by_key = None if key is None else stable_id("client-key", self.principal_id, key)
        for _ in range(_TRIES):
            stored = self._stored(by_key or by_words)
            if stored is not None:
                _require_same_request(stored, by_words)
                turns = self._repeated(stored, transcript, message_of, by_key)
                if turns:
                    return turns
            attempts = self._stored(by_words)
            try:
                request = self._plan(transcript, by_words, attempts, after)
                self._keep(request, {by_words: attempts, by_key or by_words: stored})
            except Changed:
                continue  # the same request, at the same time
            return self._send(request, transcript, message_of)
        raise Conflict(
            "the same request is being sent many times at once", cure="send it once, and wait"
        )

    def transcript_after(self, turn: Turn, transcript: ClientTranscript) -> ClientTranscript:
        """Return a transcript behind the newest lines of a session up to a turn of it.

        It says whose words these are and whether they taint, in case they are quoted.
        """
        journal = self.runtime.home.journal
        last = max(
            (
                line.sequence
                for line in journal.lines(
                    turn.session_id, after=turn.trigger_line - 1, limit=_NEWEST
                )
                if line.turn_id == turn.id
            ),
            default=turn.trigger_line,
        )
        newest = journal.lines(turn.session_id, before=last + 1, limit=_NEWEST, newest_first=True)
        heard = _quotable(newest)
        lines = [
            TranscriptLine(
                role=TranscriptSpeaker.ASSISTANT if line.from_agent else TranscriptSpeaker.USER,
                text=line.text,
            )
            for line in heard
        ]
        if not lines or lines[-1].role is TranscriptSpeaker.USER:
            # The agent chose silence: what it did not answer is not said anew.
            lines.append(TranscriptLine(role=TranscriptSpeaker.ASSISTANT, text=""))
        agent_id = self.agent.agent.id
        named = [
            each
            for line in heard
            if line.speaker_id != agent_id
            for each in (line.speaker_id, *line.quotes)
        ]
        return transcript.replaced(
            lines=(*lines, *transcript.lines),
            after=turn.id,
            quoted=len(lines),
            sources=tuple(dict.fromkeys((turn.session_id, *named))),
            taint=any(line.taints_reader(agent_id) for line in heard),
        )

    def expect_repeat(self, transcript: ClientTranscript) -> None:
        """Note that the client of a transcript was told to ask again for the answer."""
        request_id = transcript.request_id(self.principal_id, self.agent.agent.id)
        stored = self._stored(request_id)
        if stored is not None:
            self._mark(stored, awaited=True)

    def _mark(self, stored: Document, *, awaited: bool) -> None:
        request = stored.read(ClientRequest)
        if request.awaited is not awaited:
            marked = stored.with_body(request.replaced(awaited=awaited))
            # Another process has changed it, and knows better.
            with suppress(Changed):
                self.runtime.home.facts.commit(marked)

    def _repeated(
        self,
        stored: Document,
        transcript: ClientTranscript,
        message_of: MessageOf,
        by_key: str | None,
    ) -> tuple[Turn, ...]:
        """Return the turns of an earlier request; nothing if this one asks anew."""
        try:
            turns = self._send(stored.read(ClientRequest), transcript, message_of)
        except (NotFound, Conflict):
            if by_key is not None:
                raise
            return ()
        if by_key or any(not turn.status.is_end for turn in turns):
            return turns
        if not stored.read(ClientRequest).awaited:
            return ()
        self._mark(stored, awaited=False)
        return turns

    def _plan(
        self,
        transcript: ClientTranscript,
        by_words: str,
        attempts: Document | None,
        after: Turn | None,
    ) -> ClientRequest:
        attempt = 0 if attempts is None else attempts.read(ClientRequest).attempt + 1
        before = self._request_of(after) if after else self._request_before(transcript)
        if before is not None and not self._is_newest(before):
            before = None
        told = content_hash(transcript.instructions.encode())
        source_id = f"{by_words}-{attempt}"
        session_id = before.session_id if before else stable_id("session", source_id)
        tells = bool(transcript.instructions) and (before is None or before.instructions != told)
        return ClientRequest(
            session_id=session_id,
            source_id=source_id,
            message_id=id_of_admitted_message(
                self.source, self.principal_id, session_id, source_id
            ),
            attempt=attempt,
            opens=before is None,
            instructions=told,
            tells=tells,
        )

    def _request_before(self, transcript: ClientTranscript) -> ClientRequest | None:
        """Return the request that this one continues; None if it is not known."""
        previous = transcript.previous
        if previous is None:
            return None
        stored = self._stored(previous.request_id(self.principal_id, self.agent.agent.id))
        return None if stored is None else stored.read(ClientRequest)

    def _request_of(self, turn: Turn) -> ClientRequest | None:
        """Return the request that a turn answered; None if another conversation goes on there."""
        session = self._session(turn.session_id)
        if (
            session is None
            or turn.principal_id != self.principal_id
            or session.agent_ids != (self.agent.agent.id,)
        ):
            return None
        place = turn.trigger_line
        asked = self.runtime.home.journal.lines(turn.session_id, after=place - 1, before=place + 1)
        if not asked or asked[0].message_id is None:
            return None
        return ClientRequest(
            session_id=turn.session_id,
            source_id="",
            message_id=asked[0].message_id,
            instructions=self._told_last(turn.session_id, place),
        )

    def _told_last(self, session_id: str, place: int) -> str:
        """Return the hash of the instructions that a session was told last, up to a line."""
        heading, now = (f"{client_heading(name, self.agent.agent.language)}\n\n" for name in _TOLD)
        for line in self.runtime.home.journal.lines(
            session_id, before=place + 1, limit=_NEWEST, newest_first=True
        ):
            if line.turn_id is None and line.text.startswith(heading):
                told = line.text.removeprefix(heading).partition(f"\n\n{now}")[0]
                return content_hash(told.encode())
        return ""

    def _is_newest(self, request: ClientRequest) -> bool:
        """Check whether nobody has said anything in a request's session since."""
        session = self._session(request.session_id)
        if session is None or session.status is SessionStatus.ENDED:
            return False
        newest = self.runtime.home.journal.lines(
            request.session_id, limit=_NEWEST, newest_first=True
        )
        of_people = (
            line.message_id
            for line in newest
            if line.kind is LineKind.SPEECH and line.turn_id is None and not line.from_agent
        )
        return next(of_people, None) == request.message_id

    def _session(self, session_id: str) -> Session | None:
        try:
            return self.runtime.home.sessions.get(session_id)
        except NotFound:
            return None

    def _send(
        self, request: ClientRequest, transcript: ClientTranscript, message_of: MessageOf
    ) -> tuple[Turn, ...]:
        """Admit the message of a request, again if need be; it is the same each time."""
        runtime, agent = self.runtime, self.agent.agent
        text = _message_text(request, transcript, agent.language, self.field)
        if request.opens:
            session = create_first_session_of_agents(
                runtime,
                NewSession(participants=(agent.id,)),
                created_by=self.principal_id,
                session_id=request.session_id,
            )
        else:
            session = runtime.home.sessions.get(request.session_id)
        message = message_of(session, request.source_id, text)
        if not request.opens:
            return admit_turns_of_message(runtime, request.session_id, message)
        return admit_turns_of_message(
            runtime,
            request.session_id,
            message.quoting(transcript.sources),
            taint=transcript.taint,
        )

    def _stored(self, request_id: str) -> Document | None:
        return self.runtime.home.facts.get(self.agent.agent.id, CLIENT_REQUEST, request_id)

    def _keep(self, request: ClientRequest, known: dict[str, Document | None]) -> None:
        until = self.runtime.clock.now() + KEPT
        self.runtime.home.facts.commit(
            *(
                new_fact(
                    self.agent.agent.id, CLIENT_REQUEST, request_id, request, expires_at=until
                ).replaced(version=1 if stored is None else stored.version + 1)
                for request_id, stored in known.items()
            )
        )


def _quotable(newest: Iterable[Line]) -> list[Line]:
    """Return those lines that all of a session hear, oldest first, of at most `_PEOPLE` people."""
    kept, people = list[Line](), set[str]()
    for line in newest:
        if line.kind is LineKind.SPEECH and line.audience is Audience.ALL and not line.is_erased:
            people.update((line.speaker_id, *line.quotes))
            if len(people) > _PEOPLE:
                break
            kept.append(line)
    return kept[::-1]


def _require_same_request(stored: Document, by_words: str) -> None:
    """Raise Conflict if a request that was found by its key is another one."""
    if not stored.read(ClientRequest).source_id.startswith(by_words):
        raise Conflict(
            "this Idempotency-Key was already used for another request",
            field="Idempotency-Key",
            cure="use a new key for a new request",
        )


def _message_text(
    request: ClientRequest, transcript: ClientTranscript, language: Language, field: str
) -> str:
    """Return what the agent is told: the new words, and before them what the session lacks."""
    said = "\n\n".join(line.text for line in transcript.said)
    instructions = transcript.instructions if request.tells else ""
    earlier = transcript.earlier if request.opens else ()
    if not instructions and not earlier:
        return said
    blocks = [client_heading("instructions", language), instructions] if instructions else []
    left = MESSAGE_BYTES - _ROOM - len((said + instructions).encode())
    if left < 0:
        raise TooLarge(
            f"the new messages and the system message have more than {MESSAGE_BYTES - _ROOM} bytes",
            field=field,
            cure="shorten them",
        )
    if earlier:
        blocks += [client_heading("earlier", language), *_quote_lines(earlier, left, language)]
    return "\n\n".join((*blocks, client_heading("now", language), said))


def _quote_lines(lines: tuple[TranscriptLine, ...], room: int, language: Language) -> list[str]:
    """Return the newest of some lines that fit into so many bytes."""
    kept = list[str]()
    for line in reversed(lines):
        if not (line.text.strip() or line.pictures):
            continue  # nothing but calls of the client's tools
        quoted = f"{client_heading(line.role.value, language)}: {line.text}"
        room -= len(quoted.encode()) + 2
        if room < 0:
            kept.append(client_heading("left_out", language))
            break
        kept.append(quoted)
    return kept[::-1]
