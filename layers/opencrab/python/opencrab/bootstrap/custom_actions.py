"""Custom actions: the modules that the settings name, from a folder beside them or Python's path.

Nothing is looked for that the settings do not name, and nothing is loaded without them.
"""

import hashlib
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from opencrab import settings
from opencrab.domain.errors import Invalid

if TYPE_CHECKING:
    from opencrab.actions.custom.call import CustomValues
    from opencrab.actions.custom.declaration import CustomAction
    from opencrab.actions.registry import Group
    from opencrab.ports.access.secrets import Secrets
    from opencrab.settings import Settings

FOLDER = "actions"
"""The name of the folder beside a settings file."""

_MODULES, _VALUES = "actions.modules", "actions.values"
_IN_LAYER = "custom_actions"
_SHOWN = 300


def custom_action_folders(files: Iterable[Path]) -> tuple[Path, ...]:
    """Return the folders beside settings files, of which the later file counts first."""
    return tuple(path.absolute().parent / FOLDER for path in reversed(tuple(files)))


def custom_action_folders_of_layer() -> tuple[Path, ...]:
    """Return where `make build ACTIONS=…` puts the folder: beside the package, or above it."""
    package = Path(settings.__file__).parent
    return package / _IN_LAYER, package.parents[1] / _IN_LAYER


def groups_with_custom_actions(
    configured: "Settings",
    files: Iterable[Path],
    load: "Callable[..., Settings] | None",
    secrets: "Secrets | None",
    *,
    is_local: bool,
) -> "tuple[tuple[Group, ...], tuple[str, ...]]":
    """Load the modules of the settings; return all groups, and the names that prompts describe.

    They lie beside the settings' `files`, on AWS in the layer. Variables that the environment lacks
    are looked up in `secrets`. Raises Invalid, naming file and cure, for a module that cannot be
    loaded, and for what it declares wrongly.
    """
    from opencrab.actions import GROUPS
    from opencrab.actions.custom.declaration import AWS_SECONDS, GROUP, LONGEST_SECONDS
    from opencrab.actions.registry import Group

    folders = custom_action_folders(files) if is_local else custom_action_folders_of_layer()
    declared = load_custom_actions(map(str, configured.get(_MODULES)), folders)
    if load is not None and secrets is not None:
        from opencrab.bootstrap.configuration.stored_secrets import load_settings_with_secrets

        configured = load_settings_with_secrets(configured, load, secrets, _VALUES)
    values, agents = _values(configured), [str(each) for each in configured.get("actions.agents")]
    group = Group(GROUP)
    group.actions = [
        each.offer(values, agents, most_seconds=LONGEST_SECONDS if is_local else AWS_SECONDS)
        for each in declared
    ]
    most_bytes = int(configured.get("actions.prompt_bytes"))
    return (*GROUPS, group), _names_that_fit(group, most_bytes)


def load_custom_actions(
    modules: Iterable[str], folders: Sequence[Path]
) -> tuple["CustomAction", ...]:
    """Return the actions that some modules declare, in order of their names.

    Raises Invalid as `groups_with_custom_actions` does.
    """
    from opencrab.actions import GROUPS
    from opencrab.actions.custom.declaration import declared_custom_actions

    own = {name for group in GROUPS for name in group.names()}
    found = dict[str, "CustomAction"]()
    for name in dict.fromkeys(modules):
        declared = declared_custom_actions(_load(name, folders))
        if not declared:
            raise _invalid(
                f"the module {name} declares no action", "decorate a function with @action(…)"
            )
        for each in declared:
            if each.name in own:
                raise _invalid(
                    f"{each.origin}: OpenCrab has an action named {each.name} itself",
                    "give the function another name",
                )
            other = found.setdefault(each.name, each)
            if other is not each:
                raise _invalid(
                    f"{each.origin}: another action is named {each.name}, at {other.origin}",
                    "give one of them another name",
                )
    return tuple(found[name] for name in sorted(found))


def _load(name: str, folders: Sequence[Path]) -> ModuleType:
    """Import a module: from the first folder that has it, else from Python's path."""
    first = name.partition(".")[0]
    folder = next((each for each in folders if _has_module(each, first)), None)
    whole = name if folder is None else f"{_package_of_folder(folder)}.{name}"
    try:
        return import_module(whole)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{whole}.".startswith(f"{error.name}."):
            places = " or ".join(str(each / f"{first}.py") for each in folders)
            raise _invalid(
                f"there is no module {name}",
                f"write {places}, install a package of this name, or correct {_MODULES}",
            ) from error
        raise _import_failed(name, error, folder) from error
    except (Exception, SystemExit) as error:
        raise _import_failed(name, error, folder) from error


def _has_module(folder: Path, name: str) -> bool:
    return (folder / f"{name}.py").is_file() or (folder / name / "__init__.py").is_file()


def _package_of_folder(folder: Path) -> str:
    """Return the package of which a folder's modules are part, so that none hides another's."""
    digest = hashlib.sha256(str(folder.resolve()).encode(errors="surrogateescape")).hexdigest()
    name = f"opencrab_actions_{digest[:12]}"
    if name not in sys.modules:
        package = ModuleType(name, "The custom actions of one folder.")
        package.__path__ = [str(folder.resolve())]
        sys.modules[name] = package
    return name


def _import_failed(name: str, error: BaseException, folder: Path | None) -> Invalid:
    from opencrab.actions.custom.declaration import ActionDeclarationError
    from opencrab.ports.turn.action import one_line

    where = _place(error, name, folder)
    if isinstance(error, ActionDeclarationError):
        return _invalid(f"{where}: {error}", error.cure)
    if isinstance(error, SyntaxError):
        return _invalid(f"{where}: {error.msg}", "correct the line")
    what = type(error).__name__
    said = one_line(str(error), _SHOWN)
    cure = "correct the module, or take it out of actions.modules"
    if isinstance(error, ModuleNotFoundError):
        cure = "install what it imports; siblings in its folder are imported with a dot"
    return _invalid(f"{where}: {what}: {said}" if said else f"{where}: {what}", cure)


def _place(error: BaseException, name: str, folder: Path | None) -> str:
    """Return `FILE:LINE` of the author's last line before an error, else the module's name."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno or 0}"
    first, found = name.partition(".")[0], ""
    trace = error.__traceback__
    while trace is not None:
        frame = trace.tb_frame
        path = Path(frame.f_code.co_filename)
        inside = folder is not None and folder.resolve() in path.parents
        module = str(frame.f_globals.get("__name__", ""))
        if inside or module.partition(".")[0] == first:
            found = f"{path}:{trace.tb_lineno}"
        trace = trace.tb_next
    return found or f"the module {name}"


def _values(configured: "Settings") -> "CustomValues":
    from opencrab.actions.custom.call import CustomValues

    absent = configured.absent_below(_VALUES)
    prefix = f"{_VALUES}."
    values = {
        name.removeprefix(prefix): str(found.value).strip()
        for name, found in configured.values.items()
        if name.startswith(prefix)
    }
    return CustomValues({key: values[key] for key in values.keys() - absent.keys()}, absent)


def _names_that_fit(group: "Group", most_bytes: int) -> tuple[str, ...]:
    """Return the names of the first actions whose schemas fit into so many bytes of a prompt."""
    from opencrab.domain.value import Language
    from opencrab.ports.turn.action import byte_count_of_turn_json

    left, names = most_bytes, list[str]()
    for each in group.actions:
        schemas = (each.schema(language) for language in Language)
        left -= max(
            byte_count_of_turn_json([one.name, one.description, one.parameters]) for one in schemas
        )
        if left < 0:
            break
        names.append(each.name)
    return tuple(names)


def _invalid(message: str, cure: str) -> Invalid:
    return Invalid(f"custom actions: {message}", field=_MODULES, cure=cure)
