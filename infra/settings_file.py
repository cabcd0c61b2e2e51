"""The operator's settings file: found by stage, checked before anything is built, then uploaded."""

import re
import shlex
import subprocess
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from infra.place import Place, Unready

ROOT = Path(__file__).resolve().parent.parent
PYTHON = ROOT / ".venv" / "bin" / "python"
CURRENT, CHECKED = "settings/config.toml", "settings/checked.toml"
"""The objects that functions read; the second is a copy of the last one that was checked."""

NONE = "none"
"""Given in place of a file: nothing is uploaded."""

BUCKET = "BucketName"
"""The stack's output with the bucket of workspaces."""


def settings_file_to_upload(stage: str, given: str, environ: Mapping[str, str]) -> Path | None:
    """Return the checked file of a stage; None if there is none. Raises Unready."""
    path = find_settings_file(stage, given, environ)
    if path is not None:
        check_settings_file(path, environ)
        check_custom_actions(path, environ.get("ACTIONS", ""))
    return path


def find_settings_file(stage: str, given: str, environ: Mapping[str, str]) -> Path | None:
    """Return the file to upload; None if there is none. Raises Unready if a named one is missing.

    Without a given one it is `aws-STAGE.toml` in the folder of settings, else `config.toml`; NONE
    leaves the file of the stack as it is.
    """
    if given == NONE:
        return None
    if given:
        path = Path(given).expanduser()
        if not path.is_file():
            raise Unready(f"there is no settings file {path}", "correct CONFIG or --config")
        return path
    home = environ.get("XDG_CONFIG_HOME") or Path(environ.get("HOME") or Path.home()) / ".config"
    folder = Path(home) / "opencrab"
    found = (folder / name for name in (f"aws-{stage}.toml", "config.toml"))
    return next((path for path in found if path.is_file()), None)


def note_of_settings_file(stage: str, given: str, path: Path | None) -> tuple[str, ...]:
    """Return what to say before a deployment that uploads the settings of this computer itself."""
    if given or path is None or path.name == f"aws-{stage}.toml":
        return ()
    return (
        f"settings: {path} will count on AWS too, as there is no aws-{stage}.toml beside it;",
        f"  to keep the two apart, copy it there: cp {path} {path.with_name(f'aws-{stage}.toml')},",
        f"  or upload none: make deploy CONFIG={NONE}",
    )


def check_settings_file(path: Path, environ: Mapping[str, str], python: Path = PYTHON) -> None:
    """Raise Unready if the file is wrong for AWS, with every line that is."""
    code = "from opencrab.bootstrap import main; main()"
    try:
        checked = subprocess.run(  # noqa: S603 - our own interpreter and command
            [str(python), "-c", code, "config", "check", "--deployed", str(path)],
            env={**environ, "PYTHONSAFEPATH": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError as error:
        raise Unready(
            f"{path} cannot be checked: {python} is missing", "run `make deploy`, which makes it"
        ) from error
    if checked.returncode:
        raise Unready(
            f"the settings file is wrong\n{(checked.stderr or checked.stdout).rstrip()}",
            "correct it, and run `make deploy` again",
        )


def check_custom_actions(path: Path, given: str) -> None:
    """Raise Unready if the file names a module of actions that the layer will not have.

    Functions would not start with it. The layer has the given folder, and the locked libraries.
    """
    modules = tomllib.loads(path.read_text(encoding="utf-8")).get("actions", {}).get("modules", ())
    locked = (ROOT / "requirements" / "lambda.txt").read_text(encoding="utf-8")
    libraries = {each.replace("-", "_") for each in re.findall(r"^([\w.-]+)==", locked, re.M)}
    for name in modules:
        first = name.partition(".")[0]
        if first in libraries or (given and _has_module(Path(given).expanduser(), first)):
            continue
        beside = path.absolute().parent / "actions"
        folder = shlex.quote(str(beside)) if _has_module(beside, first) else "FOLDER"
        raise Unready(
            f"{path} names the module {name} in actions.modules, and the layer will not have it",
            f"run `make deploy ACTIONS={folder}`, or take the name out for AWS",
        )


def _has_module(folder: Path, name: str) -> bool:
    return (folder / f"{name}.py").is_file() or (folder / name / "__init__.py").is_file()


def upload_settings_file(place: Place, outputs: Mapping[str, str], path: Path | None) -> str:
    """Upload the checked file unless it is the one that counts; returns what to say of it."""
    if path is None:
        return ""
    content, bucket = path.read_bytes(), outputs.get(BUCKET, "")
    if not bucket:
        return f"{path} was not uploaded: the stack names no bucket"
    with _s3(place, bucket) as s3:
        if _content(s3, bucket) == content:
            return f"{path}, unchanged"
        # The copy first: whoever finds the new file wrong finds no older copy than it.
        for key in (CHECKED, CURRENT):
            s3.put_object(Bucket=bucket, Key=key, Body=content)
    return f"{path}, uploaded; it counts within a minute"


def _content(s3: Any, bucket: str) -> bytes | None:
    found = s3.list_objects_v2(Bucket=bucket, Prefix=CURRENT, MaxKeys=1)
    if not any(each["Key"] == CURRENT for each in found.get("Contents", [])):
        return None
    with closing(s3.get_object(Bucket=bucket, Key=CURRENT)["Body"]) as body:
        content: bytes = body.read()
    return content


@contextmanager
def _s3(place: Place, bucket: str) -> Iterator[Any]:
    import botocore.session  # type: ignore[import-untyped, unused-ignore] # noqa: PLC0415
    from botocore.exceptions import (  # type: ignore[import-untyped, unused-ignore] # noqa: PLC0415
        BotoCoreError,
        ClientError,
    )

    session = botocore.session.Session(profile=place.profile)
    try:
        with closing(session.create_client("s3", region_name=place.region)) as client:
            yield client
    except (BotoCoreError, ClientError) as error:
        raise Unready(
            f"the settings file cannot be written to the bucket {bucket!r}: {error}",
            f"let the credentials list the bucket, read and write {CURRENT} and {CHECKED} there, "
            "and run `make deploy` again; the rest is deployed",
        ) from error
