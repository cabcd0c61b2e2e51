"""Updating the search indexes of several agents: one that fails does not hold up the others."""

import logging
from collections.abc import Callable, Mapping

from opencrab.adapters.search_rows import ChangeHint
from opencrab.domain.errors import Unavailable

_log = logging.getLogger(__name__)


def update_search_index_of_each(
    hints: Mapping[str, ChangeHint], update: Callable[[str, ChangeHint], object]
) -> None:
    """Update each agent's index, then raise the last Unavailable, so that all is told again."""
    failure: Unavailable | None = None
    for agent_id, hinted in hints.items():
        try:
            update(agent_id, hinted)
        except Unavailable as error:
            _log.warning(
                "cannot update search index, retrying: agent_id=%s, error=%s",
                agent_id,
                error.message,
            )
            failure = error
    if failure is not None:
        raise failure
