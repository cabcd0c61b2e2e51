"""Versions of files that an erasure has named: they end at once, also when the file changes later.

The file itself stays until its owner has decided on it. What the owner replaces or deletes must not
live on as a version, so a mark without words tells that the file is under a forgetting request.
What the agent itself replaces or deletes ends with its turn.
"""

from opencrab.domain.document import new_fact
from opencrab.domain.erasure.request import MARKS_KEPT
from opencrab.domain.identifier import stable_id
from opencrab.domain.value import Value
from opencrab.engine.consequence import FollowUp, TurnConsequence, TurnEnding
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.work import TurnWork

FORGOTTEN_FILE = "forgotten_file"
"""The kind of document that marks a file under a forgetting request; its id is a hash."""


class ForgottenFile(Value):
    """A mark without content."""


class ForgottenFileConsequence(TurnConsequence[Runtime, TurnWork]):
    """The end of the versions that a turn made of files under a forgetting request."""

    def on_close(self, work: TurnWork, ending: TurnEnding) -> FollowUp:  # noqa: ARG002 - the hook's
        for path in dict.fromkeys(work.transcript.replaced_files):
            erase_forgotten_file_versions(work.runtime, work.turn.agent_id, path)
        return FollowUp()


def mark_file_forgotten(runtime: Runtime, agent_id: str, path: str) -> None:
    """Store that a file is under a forgetting request, for as long as other erasure marks."""
    until = runtime.clock.now() + MARKS_KEPT
    mark = new_fact(agent_id, FORGOTTEN_FILE, _id(path), ForgottenFile(), expires_at=until)
    runtime.home.facts.commit(mark.replaced(version=0))


def erase_forgotten_file_versions(runtime: Runtime, agent_id: str, path: str) -> int:
    """Delete the older versions of a file that is under a forgetting request; return how many.

    Call it after each change of the file.
    """
    if runtime.home.facts.get(agent_id, FORGOTTEN_FILE, _id(path)) is None:
        return 0
    return runtime.home.files.delete_versions(agent_id, path)


def _id(path: str) -> str:
    return stable_id("file", path)
