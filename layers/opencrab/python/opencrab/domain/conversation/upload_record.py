"""Upload records: who uploaded which file, so that an erasure finds it."""

from datetime import datetime

from opencrab.domain.value import Value

UPLOADED = "uploaded"
"""The kind of documents that say who uploaded a file; a session owns them."""


class UploadRecord(Value):
    """A file in the workspaces of some agents, and the principal who uploaded it."""

    path: str
    agent_ids: tuple[str, ...]
    principal_id: str
    at: datetime
