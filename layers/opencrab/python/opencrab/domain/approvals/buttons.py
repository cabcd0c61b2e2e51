"""Buttons below the question of an approval in a channel: which there are, and what a press says.

Whoever approves must have seen every byte of the call. So there is a button to approve it only
where all of it is shown, and it has the hash of what is shown; a call may be rejected unseen.
"""

from dataclasses import dataclass
from enum import StrEnum

from opencrab.domain.approvals.call_text import hash_shown_in_approval


@dataclass(frozen=True, slots=True)
class ApprovalButtons:
    """The data of the buttons of one approval; without `approve` it cannot be approved here.

    `show` asks for the whole call, where a channel can show it to one person.
    """

    reject: str
    show: str
    approve: str = ""


class ApprovalButtonKind(StrEnum):
    """What a button is for."""

    APPROVE = "y"
    REJECT = "n"
    SHOW = "s"


@dataclass(frozen=True, slots=True)
class ApprovalButton:
    """What the data of a pressed button says; `shown_hash` is that of the call to approve."""

    approval_id: str
    kind: ApprovalButtonKind
    shown_hash: str | None = None


def buttons_below_approval(approval_id: str, text: str, *, is_whole: bool) -> ApprovalButtons:
    """Return the buttons below a text in a channel; `is_whole` if people see all of it at once."""
    return buttons_of_shown_approval(approval_id, hash_shown_in_approval(text) if is_whole else "")


def buttons_of_shown_approval(approval_id: str, shown_hash: str) -> ApprovalButtons:
    """Return the buttons of an approval whose call is shown with this hash, "" if not all of it."""
    data = data_of_approval_buttons(approval_id)
    return ApprovalButtons(
        reject=f"{data}{ApprovalButtonKind.REJECT}",
        show=f"{data}{ApprovalButtonKind.SHOW}",
        approve=f"{data}{ApprovalButtonKind.APPROVE}:{shown_hash}" if shown_hash else "",
    )


def data_of_approval_buttons(approval_id: str) -> str:
    """Return how the data of all buttons of an approval begins."""
    return f"oc:ap:{approval_id}:"


def read_approval_button(data: str) -> ApprovalButton | None:
    """Return what the data of a pressed button says; None if it is no button of an approval.

    A button of an earlier release, which says nothing of what was shown, only shows the call.
    """
    match data.split(":"):
        case ["oc", "ap", approval_id, "y", shown_hash]:
            return ApprovalButton(approval_id, ApprovalButtonKind.APPROVE, shown_hash)
        case ["oc", "ap", approval_id, "n"]:
            return ApprovalButton(approval_id, ApprovalButtonKind.REJECT)
        case ["oc", "ap", approval_id, "s" | "y"]:
            return ApprovalButton(approval_id, ApprovalButtonKind.SHOW)
        case _:
            return None
