"""Where the dashboard is served: with REST, at a port of its own as well, or nowhere."""

import socket

import pytest

from opencrab.bootstrap.local.page_address import PageAddress, local_page_address
from opencrab.domain.errors import Invalid, Unavailable
from opencrab.settings import Settings, load_settings


def configured(**given: object) -> Settings:
    """The settings of a file with these of the dashboard."""
    return load_settings({f"dashboard.{name}": value for name, value in given.items()}, {})


def test_by_default_the_page_is_at_the_port_of_rest() -> None:
    assert local_page_address(configured(), "::1", 8080) == PageAddress("http://[::1]:8080", None)
    assert local_page_address(configured(port=8080), "127.0.0.1", 8080) == PageAddress(
        "http://127.0.0.1:8080", None
    )
    assert local_page_address(configured(enabled=False), "127.0.0.1", 8080) is None


def test_a_port_of_its_own_must_be_free() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(Unavailable, match=str(port)) as busy:
            local_page_address(configured(port=port), "127.0.0.1", 8080)
    assert "dashboard.port" in str(busy.value.cure)
    page = local_page_address(configured(port=port), "127.0.0.1", 8080)
    assert page == PageAddress(f"http://127.0.0.1:{port}", port)


@pytest.mark.parametrize("port", [-1, 65_536])
def test_a_port_that_cannot_be_is_refused(port: int) -> None:
    with pytest.raises(Invalid, match=str(port)):
        local_page_address(configured(port=port), "127.0.0.1", 8080)
