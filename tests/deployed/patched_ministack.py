"""MiniStack with patches, run by the emulator's own Python.

An updated function ends what it is doing, as on AWS: MiniStack ends its processes in the midst of
invocations. And what functions share is unpacked once: MiniStack unpacks the layers, thousands of
files, for each process, and removes them in the one thread that answers all requests, so that for
up to half a minute no service answers anybody. A resource of a nested stack keeps its attributes
when the stack is updated: MiniStack forgets those of resources that stay as they are. And what a
nested stack retains is there after the stack was deleted.
"""

import hashlib
import tempfile
import threading
import time
import zipfile
from pathlib import Path
from typing import Any

from ministack import app  # type: ignore[import-not-found]
from ministack.core import lambda_runtime  # type: ignore[import-not-found]
from ministack.services.cloudformation import (  # type: ignore[import-not-found]
    _stacks,
    provisioners,
)

MOST_SECONDS = 900.0
"""How long AWS lets an invocation run."""

UNPACKED = "unpacked"
"""The folder of what was unpacked, below the one for scratch."""

_NEVER = threading.Event()
_lock = threading.Lock()
_end = lambda_runtime.kill_workers
_provision = provisioners._provision_resource
_update = provisioners._update_resource
_nested = provisioners._RESOURCE_HANDLERS["AWS::CloudFormation::Stack"]
_delete_nested = _nested["delete"]
_attributes: dict[tuple[str, str], dict[str, Any]] = {}
"""Those of nested stacks' resources, by stack and physical id."""


class UnpackedOnce(zipfile.ZipFile):
    """A zip file whose content is linked to where it was unpacked first."""

    def extractall(self, path: Any = None, *_: Any, **__: Any) -> None:
        """Put a link in the place of the empty folder."""
        assert self.filename is not None
        assert path is not None
        digest = hashlib.sha256(Path(self.filename).read_bytes()).hexdigest()
        shared = Path(tempfile.gettempdir()) / UNPACKED / digest
        with _lock:
            if not shared.is_dir():
                super().extractall(shared)
        Path(path).rmdir()
        Path(path).symlink_to(shared)


def end_when_idle(workers: Any) -> None:
    """End processes of functions, beside everything else, each when its invocation is over."""
    for worker in workers:
        if worker is not None:
            threading.Thread(target=_end_one, args=(worker,), daemon=True).start()


def _end_one(worker: Any) -> None:
    deadline = time.monotonic() + MOST_SECONDS
    while worker.in_use and time.monotonic() < deadline:
        _NEVER.wait(0.1)
    _end([worker])


def provision(kind: str, logical_id: str, properties: Any, stack: str, *more: Any) -> Any:
    """Provision a resource, and remember its attributes."""
    physical_id, attributes = _provision(kind, logical_id, properties, stack, *more)
    _attributes[stack, physical_id] = attributes
    return physical_id, attributes


def update(kind: str, physical_id: str, old: Any, new: Any, stack: str, *more: Any) -> Any:
    """Update a resource of a nested stack; what the update does not say of it stays."""
    before = _attributes.get((stack, physical_id), {})
    now_id, attributes = _update(kind, physical_id, old, new, stack, *more)
    if now_id == physical_id:
        attributes = {**before, **attributes}
    _attributes[stack, now_id] = attributes
    return now_id, attributes


def delete_nested(physical_id: str, properties: Any) -> None:
    """Delete a nested stack without what its template retains."""
    stack = _stacks[provisioners._nested_stack_lookup_name(physical_id)]
    template, resources = stack.get("_template", {}).get("Resources", {}), stack["_resources"]
    for name in list(resources):
        if template.get(name, {}).get("DeletionPolicy") in provisioners._RETAINING_POLICIES:
            del resources[name]
    _delete_nested(physical_id, properties)


if __name__ == "__main__":
    _nested["delete"] = delete_nested
    provisioners._provision_resource = provision
    provisioners._update_resource = update
    lambda_runtime.kill_workers = end_when_idle
    patched = type(zipfile)("zipfile")
    patched.__dict__.update(vars(zipfile) | {"ZipFile": UnpackedOnce})
    lambda_runtime.zipfile = patched
    app.main()
