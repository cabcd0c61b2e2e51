"""A live display for windows that change their size: nothing that it drew stays behind."""

from rich.console import RenderableType
from rich.control import Control
from rich.live import Live
from rich.segment import ControlType, Segment


class ReflowingLive(Live):
    """Rich's display, which also erases the rows into which a narrower window broke its old ones.

    Terminals break rows that no longer fit; rich counts them as it drew them.
    """

    _drawn: RenderableType = ""
    _width = 0

    def get_renderable(self) -> RenderableType:
        """Return what is drawn next, and keep it until the next time."""
        self._drawn = super().get_renderable()
        return self._drawn

    def refresh(self) -> None:
        """Draw the display again, in place of the old one."""
        width = self.console.width
        rows = self._rows_added(width) if width < self._width else 0
        if rows:
            up = ((ControlType.ERASE_IN_LINE, 2), (ControlType.CURSOR_UP, 1))
            self.console.control(Control(ControlType.CARRIAGE_RETURN, *(up * rows)))
        self._width = width
        super().refresh()

    def _rows_added(self, width: int) -> int:
        """Return how many more rows the old display takes in a window of this width."""
        options = self.console.options.update(width=self._width, height=None)
        lines = self.console.render_lines(self._drawn, options, pad=False)
        return sum(max(Segment.get_line_length(line) - 1, 0) // width for line in lines)
