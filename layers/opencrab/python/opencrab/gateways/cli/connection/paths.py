"""Places of OpenCrab on this computer that no option names: the data folder and the settings file.

They follow the XDG Base Directory Specification. Older versions kept everything in `data` below the
folder in which they were started; where such a folder has an installation, it is used.
"""

from pathlib import Path

OLD_DATA = Path("data")
_PROGRAM, _DATABASE, _SETTINGS = "opencrab", "opencrab.db", "config.toml"


def fixed_data_folder(data_home: str | None) -> Path:
    """Return the folder for data, for XDG_DATA_HOME."""
    return _xdg_folder(data_home, Path(".local", "share")) / _PROGRAM


def usual_data_folder(data_home: str | None) -> Path:
    """Return the folder for data that is used without --data and OPENCRAB_DATA."""
    return OLD_DATA if (OLD_DATA / _DATABASE).is_file() else fixed_data_folder(data_home)


def usual_settings_file(config_home: str | None) -> Path:
    """Return the owner's settings file that is used without --config and OPENCRAB_CONFIG."""
    return _xdg_folder(config_home, Path(".config")) / _PROGRAM / _SETTINGS


def short_path_text(path: Path) -> str:
    """Return a path with `~` for the user's home folder, as a shell takes it."""
    path = path.absolute()
    home = _home()
    return f"~/{path.relative_to(home).as_posix()}" if path.is_relative_to(home) else str(path)


def _xdg_folder(given: str | None, usual: Path) -> Path:
    """Return the folder of an XDG variable; one that is not absolute is ignored, as XDG says."""
    folder = Path(given) if given else None
    return folder if folder is not None and folder.is_absolute() else _home() / usual


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:  # neither HOME nor an entry for the user
        return Path.cwd()
