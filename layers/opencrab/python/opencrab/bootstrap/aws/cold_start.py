"""What functions do before they load anything else, so that a cold start is short.

The standard library writes and compiles the methods of a dataclass when its module loads: a tenth
of a cold start, for hundreds of classes of which a first request uses some twenty. pydantic reads
the metadata of every library to look for plugins, which is another tenth; the layer has none.

With SnapStart a process begins as a copy of the one that loaded all this, as others do. What must
differ between them is drawn when it is needed, or anew after the restore.
"""

import dataclasses
import os
from collections.abc import Callable
from threading import RLock
from typing import Any

_OURS = "opencrab."
_FIELDS = "__dataclass_fields__"
_AS_USUAL = frozenset({"slots", "weakref_slot", "init"})
"""With these a decorator returns another class, or leaves the class's own `__init__`."""

_lock = RLock()


class _LateFields:
    """Stands for the fields of a dataclass until somebody asks for them."""

    def __init__(self, finish: Callable[[], None]) -> None:
        self._finish = finish

    def __get__(self, _instance: object, owner: type) -> Any:
        self._finish()
        return getattr(owner, _FIELDS)


def prepare_cold_start() -> None:
    """Prepare this process for loading OpenCrab; call it before any other import of ours."""
    # Not a setting of ours, and pydantic takes it from nowhere else.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # noqa: TID251
    defer_dataclasses()
    if os.environ.get("AWS_LAMBDA_INITIALIZATION_TYPE") == "snap-start":  # noqa: TID251
        from opencrab.adapters.lambda_runtime.snapshot import renew_randomness_after_restore

        renew_randomness_after_restore()


def defer_dataclasses() -> None:
    """Let dataclasses of ours get their methods when they are first used.

    That is when the first instance is made, or the fields are asked for, as `is_dataclass`,
    `replace` and a derived dataclass do. Classes of libraries stay as they are.
    """
    if dataclasses.dataclass is not _dataclass:
        dataclasses.dataclass = _dataclass


_write_methods = dataclasses.dataclass


def _dataclass(cls: type | None = None, /, **options: Any) -> Any:
    def decorate(decorated: type) -> type:
        ours = decorated.__module__.startswith(_OURS)
        if not ours or "__init__" in vars(decorated) or not _AS_USUAL.isdisjoint(options):
            return _write_methods(**options)(decorated)
        return _defer(decorated, options)

    return decorate if cls is None else decorate(cls)


def _defer(cls: type, options: dict[str, Any]) -> type:
    def finish() -> None:
        with _lock:  # another thread may have been first
            if isinstance(vars(cls).get(_FIELDS), _LateFields):
                for stand_in in ("__init__", _FIELDS):
                    delattr(cls, stand_in)
                _write_methods(**options)(cls)

    def first(self: object, *args: Any, **given: Any) -> None:
        finish()
        vars(cls)["__init__"](self, *args, **given)

    setattr(cls, "__init__", first)  # noqa: B010 - mypy refuses to assign to a method
    setattr(cls, _FIELDS, _LateFields(finish))
    return cls
