"""The prompt that tells an agent why a heartbeat started its turn."""

from opencrab.domain.autonomy.heartbeat_gate import BeatReason
from opencrab.domain.value import Language
from opencrab.ports.texts import Texts

_REASONS = Texts(__file__, "reasons")
_TOLD = Texts(__file__, "told")


def heartbeat_prompt(reasons: tuple[BeatReason, ...], language: Language, *, unread: int) -> str:
    """Return the prompt that tells an agent why it is awake and what it may do."""
    told = (_REASONS[reason][language].format(unread=unread) for reason in reasons)
    return _TOLD["woken"][language].format(reasons=_TOLD["between"][language].join(told))
