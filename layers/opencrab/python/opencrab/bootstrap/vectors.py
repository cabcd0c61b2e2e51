"""Vectors for semantic search, created only if the settings enable them."""

from typing import TYPE_CHECKING

from opencrab.domain.errors import Invalid

if TYPE_CHECKING:
    from opencrab.adapters.sqlite_search.vectors import Vectors
    from opencrab.engine.memory.embedding import EmbeddingModels, MeteredEmbedder
    from opencrab.ports.agents import Agents
    from opencrab.ports.clock import Clock
    from opencrab.ports.turn.journal import Journal
    from opencrab.settings import Settings

_BACKEND = "sqlite"


def are_vectors_configured(configured: "Settings") -> bool:
    """Return True if semantic search is enabled; raises Invalid if the backend lacks it."""
    if not configured.get("search.vectors"):
        return False
    backend = configured.get("search.backend")
    if backend != _BACKEND:
        raise Invalid(
            f"search.vectors is not supported with search.backend {backend!r}",
            field="search.vectors",
            cure=f"set search.backend to {_BACKEND!r}, or search.vectors to false",
        )
    return True


def configured_vectors(
    configured: "Settings",
    journal: "Journal",
    agents: "Agents",
    models: "EmbeddingModels",
    clock: "Clock",
) -> "Vectors | None":
    """Return the vectors for semantic search; None, and nothing loaded, if it is disabled."""
    if not are_vectors_configured(configured):
        return None
    from opencrab.adapters.sqlite_search.vectors import Vectors

    return Vectors(configured_embedder(configured, journal, agents, models, clock))


def configured_embedder(
    configured: "Settings",
    journal: "Journal",
    agents: "Agents",
    models: "EmbeddingModels",
    clock: "Clock",
) -> "MeteredEmbedder":
    """Return what makes vectors of texts, each call within the budgets of these settings."""
    from opencrab.bootstrap.rules import configured_engine_rules
    from opencrab.engine.memory.embedding import MeteredEmbedder

    rules = configured_engine_rules(configured)
    return MeteredEmbedder(journal, agents, models, clock, rules, directory=models)
