"""What a seeded bug of an entry is: a guard of the product, without its effect."""

from typing import NamedTuple


class Guard(NamedTuple):
    """A guard of the product, as it is and as it would be by mistake."""

    name: str
    module: str
    old: str
    new: str
    fault: str
