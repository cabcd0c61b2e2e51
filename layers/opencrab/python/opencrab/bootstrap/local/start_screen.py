"""The start screen: what `opencrab up` says about where it listens, its model and its key."""

import sys
from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Protocol

from opencrab import __version__
from opencrab.gateways.cli.connection.paths import short_path_text

if TYPE_CHECKING:
    from opencrab.engine.runtime import Runtime


class RunningServer(Protocol):
    """The facts of a server that has started."""

    @property
    def url(self) -> str: ...
    @property
    def page(self) -> object | None: ...
    @property
    def data(self) -> Path: ...
    @property
    def usual_data(self) -> Path: ...
    @property
    def key_file(self) -> Path | None: ...
    @property
    def language(self) -> str: ...


def print_local_start_screen(
    runtime: "Runtime", notes: Sequence[str], place: RunningServer, link: str | None = None
) -> None:
    """Print the start screen; `notes` say why this model was chosen, `link` signs in once."""
    from opencrab.domain.models.routing import RoutingBasis, Use

    model = runtime.models.routing.chosen(Use.CONVERSATION, RoutingBasis()).model
    language = place.language
    rows = [
        local_start_screen_text("listens", language, version=__version__, url=place.url),
        local_start_screen_text("data", language, path=place.data.resolve()),
        local_start_screen_text("model", language, name=model),
    ]
    for note in notes:
        said = local_start_screen_note(note, language)
        rows.append(local_start_screen_text("note", language, note=said))
    if place.key_file is not None:
        rows.append(
            local_start_screen_folder_line(
                "key", language, place, path=short_path_text(place.key_file)
            )
        )
    if place.page is None:
        rows.append(local_start_screen_text("page_off", language))
    elif link is None:
        rows.append(local_start_screen_folder_line("page", language, place))
    else:
        rows.append(local_start_screen_text("page_link", language, link=link))
    rows += [local_start_screen_text("stop", language), local_start_screen_text("ready", language)]
    sys.stdout.write("\n".join(rows) + "\n")
    sys.stdout.flush()


def local_start_screen_note(note: str, language: str) -> str:
    """Return a note on how the model was chosen in a language; one with names stays English."""
    from opencrab.ports.texts import Texts

    return Texts(__file__, "notes").get(note, {}).get(language, note)


def local_start_screen_folder_line(
    key: str, language: str, place: RunningServer, **facts: object
) -> str:
    """Return a line with a command that finds this server, which depends on its folder."""
    folder = place.data.resolve()
    if folder == place.usual_data.resolve():
        return local_start_screen_text(key, language, **facts)
    return local_start_screen_text(f"{key}_elsewhere", language, folder=quote(str(folder)), **facts)


def print_local_start_screen_line(key: str, language: str, **facts: object) -> None:
    """Print a line of the start screen on standard error."""
    sys.stderr.write(local_start_screen_text(key, language, **facts) + "\n")


def local_start_screen_text(key: str, language: str, **facts: object) -> str:
    """Return a line of the start screen in the user's language, or in English if there is none."""
    from opencrab.ports.texts import Texts

    said = Texts(__file__, "screen")[key]
    return said.get(language, said["en"]).format(**facts)
