"""An owner's view of promises: those that an agent made, and those that others made to it."""

from dataclasses import dataclass

from opencrab.domain.discussion.outcome import DISCUSSION_OUTCOME, DiscussionOutcome
from opencrab.domain.document import INSTALLATION_FACTS
from opencrab.domain.goals.promise import PROMISE, PROMISE_BOARD, Promise, PromiseBoard
from opencrab.ports.documents import Documents
from opencrab.ports.home import Home


@dataclass(frozen=True)
class AgentPromises:
    """Promises of one agent and to it, at most `BOARD` of each kind, in the board's order."""

    made: tuple[Promise, ...]
    received: tuple[Promise, ...]


def promises_of_agent(home: Home, agent_id: str) -> AgentPromises:
    """Return the promises on an agent's board, whole; raises NotFound."""
    home.agents.get(agent_id)
    facts = home.facts
    stored = facts.get(agent_id, PROMISE_BOARD, PROMISE_BOARD)
    board = PromiseBoard() if stored is None else stored.read(PromiseBoard)
    made = _read_promises(facts, agent_id, [each.id for each in board.made])
    given = _received_promises(facts, board)
    return AgentPromises(made=tuple(made.values()), received=given)


def _received_promises(facts: Documents, board: PromiseBoard) -> tuple[Promise, ...]:
    """Return the promises made to an agent; the outcome of their session says whose they are."""
    owners = dict[str, str]()
    for session_id in dict.fromkeys(each.session_id for each in board.received):
        stored = facts.get(INSTALLATION_FACTS, DISCUSSION_OUTCOME, session_id)
        tasks = () if stored is None else stored.read(DiscussionOutcome).tasks
        owners |= {task.promise_id: task.agent_id for task in tasks if task.promise_id}
    found = dict[str, Promise]()
    for owner in dict.fromkeys(owners.values()):
        theirs = [each.id for each in board.received if owners.get(each.id) == owner]
        found |= _read_promises(facts, owner, theirs)
    return tuple(found[each.id] for each in board.received if each.id in found)


def _read_promises(facts: Documents, owner: str, ids: list[str]) -> dict[str, Promise]:
    """Return the stored promises of an agent, in the order of these ids."""
    if not ids:
        return {}
    stored = {each.id: each for each in facts.get_many(owner, *((PROMISE, each) for each in ids))}
    return {each: stored[each].read(Promise) for each in ids if each in stored}
