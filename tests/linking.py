"""What an agent knows, linked in a store as the action does it."""

from opencrab.domain.memory.knowledge_graph import KnowledgeEdge, KnowledgeNode
from opencrab.domain.memory.knowledge_link import KnowledgeLink
from opencrab.ports.documents import Documents


def link(
    facts: Documents,
    agent_id: str,
    origin: KnowledgeNode,
    edge: KnowledgeEdge,
    target: KnowledgeNode,
) -> KnowledgeEdge:
    """Keep that one thing relates to another."""
    linking = KnowledgeLink(origin, edge, target)
    stored = facts.get_many(agent_id, *linking.names)

    def count(kind: str) -> int:
        return len(facts.page(agent_id, kind, limit=10_000))

    kept, changes = linking.changes(agent_id, stored, count)
    facts.commit(*changes)
    return kept
