"""Approval policies: which impacts run without approval, and which calls need one."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field, StringConstraints

from opencrab.domain.access.impact import Impact


class ApprovalPolicy(StrEnum):
    """A named set of impacts that run without approval."""

    STRICT = "strict"
    GUARDED = "guarded"
    OPEN = "open"


_UNASKED = {
    ApprovalPolicy.STRICT: {Impact.SPEECH},
    ApprovalPolicy.GUARDED: {Impact.SPEECH, Impact.READ, Impact.SELF},
    ApprovalPolicy.OPEN: {Impact.SPEECH, Impact.READ, Impact.SELF, Impact.SHARED},
}


Unasked = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
"""An impact, or the name of an action, that runs without approval."""


Policy = ApprovalPolicy | Annotated[tuple[Unasked, ...], Field(max_length=100)]
"""A named policy, or a list of what runs without approval; speech always does."""


def needs_approval(action: str, impact: Impact, policy: Policy, *, tainted: bool) -> bool:
    """Check whether a human must approve a call first.

    A tainted turn needs approval for shared and external impacts under any policy; speech never
    needs approval.
    """
    if tainted and impact in {Impact.SHARED, Impact.EXTERNAL}:
        return True
    if isinstance(policy, ApprovalPolicy):
        return impact not in _UNASKED[policy]
    return impact is not Impact.SPEECH and not {action, impact.value} & set(policy)
