"""Which numbers lie on the public internet, whatever they are wrapped in."""

import pytest

from opencrab.adapters.address import BaseUrlRules, is_public_ip_address
from opencrab.domain.errors import Invalid
from tests.cases import for_each


@for_each(
    "number",
    [
        "8.8.8.8", "93.184.215.14", "1.1.1.1", "172.15.255.255", "172.32.0.1", "100.63.255.255",
        "100.128.0.1", "223.255.255.255", "2606:2800:220:1:248:1893:25c8:1946", "2400:cb00::1",
        "::ffff:8.8.8.8", "64:ff9b::808:808",
    ],
)  # fmt: skip
def test_a_number_of_the_internet_is_public(number: str) -> None:
    assert is_public_ip_address(number)


@for_each(
    "number",
    [
        "0.0.0.1", "10.255.255.255", "100.64.0.1", "100.100.100.200", "169.254.169.254",
        "172.16.0.1", "172.31.255.255", "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.1.1",
        "127.0.0.1",
        "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.1.1.1", "240.0.0.1",
        "255.255.255.255", "168.63.129.16", "::", "::1", "::127.0.0.1", "::ffff:10.0.0.1",
        "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "100::1", "2001::1", "2001:0:7f00:1::", "2001:db8::1",
        "2002:a9fe:a9fe::1", "3fff::1", "5f00::1", "fc00::1", "fd00:ec2::254", "fe80::1",
        "fe80::1%eth0", "2606:2800::1%1", "fec0::1", "ff02::1", "localhost", "", "0x7f000001",
        "127.1", "2130706433", "0177.0.0.1", "1.2.3.4.5",
    ],
)  # fmt: skip
def test_every_other_number_is_not(number: str) -> None:
    assert not is_public_ip_address(number)


def test_a_base_url_that_cannot_be_used_names_its_setting() -> None:
    rules = BaseUrlRules("the web search", "web.search.base_url")
    assert rules.validate("http://localhost:8888/") == "http://localhost:8888"
    with pytest.raises(Invalid, match="the web search is invalid: must use https") as caught:
        rules.validate("http://search.example.org")
    assert caught.value.field == "web.search.base_url"
