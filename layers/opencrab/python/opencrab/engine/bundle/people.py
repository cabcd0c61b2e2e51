"""What an agent has of people other than its owner: it stays out of a bundle, unless asked for."""

from functools import cached_property

from opencrab.domain.access.authority import Authority, Scope
from opencrab.domain.agents.agent_state import AgentState
from opencrab.domain.conversation.attachment import UPLOADS
from opencrab.domain.conversation.upload_record import UPLOADED, UploadRecord
from opencrab.domain.goals.goal import GOAL, Goal
from opencrab.domain.goals.plan import AbandonedPlan
from opencrab.domain.memory.clearance import memory_label_of_session_members
from opencrab.domain.memory.knowledge_graph import NODE, KnowledgeEdge, KnowledgeNode
from opencrab.domain.memory.memory import Memory, Provenance
from opencrab.domain.value import Value
from opencrab.domain.workspace.path import FILE_READERS, FileReaders, file_name_key
from opencrab.engine.access.owners import owners_among_principals
from opencrab.engine.runtime import Runtime
from opencrab.ports.paging import all_pages

_OWN = (Authority.OWNER, Authority.SELF)


class ForeignPeople:
    """Whether rows and files of an agent come from people other than its owner.

    If they are `wanted`, none is left out for that.
    """

    def __init__(self, runtime: Runtime, agent_id: str, *, wanted: bool) -> None:
        self.wanted = wanted
        self._runtime = runtime
        self._agent_id = agent_id
        self._judged = {"": False, agent_id: False}

    def taught(self, value: Value) -> bool:
        """Check whether a document comes from somebody else; memories say so themselves."""
        if self.wanted or (isinstance(value, Memory) and value.provenance is not Provenance.WEB):
            return False
        if isinstance(value, Goal):
            return value.authority not in _OWN
        if isinstance(value, AbandonedPlan):
            return value.goal_id in self._goals
        if isinstance(value, KnowledgeEdge):
            return bool({value.origin, value.target} & self._nodes)
        return self._is_other(str(getattr(value, "person_id", "")))

    def without_owner(self, value: Value) -> Value:
        """Return a document without its owner's id, which elsewhere is that of a stranger."""
        person_id = str(getattr(value, "person_id", ""))
        own = bool(person_id) and not self._is_other(person_id)
        return value.replaced(person_id="") if own else value

    def state_without_goals(self, state: AgentState) -> AgentState:
        """Return an agent's state without the goals of others, which it would wait for.

        Whom this installation tells of its events is left out, too.
        """
        agenda = state.agenda
        current = None if agenda.current in self._goals else agenda.current
        waiting, still_open = (
            tuple(each for each in ids if each not in self._goals)
            for ids in (agenda.waiting, agenda.open)
        )
        kept = agenda.replaced(current=current, waiting=waiting, open=still_open)
        return state.replaced(agenda=kept, reported={})

    def sent(self, path: str) -> bool:
        """Check whether somebody else sent a file; one of which nobody knows the sender counts."""
        folder, _, rest = path.partition("/")
        upload_id, slash, _ = rest.partition("/")
        if self.wanted or folder != UPLOADS or not slash:
            return False
        facts = self._runtime.home.facts
        label = facts.get(self._agent_id, FILE_READERS, file_name_key(path))
        if label is None:
            # No message brought it here: whoever put it there is an owner, or the agent.
            return False
        readers, members = label.read(FileReaders).readers, memory_label_of_session_members("")
        session_id = readers.removeprefix(members) if readers.startswith(members) else ""
        record = facts.get(session_id, UPLOADED, upload_id) if session_id else None
        return record is None or self._is_other(record.read(UploadRecord).principal_id)

    @cached_property
    def _goals(self) -> frozenset[str]:
        """The ids of the goals that are left out, and with them their plans."""
        stored = all_pages(self._runtime.home.facts, self._agent_id, GOAL)
        goals = (fact.read(Goal) for fact in stored)
        return frozenset(goal.id for goal in goals if self.taught(goal))

    @cached_property
    def _nodes(self) -> frozenset[str]:
        """The ids of the nodes that are left out, and with them their relations."""
        stored = all_pages(self._runtime.home.facts, self._agent_id, NODE)
        return frozenset(fact.id for fact in stored if self.taught(fact.read(KnowledgeNode)))

    def _is_other(self, person_id: str) -> bool:
        if person_id not in self._judged:
            owners = owners_among_principals(self._runtime, (person_id,), self._agent_id)
            self._judged[person_id] = person_id not in owners | self._owners_with_keys
        return self._judged[person_id]

    @cached_property
    def _owners_with_keys(self) -> frozenset[str]:
        """The principals of owners' keys, also of those that were revoked since."""
        keys = self._runtime.home.keys.list()
        return frozenset(key.principal.id for key in keys if key.scope is Scope.OWNER)
