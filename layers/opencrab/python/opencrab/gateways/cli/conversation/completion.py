"""Completion in chat: Tab completes commands that begin with a slash, agents' names and paths."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

MOST = 50

Complete = Callable[[str], Sequence[str]]


def possible_lines_in_chat(
    line: str, commands: Sequence[str], agents: Callable[[], Sequence[str]]
) -> list[str]:
    """Return the lines that a line could become; none for what is no command and no path."""
    if not line.startswith(("/", "~/", "./", "../")):
        return []
    name, space, typed = line.partition(" ")
    if not space:
        found = [f"/{each}" for each in commands if f"/{each}".startswith(line.casefold())]
        return found or _paths(line)
    match name.casefold():
        case "/agent":
            known = (each for each in agents() if each.casefold().startswith(typed.casefold()))
            return [f"{name} {each}" for each in known]
        case "/attach":
            return [f"{name} {each}" for each in _paths(typed)]
        case _:
            return []


@contextmanager
def complete_chat_lines_with_tab(complete: Complete) -> Iterator[None]:
    """Let Tab complete what is typed, within the block, where the terminal can."""
    try:
        import readline
    except ImportError:  # Windows has its own
        yield
        return
    found: list[str] = []

    def nth(text: str, state: int) -> str | None:
        if state == 0:
            found[:] = _quietly(complete, text)
        return found[state] if state < len(found) else None

    before = readline.get_completer(), readline.get_completer_delims()
    readline.set_completer(nth)
    readline.set_completer_delims("")
    is_libedit = "libedit" in (readline.__doc__ or "")
    readline.parse_and_bind("bind ^I rl_complete" if is_libedit else "tab: complete")
    try:
        yield
    finally:
        readline.set_completer(before[0])
        readline.set_completer_delims(before[1])


def _quietly(complete: Complete, text: str) -> Sequence[str]:
    try:
        return complete(text)
    except Exception:  # noqa: BLE001 - readline would print it into the line that is typed
        return ()


def _paths(typed: str) -> list[str]:
    folder, _, start = typed.rpartition("/")
    place = Path(f"{folder}/" if folder or typed.startswith("/") else ".").expanduser()
    try:
        entries = sorted(place.iterdir())
    except (OSError, RuntimeError):
        return []
    before = typed[: len(typed) - len(start)]
    return [
        f"{before}{each.name}{'/' if each.is_dir() else ''}"
        for each in entries
        if each.name.startswith(start) and (start or not each.name.startswith("."))
    ][:MOST]
