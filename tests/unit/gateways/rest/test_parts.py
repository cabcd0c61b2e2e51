"""The paths by which modules of routes load are the paths of their routes."""

from importlib import import_module
from pathlib import Path

import pytest

from opencrab.gateways import rest
from opencrab.gateways.rest.parts import PARTS

FOLDER = Path(rest.__file__).parent


@pytest.mark.parametrize("part", PARTS)
def test_a_part_names_every_path_of_its_routes(part: str) -> None:
    routes = import_module(f"opencrab.gateways.rest.{part}").router.routes
    assert PARTS[part] == tuple(dict.fromkeys(route.path for route in routes))


def test_every_module_with_routes_is_a_part() -> None:
    found = {
        ".".join(path.relative_to(FOLDER).with_suffix("").parts)
        for path in FOLDER.rglob("*.py")
        if "\nrouter = " in path.read_text(encoding="utf-8")
    }
    assert found == set(PARTS)
