"""Looks for a model server on this computer while there is no model: nobody needs to restart."""

import logging
import threading
from collections.abc import Callable
from typing import Self

log = logging.getLogger(__name__)


class ModelWatch:
    """One thread, within a block; it looks every few seconds and ends once `look` returns True."""

    def __init__(self, look: Callable[[], bool], *, look_seconds: float) -> None:
        self._look = look
        self._look_seconds = look_seconds
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="model-watch", daemon=True)

    def __enter__(self) -> Self:
        """Begin in the background."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop; a look that is going on ends with the process."""
        self._stopping.set()

    def _run(self) -> None:
        while not self._stopping.wait(self._look_seconds):
            try:
                if self._look():
                    return
            except Exception:
                log.exception("cannot look for a model server, retrying")
