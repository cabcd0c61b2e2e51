"""View: what is shown of a stored value, which says more of itself than is shown."""

from typing import Any, Self

from opencrab.domain.value import Value


class View(Value):
    """The public fields of a stored value; fields that a view does not name are not shown."""

    @classmethod
    def of(cls, stored: object, **worked_out: Any) -> Self:
        """Convert a stored value to its view; `worked_out` are fields that it does not store."""
        names = cls.model_fields.keys() - worked_out.keys()
        return cls(**{name: getattr(stored, name) for name in names}, **worked_out)
