"""The settings file of an installation on AWS: read from its bucket, and followed while it changes.

Each process keeps what it read, and asks at most once in LOOK_SECONDS whether there is another;
sooner, once for each event, if a turn names a model that it does not know. A file that is wrong
changes nothing: what was read before counts on, and in a new process the last file that was checked
when it was uploaded.
"""

import logging
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from opencrab import settings
from opencrab.adapters.door.http import door_tls_context
from opencrab.adapters.door.settings_object import StoredSettings, settings_object_in_bucket
from opencrab.domain.configuration.uploaded_file import CHECKED_KEY, SETTINGS_KEY
from opencrab.domain.errors import Invalid, Unavailable
from opencrab.settings import OwnerSettings

if TYPE_CHECKING:
    from opencrab.settings import Settings

T = TypeVar("T")

log = logging.getLogger(__name__)

LOOK_SECONDS = 30.0
READ_SECONDS = 2.0

_NOTHING = OwnerSettings()


class SettingsSource(Protocol):
    """One object with settings, such as `SettingsObject`."""

    def read(self, etag: str = "") -> StoredSettings | None:
        """Return the object, or None if it has not changed; raises Unavailable."""
        ...


@dataclass(frozen=True)
class UploadedFileState:
    """The file that counts in this process, by its entity tag, and what is wrong with a newer one.

    An empty tag says that no file counts; an empty problem, that nothing is wrong.
    """

    version: str = ""
    problem: str = ""
    cure: str = ""


class UploadedSettings:
    """The settings of this process: defaults, the template's parameters and the uploaded file.

    `current` and `checked` are the file and the copy of the last one that was checked, `now` are
    seconds. Without `current` there is no file.
    """

    def __init__(
        self,
        current: SettingsSource | None,
        checked: SettingsSource | None,
        now: Callable[[], float],
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._current = current
        self._checked = checked
        self._now = now
        self._environment = environment
        self._own = _NOTHING
        self._etag = ""
        self._next: float | None = None
        self._asks_early = False
        self._is_changed = False
        self.state = UploadedFileState()

    def load(
        self,
        overrides: Mapping[str, Any],
        environment: Mapping[str, str] | None = None,
        *,
        secret: Callable[[str], str | None] | None = None,
    ) -> "Settings":
        """Return the settings as `load_settings` does; it asks nobody."""
        given = self._environment if environment is None else environment
        return settings.load_settings(overrides, given, secret=secret, own=self._own)

    def look(self) -> bool:
        """Ask for a changed file, if the last time is long ago; True if other settings count now.

        An event begins with it. Raises Unavailable if this process never got an answer: a limit may
        be unknown to it.
        """
        self._asks_early = True
        if self._next is None or self._now() >= self._next:
            self._ask()
        is_changed, self._is_changed = self._is_changed, False
        return is_changed

    def look_early(self) -> bool:
        """Ask for a changed file now, as a name is unknown; False if this event did so already.

        Settings that changed count at once for what is loaded now, and `look` says so later.
        """
        asks, self._asks_early = self._asks_early, False
        if asks:
            self._ask()
        return asks

    def _ask(self) -> None:
        """Ask for a changed file; raises as `look`."""
        now = self._now()
        if self._current is None:
            return
        try:
            found = self._current.read(self._etag)
        except Unavailable as error:
            if self._next is None:
                raise
            log.warning("cannot read the settings file, keeping the last: %s", error.message)
            found = None
        if found is not None:
            self._is_changed |= self._take(found, is_first=self._next is None)
        self._next = now + LOOK_SECONDS

    def _take(self, found: StoredSettings, *, is_first: bool) -> bool:
        """Let a file count, if nothing is wrong with it; True if other settings count now.

        Raises Unavailable, and keeps nothing of it, if a new process cannot read the checked copy
        of a wrong file: the next event asks again.
        """
        before = self._own
        try:
            self._own = self._checked_settings(found)
        except Invalid as error:
            log.error("the settings file is wrong, keeping what was read before: %s", error.message)  # noqa: TRY400
            if is_first:
                self._take_checked()
            self.state = UploadedFileState(self.state.version, error.message, error.cure or "")
        else:
            self.state = UploadedFileState(found.etag)
            log.info("settings file read: version=%s", found.etag or "none")
        self._etag = found.etag
        return before != self._own

    def _take_checked(self) -> None:
        """Let the copy of the last checked file count, if that is right here."""
        found = None if self._checked is None else self._checked.read()
        if found is None:
            return
        try:
            self._own = self._checked_settings(found)
        except Invalid as error:
            log.error("the last checked settings file is wrong, too: %s", error.message)  # noqa: TRY400
        else:
            self.state = UploadedFileState(found.etag)

    def _checked_settings(self, found: StoredSettings) -> OwnerSettings:
        from opencrab.bootstrap.aws.settings_check import (
            owner_settings_of_deployed_text,
            require_settings_that_work_on_aws,
        )

        own = owner_settings_of_deployed_text(SETTINGS_KEY, found.content)
        require_settings_that_work_on_aws(own, self._environment)
        return own


class FollowingFunction(Generic[T]):
    """What a function does with its events, built again when other settings count.

    `build` gets the settings, and what loads them again. It is built at once, before anything is
    read, since code that is loaded at a cold start is loaded quickly.
    """

    def __init__(
        self,
        build: Callable[["Settings", Callable[..., "Settings"]], T],
        uploaded: UploadedSettings | None = None,
    ) -> None:
        self._build = build
        self._uploaded = uploaded_settings_of_process() if uploaded is None else uploaded
        self._made = self._built()
        self._is_outdated = False

    def current(self) -> T:
        """Return what handles an event that begins now; raises Unavailable as `look` does.

        What cannot be built with new settings raises with every event, as limits may be among them.
        """
        self._is_outdated |= self._uploaded.look()
        if self._is_outdated:
            self._made = self._built()
            self._is_outdated = False
        return self._made

    def _built(self) -> T:
        return self._build(self._uploaded.load({}), self._uploaded.load)


@cache
def uploaded_settings_of_process() -> UploadedSettings:
    """Return the settings of this process, named by its environment; nothing is read yet."""
    bucket = os.environ.get("OPENCRAB_AWS__BUCKET", "")
    if not bucket or os.environ.get("OPENCRAB_AWS__SETTINGS_FILE") != "on":
        return UploadedSettings(None, None, time.monotonic)
    trust = door_tls_context(os.environ.get("AWS_CA_BUNDLE", ""))
    current, checked = (
        settings_object_in_bucket(
            os.environ, bucket, key, time.time, trust=trust, seconds=READ_SECONDS
        )
        for key in (SETTINGS_KEY, CHECKED_KEY)
    )
    return UploadedSettings(current, checked, time.monotonic)
