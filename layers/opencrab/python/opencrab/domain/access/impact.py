"""Impact: what an action touches, by which authority and approval policies judge it."""

from enum import StrEnum


class Impact(StrEnum):
    """The reach of an action, weakest first: speech < read < self < shared < external."""

    SPEECH = "speech"
    READ = "read"
    SELF = "self"
    SHARED = "shared"
    EXTERNAL = "external"
