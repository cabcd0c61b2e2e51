"""The manifest of a bundle: its format and version, its agent, and what was left out."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, ValidationError

from opencrab.domain.errors import Invalid
from opencrab.domain.value import Text, Value

BUNDLE_FORMAT = "opencrab-agent"
BUNDLE_VERSION = 1
"""The version of bundles that this release writes, and the newest one that it reads."""

Reason = Annotated[str, StringConstraints(pattern=r"^[a-z_]{1,40}$")]


class LeftOut(Value, defer_build=False):
    """What is not in a bundle and could have been: a file's path, or a kind of rows, and why."""

    what: Annotated[Text, StringConstraints(max_length=2_000)]
    why: Reason
    count: Annotated[int, Field(ge=1)] = 1


class BundleManifest(Value, defer_build=False):
    """The first thing that is read of a bundle.

    `source` names where the agent comes from; `rows` counts them by kind, `hashes` are the SHA-256
    of the members with rows.
    """

    format: Literal["opencrab-agent"] = "opencrab-agent"
    version: Literal[1] = 1
    source: Annotated[str, StringConstraints(pattern=r"^[a-z0-9_]{1,40}$")] = "opencrab"
    agent_id: Annotated[str, StringConstraints(max_length=200)] = ""
    exported_at: datetime
    rows: dict[str, int] = Field(default_factory=dict)
    hashes: dict[str, str] = Field(default_factory=dict)
    left_out: tuple[LeftOut, ...] = ()


def read_bundle_manifest(row: dict[str, Any]) -> BundleManifest:
    """Check a manifest; raises Invalid for another format, a newer version or a wrong field."""
    if row.get("format") != BUNDLE_FORMAT:
        raise Invalid(
            "the file is not the bundle of an agent",
            field="bundle",
            cure="choose a file that `opencrab agents bundle` wrote; for files of other programs "
            "there is `opencrab agents import-from`, for memories alone `opencrab memory import`",
        )
    version = row.get("version")
    if isinstance(version, int) and version > BUNDLE_VERSION:
        raise Invalid(
            f"the bundle has version {version}, this release reads up to {BUNDLE_VERSION}",
            field="bundle",
            cure="upgrade OpenCrab here, then import it again",
        )
    try:
        return BundleManifest.model_validate(row)
    except ValidationError as error:
        raise Invalid(
            f"manifest.json is invalid: {describe_bundle_error(error)}",
            field="bundle",
            cure="bundle the agent again, and send the file unchanged",
        ) from None


def describe_bundle_error(error: ValidationError) -> str:
    """Describe what is wrong and where, without the invalid content."""
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(map(str, first["loc"])) or "it"
    return f"{place}: {first['msg']}"
