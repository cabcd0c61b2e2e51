"""The release that used an installation's data last, by which an upgrade knows that it is due."""

from datetime import datetime

from opencrab.domain.document import INSTALLATION_FACTS
from opencrab.domain.value import Value
from opencrab.ports.documents import Documents

RELEASE = "release"
"""Kind and id of the document of the installation that records it."""


class ReleaseRecord(Value):
    """The release that used this installation last."""

    version: str
    since: datetime


def is_data_of_release(facts: Documents, release: str) -> bool:
    """Check with one read whether `release` used the data last: then nothing is left to do."""
    record = facts.get(INSTALLATION_FACTS, RELEASE, RELEASE)
    return record is not None and record.read(ReleaseRecord).version == release
