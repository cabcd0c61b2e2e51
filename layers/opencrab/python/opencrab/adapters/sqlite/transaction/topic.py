"""Topics: threads that wait for the next commit to one kind of change."""

import threading


class ChangeTopic:
    """A counter that grows with each commit to one topic, and a condition to wait for that."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.generation = 0

    def advance(self) -> None:
        """Count a commit and wake all waiting threads."""
        with self._changed:
            self.generation += 1
            self._changed.notify_all()

    def wait(self, generation: int, seconds: float) -> bool:
        """Block until the counter differs from `generation`; False after the timeout in seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: self.generation != generation, seconds)
