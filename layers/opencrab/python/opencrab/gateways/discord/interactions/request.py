"""Asked: what somebody wants of us on Discord, with who they are; what every command is given."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from opencrab.domain.access.authority import Authority
from opencrab.domain.agents.agent import Profile
from opencrab.domain.discord.community import Person, Presence, Reply, authority_of
from opencrab.domain.errors import Refused
from opencrab.domain.value import Language
from opencrab.engine.runtime import Runtime


@dataclass(frozen=True)
class Asked:
    """One command, with its words and its asker.

    `name` is the command with its subcommand, as in `memory search`; `options` are its arguments by
    name. `reply` is how it is answered.
    """

    runtime: Runtime
    name: str
    options: Mapping[str, Any]
    person: Person
    reply: Reply

    @property
    def language(self) -> Language:
        """The asker's language."""
        return self.reply.language

    def authority(self, presence: Presence | None) -> Authority:
        """What the asker is to an agent; without one, to the installation."""
        return authority_of(self.person, self.runtime.community, presence)

    def require_owner(
        self, profile: Profile | None = None, presence: Presence | None = None
    ) -> None:
        """Raise Refused unless the asker is an owner: of this agent, or of the installation."""
        if self.authority(presence) is not Authority.OWNER:
            whose = "this installation" if profile is None else repr(profile.agent.name)
            raise Refused(
                f"only the owner of {whose} may do this",
                cure="ask the owner, or have your Discord id added to owner_ids",
            )
