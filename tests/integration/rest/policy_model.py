"""The policy in sixty lines: who may read and do what, written down a second time as an oracle.

It knows people, agents, sessions and tasks as a test made them, and nothing of the product.
"""

from dataclasses import dataclass, field


@dataclass
class Place:
    """A session, or a task with the session of its own: its creator, agents and members."""

    id: str
    creator: str
    agent: str
    members: set[str] = field(default_factory=set)
    canaries: set[str] = field(default_factory=set)

    @property
    def people(self) -> set[str]:
        return {self.creator, *self.members}


@dataclass
class Model:
    """Everything that was made, and what each person may see of it."""

    places: dict[str, Place] = field(default_factory=dict)
    files: dict[tuple[str, str], str] = field(default_factory=dict)

    def sees(self, who: str, place: Place) -> bool:
        """Whether somebody may read a place: owner, creator, members, or a grant for it."""
        if who in {"owner", "legacy", "all"}:
            return True
        kind, _, name = who.partition(":")
        if kind == "sessions":
            return place.id == name
        if kind == "agent":
            return place.agent == name
        return who in place.people

    def may_say(self, who: str, place: Place) -> int:
        """The status of a message: only those who take part may speak."""
        if not self.sees(who, place):
            return 403 if _reads_only(who) else 404
        return 403 if _reads_only(who) else 202

    def may_share(self, who: str, place: Place) -> int:
        """The status of an invitation: only the creator and the owner may share."""
        if _reads_only(who):
            return 403
        if not self.sees(who, place):
            return 404
        return 200 if who in {"owner", place.creator} else 403

    def may_read_file(self, who: str, agent: str, path: str) -> bool:
        """Whether somebody may read a file: owners, readers of the agent, people what is public."""
        if who in {"owner", "legacy", "all", f"agent:{agent}"}:
            return True
        return not _reads_only(who) and path.startswith("public/")

    def readable(self, who: str) -> set[str]:
        """All canaries that may appear in an answer to somebody."""
        said = [place.canaries for place in self.places.values() if self.sees(who, place)]
        written = {
            canary
            for (agent, path), canary in self.files.items()
            if self.may_read_file(who, agent, path)
        }
        return written.union(*said)


def _reads_only(who: str) -> bool:
    return who in {"legacy", "all", "metrics"} or who.startswith(("sessions:", "agent:"))
