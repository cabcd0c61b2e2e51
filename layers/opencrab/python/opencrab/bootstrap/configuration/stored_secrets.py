"""Variables of settings that the environment lacks, and that are stored as secrets."""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opencrab.ports.access.secrets import Secrets
    from opencrab.settings import Settings


def load_settings_with_secrets(
    configured: "Settings", load: "Callable[..., Settings]", secrets: "Secrets", section: str
) -> "Settings":
    """Return the settings with the stored secrets that a section's parts name, and no others."""
    wanted = set[str]()

    def secret(name: str) -> str | None:
        return secrets.get(name) if name in wanted else None

    # Settings tell one variable that a section lacks, so each look may show another.
    while missing := set(configured.absent_below(section).values()) - wanted:
        wanted |= missing
        configured = load({}, secret=secret)
    return configured
