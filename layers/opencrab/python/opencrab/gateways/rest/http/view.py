"""View: what is shown of a stored value, which says more of itself than is shown."""

from typing import Any, Self

from opencrab.domain.value import Value


class View(Value):
    """What is shown of a stored value: the fields that are named here, and nothing else of it."""

    @classmethod
    def of(cls, stored: object, **worked_out: Any) -> Self:
        """A stored value as it is shown; what is not stored under a field's name is worked out."""
        names = cls.model_fields.keys() - worked_out.keys()
        return cls(**{name: getattr(stored, name) for name in names}, **worked_out)
