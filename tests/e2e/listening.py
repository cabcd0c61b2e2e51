"""An installation with secrets in every store, places with listeners, and what reaches a model.

Who may know a secret, and who listens in a place, is written down here as sets of people; nothing
of the product decides it.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.access.session_access import SESSION_ACCESS, SessionAccess
from opencrab.domain.agents.agent import Agent
from opencrab.domain.agents.agent_state import MIND, Agenda, AgentState
from opencrab.domain.agents.event import AgentEvent
from opencrab.domain.agents.heartbeat import Heartbeat
from opencrab.domain.conversation.channel_binding import PLACE, ChannelBinding
from opencrab.domain.conversation.message import (
    Audience,
    Channel,
    Instruction,
    Line,
    LineKind,
    Message,
    Sender,
    TextPart,
)
from opencrab.domain.conversation.session import Hearing, Participant, Session
from opencrab.domain.discord.community import Community
from opencrab.domain.document import INSTALLATION_FACTS, Document, new_fact
from opencrab.domain.goals.goal import GOAL, Goal, goal_document_id
from opencrab.domain.learning.skill_trials import index_learned_skill
from opencrab.domain.memory.memory import EXPERIENCE, MEMORY, CoreMemory, Experience, Memory
from opencrab.domain.memory.salient_beliefs import OUTLOOK, BriefBelief, SalientBeliefs
from opencrab.domain.memory.summary import SUMMARY, Summary, SummarySpan, memory_summary_document_id
from opencrab.domain.memory.working_memory import WORKING, WorkingMemory
from opencrab.domain.outcome import Outcome
from opencrab.domain.turn.turn import Trigger
from opencrab.domain.value import Language
from opencrab.engine.agents import vital_signs
from opencrab.engine.agents.agent_session import agents_own_session
from opencrab.engine.goals.queue import OPENCRAB
from opencrab.engine.turn.admission import admit_turns_of_message
from opencrab.ports.models.model import ChatMessage, ChatRequest
from tests.contract.homes import OpenHome
from tests.e2e.house import START, House
from tests.e2e.seeking import SEARCHES, secret_skills, skills
from tests.searching import searching, searching_copies

OWNER, YUI, KEN, GUILD, STRANGER = "owner", "yui", "ken", "guild", "stranger"
"""The owner, two known people, some member of the server `g1`, and somebody else."""

EVERYBODY = frozenset({OWNER, YUI, KEN, GUILD, STRANGER})
DISCORD_OWNER = "discord-1100000000000000001"
SERVER = Channel(kind="discord", address="1200000000000000001")
DIRECT = Channel(kind="discord", address="1200000000000000002")
NOBODYS = Channel(kind="discord", address="1200000000000000003")

SECRETS: dict[str, frozenset[str]] = {
    "canary-core-private": frozenset({OWNER}),
    "canary-core-theirs": frozenset({OWNER, YUI}),
    "canary-core-guild": frozenset({OWNER, YUI, KEN, GUILD}),
    "canary-core-public": EVERYBODY,
    "canary-memory-private": frozenset({OWNER}),
    "canary-memory-theirs": frozenset({OWNER, YUI}),
    "canary-memory-guild": frozenset({OWNER, YUI, KEN, GUILD}),
    "canary-memory-public": EVERYBODY,
    "canary-speech-theirs": frozenset({OWNER, YUI}),
    "canary-speech-own": frozenset({OWNER}),
    "canary-found-before": frozenset({OWNER}),
    "canary-thought-before": frozenset({OWNER}),
    "canary-summary": frozenset({OWNER}),
    "canary-experience": frozenset({OWNER}),
    "canary-skill-private": frozenset({OWNER}),
    "canary-skill-theirs": frozenset({OWNER, YUI}),
    "canary-skill-approved": EVERYBODY,
    "canary-filename": frozenset({OWNER}),
    "canary-file-text": frozenset({OWNER}),
    "canary-vaultname": frozenset({OWNER}),
    "canary-vault-text": frozenset({OWNER}),
    "canary-public-file": EVERYBODY,
    "canary-goal": frozenset({OWNER}),
    "canary-belief": frozenset({OWNER}),
    "canary-note-to-self": frozenset({OWNER}),
    "canary-event": frozenset({OWNER}),
}
"""Each secret with those who may know it."""


@dataclass(frozen=True)
class Place:
    """A place where an agent answers, with those who read there."""

    name: str
    listeners: frozenset[str]
    session: dict[str, Any]
    access: SessionAccess | None = None
    channel: Channel | None = None


PLACES = (
    Place("alone", frozenset({OWNER}), {"created_by": OWNER}),
    Place("yuis", frozenset({OWNER, YUI}), {"created_by": YUI}),
    Place(
        "invited",
        frozenset({OWNER, YUI, KEN}),
        {"created_by": OWNER},
        SessionAccess(members=(YUI, KEN)),
    ),
    Place(
        "one-guest", frozenset({OWNER, KEN}), {"created_by": OWNER}, SessionAccess(members=(KEN,))
    ),
    Place(
        "group",
        frozenset({OWNER, KEN, GUILD}),
        {"created_by": DISCORD_OWNER},
        SessionAccess(others_read=True),
    ),
    Place(
        "server",
        frozenset({OWNER, YUI, KEN, GUILD}),
        {"created_by": DISCORD_OWNER, "guild_id": "g1"},
        channel=SERVER,
    ),
    Place(
        "square",
        EVERYBODY,
        {"created_by": DISCORD_OWNER, "guild_id": "g2", "hearing": Hearing.PUBLIC},
    ),
    Place("direct", frozenset({OWNER}), {"created_by": DISCORD_OWNER}, channel=DIRECT),
)

ASKERS = {
    OWNER: (Authority.OWNER, Source.REST),
    YUI: (Authority.USER, Source.REST),
    STRANGER: (Authority.PUBLIC, Source.DISCORD),
}

BY_ITSELF: dict[str, Any] = {"authority": Authority.SELF, "principal_id": "crab"}


class Listening:
    """A house in which everything has its secret, and the requests that its model received."""

    def __init__(self, opens: OpenHome, folder: Path, language: Language) -> None:
        self.house = House(opens, folder)
        self.agent = self.house.agent("crab", SEARCHES, language)
        house, home = self.house, self.house.home
        # Only the local home has a feed that an index can follow.
        search = searching_copies if home.feed is None else searching
        house.runtime = replace(
            house.runtime,
            search=search(home, house.clock, folder / "search"),
            community=Community(owner_ids=(DISCORD_OWNER.removeprefix("discord-"),)),
        )
        self._said = 0
        for place in PLACES:
            self._open(place)
        self._session("theirs", created_by=YUI)
        self._session("own", created_by=OWNER)
        home.sessions.create(agents_own_session("crab", START))
        self._hide()

    def close(self) -> None:
        """Give up the home."""
        self.house.close()

    def ask(self, place: Place, who: str) -> list[ChatRequest]:
        """The requests that a model receives when somebody says one word in a place."""
        authority, source = ASKERS[who]
        on_discord = place.session["created_by"] == DISCORD_OWNER and who == OWNER
        person = DISCORD_OWNER if on_discord else who
        return self._requests(place.name, principal_id=person, authority=authority, source=source)

    def beat(self, channel: Channel | None) -> list[ChatRequest]:
        """The requests of a heartbeat in the agent's own session that speaks to a channel."""
        self.note_event()
        own = agents_own_session("crab", START).id
        said = BY_ITSELF | {"source": Source.HEARTBEAT, "channel": channel}
        return self._requests(own, Trigger.HEARTBEAT, **said)

    def schedule(self, place: Place, channel: Channel | None = None) -> list[ChatRequest]:
        """The requests of a schedule's turn in a place, which perhaps speaks to a channel too."""
        said = BY_ITSELF | {"source": Source.SCHEDULE, "channel": channel}
        return self._requests(place.name, Trigger.SCHEDULE, **said)

    def grant(self, session_id: str, access: SessionAccess) -> None:
        """Share a session, or let agents speak freely in it."""
        fact = new_fact(INSTALLATION_FACTS, SESSION_ACCESS, session_id, access)
        self.house.home.facts.commit(fact.replaced(version=0))

    def note_event(self) -> None:
        """Let something happen that only the owner may know of."""
        self._said += 1
        event = AgentEvent(
            id=f"{self._said:06d}",
            type="goal.completed",
            source="crab",
            text="canary-event",
            tainted=False,
            at=self.house.clock.now(),
        )
        vital_signs.store_event_for_agent(self.house.runtime, "crab", event)

    def _requests(
        self, session_id: str, trigger: Trigger = Trigger.MESSAGE, **said: Any
    ) -> list[ChatRequest]:
        self._said += 1
        before, person = len(self.house.provider.seen), said["principal_id"]
        message = Message(
            source_id=f"m{self._said}",
            sender=OPENCRAB if person == "crab" else Sender(id=person, name=person),
            parts=(TextPart(text="What do you know?"),),
            **said,
        )
        admit_turns_of_message(self.house.runtime, session_id, message, trigger=trigger)
        self.house.work()
        return [request for request in self.house.provider.seen[before:] if request.actions]

    def _session(self, session_id: str, **fields: Any) -> None:
        session = Session(
            id=session_id,
            participants=(Participant(agent_id="crab"),),
            created_at=START,
            updated_at=START,
            **fields,
        )
        self.house.home.sessions.create(session)

    def _open(self, place: Place) -> None:
        self._session(place.name, **place.session)
        if place.access is not None:
            self.grant(place.name, place.access)
        if place.channel is not None:
            bound = ChannelBinding(session_id=place.name)
            where = f"{place.channel.kind}.{place.channel.address}"
            self.house.home.facts.commit(new_fact(INSTALLATION_FACTS, PLACE, where, bound))

    def _hide(self) -> None:
        """Put a secret into each store; in each place the agent found something out before."""
        self._line("theirs", "canary-speech-theirs", YUI, Authority.USER)
        self._line("own", "canary-speech-own", OWNER, Authority.OWNER)
        for place in PLACES:
            of_agent = {"from_agent": True, "audience": Audience.SELF, "turn_id": "earlier"}
            data = {"name": "search_my_history", "arguments": "{}", "result": "canary-found-before"}
            found = {"kind": LineKind.ACTION, "data": data, **of_agent}
            thought = {"kind": LineKind.INNER_VOICE, **of_agent}
            self._line(place.name, "found", "crab", Authority.OWNER, **found)
            self._line(place.name, "canary-thought-before", "crab", Authority.SELF, **thought)
        facts = self.house.home.facts
        for write in (self._kept, secret_skills, self._wanted):
            facts.commit(*write())
        files = self.house.home.files
        files.write("crab", "notes/plan.md", b"canary-file-text z", clean=True)
        files.write("crab", "notes/canary-filename.md", b"", clean=True)
        files.write("crab", "vault/ideas.md", b"# canary-vault-text\n", clean=True)
        files.write("crab", "vault/canary-vaultname.md", b"", clean=True)
        files.write("crab", "public/open.md", b"canary-public-file", clean=True)

    def _kept(self) -> list[Document]:
        reach: tuple[tuple[str, Hearing, str, str | None], ...] = (
            ("private", Hearing.PRIVATE, "own", None),
            ("theirs", Hearing.SESSION, "theirs", None),
            ("guild", Hearing.GUILD, "server", "g1"),
            ("public", Hearing.PUBLIC, "own", None),
        )
        memories = [
            Memory(
                id=f"m{name}",
                category="fact",
                content=f"canary-memory-{name}",
                hearing=hearing,
                session_id=session_id,
                guild_id=guild_id,
                created_at=START,
                updated_at=START,
            )
            for name, hearing, session_id, guild_id in reach
        ]
        lived = Experience(
            id="e1",
            experience="canary-experience",
            outcome=Outcome.SUCCESS,
            lesson="canary-experience",
            model="fake:crab",
            session_id="own",
            at=START,
        )
        summary = Summary(
            id="S1",
            span=SummarySpan.TOPIC,
            title="canary-summary",
            text="canary-summary",
            session_id="own",
            hearing=Hearing.SESSION,
            since=START,
            until=START,
            at=START,
        )
        return [
            *(new_fact("crab", MEMORY, each.id, each) for each in memories),
            new_fact("crab", EXPERIENCE, lived.id, lived),
            new_fact("crab", SUMMARY, memory_summary_document_id("S1"), summary),
        ]

    def _wanted(self) -> list[Document]:
        core = (
            CoreMemory(id="c1", content="canary-core-private", hearing=Hearing.PRIVATE),
            CoreMemory(
                id="c2",
                content="canary-core-theirs",
                hearing=Hearing.SESSION,
                session_id="theirs",
                person_id=YUI,
            ),
            CoreMemory(id="c3", content="canary-core-guild", hearing=Hearing.GUILD, guild_id="g1"),
            CoreMemory(id="c4", content="canary-core-public", hearing=Hearing.PUBLIC),
        )
        goal = Goal(
            id="G1",
            agent_id="crab",
            session_id="goal1",
            name="canary-goal",
            instruction="canary-goal",
            authority=Authority.SELF,
            principal_id="crab",
            created_at=START,
        )
        belief = BriefBelief(id="b1", claim="canary-belief", confidence=0.9, at=START)
        working = WorkingMemory(text="canary-note-to-self", at=START)
        mind = AgentState(core=core, agenda=Agenda(last_number=1, open=("G1",)))
        for skill in skills():
            mind = index_learned_skill(mind, skill)
        agent: Agent = self.house.home.agents.get("crab").agent
        changed = agent.replaced(heartbeat=Heartbeat(instructions="Tell the news"))
        self.house.home.agents.save(changed)
        vital_signs.create_agent_vital_signs(self.house.runtime, self.house.home.agents.get("crab"))
        return [
            new_fact("crab", MIND, MIND, mind).replaced(version=0),
            new_fact("crab", GOAL, goal_document_id("G1"), goal),
            new_fact("crab", OUTLOOK, OUTLOOK, SalientBeliefs(beliefs=(belief,))),
            new_fact("crab", WORKING, WORKING, working),
        ]

    def _line(
        self, session_id: str, text: str, by: str, authority: Authority, **changes: Any
    ) -> None:
        self._said += 1
        fields: dict[str, Any] = {
            "session_id": session_id,
            "group": f"g{self._said}",
            "kind": LineKind.SPEECH,
            "speaker_id": by,
            "speaker_name": by,
            "authority": authority,
            "at": self.house.clock.now(),
        } | changes
        told = Instruction(
            id=f"i{self._said}", session_id=session_id, text=text, by=by, at=fields["at"]
        )
        # The only way to write a line outside a turn; the guidance itself is for nobody here.
        self.house.home.journal.instruct(told.without_content(), Line(text=text, **fields))


def wire(requests: list[ChatRequest]) -> str:
    """All that a model received, as text."""
    turns = [turn for request in requests for turn in request.turns]
    said = [turn.text if isinstance(turn, ChatMessage) else turn.content for turn in turns]
    return "\n".join([*(request.system for request in requests), *said])


def found_in(requests: list[ChatRequest]) -> set[str]:
    """The secrets that reached a model, apart from its own arguments."""
    text = wire(requests)
    return {secret for secret in SECRETS if secret in text}


def may_reach(listeners: frozenset[str]) -> Callable[[str], bool]:
    """Whether all of these people may know a secret."""
    return lambda secret: listeners <= SECRETS[secret]
