"""Runtime: everything the engine needs, passed in as one value."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from opencrab.domain.agents.heartbeat import DEFAULT_SECONDS
from opencrab.domain.autonomy.settings import Autonomy
from opencrab.domain.discord.community import Community
from opencrab.domain.learning.settings import TrialSettings
from opencrab.domain.money.budget import Limits
from opencrab.domain.skills.skill import StandardSkill
from opencrab.domain.turn.turn import MAX_STEPS
from opencrab.engine.consequence import BackgroundJob, Consequences
from opencrab.ports.access.secrets import Secrets
from opencrab.ports.clock import Clock
from opencrab.ports.conversation.answers import AnswerFeed, NoWatchers
from opencrab.ports.conversation.channel import DeliveryChannel, PreviewChannel
from opencrab.ports.discord import Discord
from opencrab.ports.documents import Documents
from opencrab.ports.home import Home
from opencrab.ports.memory.search import IndexStatus, Search, SearchHit, SearchQuery
from opencrab.ports.models.model import Models
from opencrab.ports.skills import StandardSkills
from opencrab.ports.turn.action import ActionReach, Actions
from opencrab.ports.web import SearchEngine, SignedPost, Web
from opencrab.ports.world import WorldLink, WorldPost

if TYPE_CHECKING:
    from opencrab.ports.conversation.chat_link import Chat
    from opencrab.ports.conversation.file_source import FileSource
    from opencrab.ports.mcp import McpServers
    from opencrab.ports.models.directory import ProviderDirectory


@dataclass(frozen=True)
class Rules:
    """The engine's numbers; every one is a setting.

    `history_lines` limits the lines read for a prompt, whose length `high_water_tokens` limits. A
    session is summarized after each `compact_every` lines; 0 is never. New agents have a heartbeat
    every `heartbeat_seconds` by default. While a model answers, a worker looks every
    `stop_check_ms` for a stop of its turn, and shows new words at most every `answer_part_ms`,
    from `answer_first_ms` after the call began. A worker holds a turn for `step_lease_seconds` from
    its last sign of life; who asks a model without one holds a turn for `lease_seconds`. Ledger
    rows are deleted `calls_kept` after their call; None is never. `time_zone` is that of agents
    without one of their own. With `asks_purpose` an agent without a purpose asks its owner for one,
    once. A turn waits `client_tool_minutes` for results of tools that its client runs.
    """

    limits: Limits = field(default_factory=Limits)
    max_steps: int = MAX_STEPS
    lease_seconds: int = 300
    step_lease_seconds: int = 300
    visibility_seconds: int = 1_800
    stale_seconds: int = 60
    continue_seconds: int = 2
    model_timeout_seconds: float = 120.0
    stop_check_ms: int = 100
    answer_part_ms: int = 25
    answer_first_ms: int = 0
    max_output_tokens: int = 2_048
    history_lines: int = 96
    high_water_tokens: int = 80_000
    compact_every: int = 64
    heartbeat_seconds: int = DEFAULT_SECONDS
    autonomy: Autonomy = field(default_factory=Autonomy)
    trials: TrialSettings = field(default_factory=TrialSettings)
    calls_kept: timedelta | None = timedelta(days=400)
    time_zone: str = "UTC"
    asks_purpose: bool = False
    client_tool_minutes: int = 60


class NothingToFind:
    """A search and a skill store that are empty, for an installation without them."""

    def search(
        self,
        agent_id: str,  # noqa: ARG002 - the port's
        query: SearchQuery,  # noqa: ARG002
    ) -> tuple[SearchHit, ...]:
        """Return no hits."""
        return ()

    def apply_erasures(self, agent_id: str) -> None:
        """Do nothing, since there is no index."""

    def status(self, agent_id: str) -> IndexStatus:  # noqa: ARG002 - the port's
        """Return the status of a missing index."""
        return IndexStatus(backend="none")

    def all(self) -> tuple[StandardSkill, ...]:
        """Return no skills."""
        return ()

    def find(self, name: str) -> StandardSkill | None:  # noqa: ARG002 - the port's
        """Return None for every name."""
        return None


@dataclass(frozen=True)
class Runtime:
    """One installation: its home, clock, models, actions and channels.

    `directory` and `secrets` serve people who read and set up providers; `search`, `skills` and the
    web serve actions. `discord` is Discord's API, `discord_files` where its files are fetched,
    `community` its servers and members; `chats` are other chat services, by kind. `world` is the
    link to outside worlds and `mcp` to MCP servers, if any, `answers` the watchers of words that
    are still arriving, `previews` the channels that show them, by kind. `signed_post` tells
    others of events. `consequences` are the capabilities that react to turns, `jobs` the kinds of
    background turns; neither has a default, since a missing one would go unnoticed.
    """

    home: Home
    clock: Clock
    models: Models
    actions: Actions
    consequences: Consequences["Runtime", Any] = field(kw_only=True)
    jobs: Iterable[BackgroundJob["Runtime", Any]] = field(kw_only=True)
    channels: Mapping[str, DeliveryChannel] = field(default_factory=dict)
    rules: Rules = field(default_factory=Rules)
    directory: "ProviderDirectory | None" = None
    secrets: Secrets | None = None
    search: Search = field(default_factory=NothingToFind)
    skills: StandardSkills = field(default_factory=NothingToFind)
    web: Web | None = None
    web_search: SearchEngine | None = None
    discord: Discord | None = None
    discord_files: "FileSource | None" = None
    community: Community = field(default_factory=Community)
    world: WorldLink | None = None
    mcp: "McpServers | None" = None
    chats: Mapping[str, "Chat"] = field(default_factory=dict)
    answers: AnswerFeed = field(default_factory=NoWatchers)
    previews: Mapping[str, PreviewChannel] = field(default_factory=dict)
    signed_post: SignedPost | None = None

    @property
    def reach(self) -> ActionReach:
        """The parts of the installation that actions may use."""
        return ActionReach(
            files=self.home.files,
            facts=self.home.facts,
            history=self.home.journal,
            models=self.models,
            agents=self.home.agents,
            search=self.search,
            skills=self.skills,
            usage=self.home.usage,
            tallies=self.home.tallies,
            budgets=self.home.budgets,
            limits=self.rules.limits,
            sessions=self.home.sessions,
            web=self.web,
            web_search=self.web_search,
            world=None if self.world is None else _world_post(self.world, self.home.facts),
            readiness=self.directory,
            time_zone=self.rules.time_zone,
        )


def _world_post(link: WorldLink, facts: Documents) -> WorldPost:
    from opencrab.engine.world_outbox import WorldOutbox  # noqa: PLC0415 - few have a world

    return WorldOutbox(link, facts)
