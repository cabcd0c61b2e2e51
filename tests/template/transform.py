"""Transforms the SAM template and its nested stacks, as CloudFormation would, without an account.

Runs as a script in `.venv-template`, for the translator pins other versions than we do:
`python transform.py ROOT OUT` writes each transformed template under OUT by its path under ROOT.
"""

import importlib
import json
import posixpath
import sys
from pathlib import Path
from typing import Any

SOURCES = {"AWS::Serverless::Function": "CodeUri", "AWS::Serverless::LayerVersion": "ContentUri"}
NESTED = {"AWS::Serverless::Application": "Location", "AWS::CloudFormation::Stack": "TemplateURL"}


class AwsPolicies:
    """Stands for the list of managed policies, which the translator would fetch from AWS."""

    def load(self) -> dict[str, str]:
        """No names: a policy is named by its whole ARN, or the translator refuses it."""
        return {}


def transformed(source: str, folder: str) -> dict[str, Any]:
    """One template after the transform, with the defaults of its parameters.

    `folder` is where it lies under the checkout: what it names is beside it.
    """
    read = importlib.import_module("samtranslator.yaml_helper").yaml_parse
    transform = importlib.import_module("samtranslator.translator.transform").transform
    template: dict[str, Any] = read(source)
    _place_sources(template, folder)
    done: dict[str, Any] = transform(template, {}, AwsPolicies())
    return done


def write(root: Path, out: Path, path: Path) -> None:
    """Transform one template, then the templates it includes."""
    template = transformed((root / path).read_text(encoding="utf-8"), path.parent.as_posix())
    target = out / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(template, indent=1), encoding="utf-8")
    for resource in template["Resources"].values():
        place = NESTED.get(resource["Type"])
        if place is not None:
            nested = root / path.parent / resource["Properties"][place]
            write(root, out, nested.resolve().relative_to(root))


def _place_sources(template: dict[str, Any], beside: str) -> None:
    """Say of each local folder that it lies in a bucket, as packaging will; its key is its path."""
    for resource in template["Resources"].values():
        name = SOURCES.get(resource["Type"], "")
        folder = resource.get("Properties", {}).get(name)
        if isinstance(folder, str) and "://" not in folder:
            resource["Properties"][name] = (
                f"s3://local/{posixpath.normpath(posixpath.join(beside, folder))}"
            )


if __name__ == "__main__":
    top, target_folder = (Path(argument).resolve() for argument in sys.argv[1:3])
    write(top, target_folder, Path("template.yaml"))
