"""Addresses of providers: the key goes over TLS, or it does not leave the house."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.adapters.providers.wire.address import (
    checked_wire_base_url,
    is_private_url_address,
    is_url_of_this_machine,
)
from opencrab.domain.errors import Invalid
from tests.cases import for_each


@for_each(
    "url",
    [
        "https://api.openai.com/v1", "https://xn--r8jz45g.jp/v1", "http://localhost:11434/v1",
        "http://127.0.0.1:8080", "http://[::1]:8080/v1", "http://192.168.1.20:8000/v1",
        "http://10.0.0.7", "http://100.100.1.1/v1", "http://gpu:8080/v1", "http://gpu.lan/v1",
        "http://box.local", "http://ollama.internal:11434", "https://8.8.8.8/v1",
        "http://[fd12::1]/v1", "http://[::ffff:192.168.1.2]/v1", "HTTPS://API.example.com/v1",
    ],
)  # fmt: skip
def test_a_safe_address_is_taken_as_it_is(url: str) -> None:
    assert checked_wire_base_url(url, provider="openai") == url
    assert checked_wire_base_url(f"{url}/", provider="openai") == url


@for_each(
    "url",
    [
        "http://api.openai.com/v1", "http://8.8.8.8/v1", "http://[2001:4860::1]/",
        "http://gpu.lan.example.com", "http://localhost.example.com", "http://[::ffff:8.8.8.8]/",
    ],
)  # fmt: skip
def test_a_key_does_not_travel_in_the_open(url: str) -> None:
    with pytest.raises(Invalid, match="https"):
        checked_wire_base_url(url, provider="openai")


@for_each(
    "url",
    [
        "http://169.254.169.254/latest", "https://169.254.169.254", "http://169.254.1.1",
        "http://[fe80::1]", "http://[fd00:ec2::254]/", "http://100.100.100.200",
        "http://metadata.google.internal", "http://metadata.google.internal.", "http://metadata/",
        "http://METADATA.google.internal/v1", "http://[::ffff:169.254.169.254]/",
        "http://169.254.169.254./", "http://[fd00:ec2::23]/", "http://[fd00:ec2:1::1]/v1",
        "http://instance-data.ec2.internal/", "http://INSTANCE-DATA.lan", "http://instance-data",
        "http://metadata.goog", "http://[fd20:ce::254]", "http://[2002:a9fe:a9fe::1]/",
        "https://[64:ff9b::a9fe:a9fe]/",
    ],
)  # fmt: skip
def test_where_clouds_hand_out_credentials_is_refused(url: str) -> None:
    with pytest.raises(Invalid, match="metadata"):
        checked_wire_base_url(url, provider="openai")


@for_each(
    "url",
    [
        "http://169。254。169。254/latest", "http://metadata。google。internal", "http://evil。com/v1",
        "http://evil\uff0ecom/v1", "http://evil｡com/v1", "https://例え.jp/v1", "https://蟹/v1",
        "http://\uff11\uff12\uff17.0.0.1/", "http://a..b/", "http://.lan/", "http://b../", "http://gpu_1/v1",
        f"http://{'a' * 64}/", f"http://{'a.' * 127}lan/", "http://[fd12::1%25eth0]/",
        "http://[::1]evil.com/", "http://ⓛocalhost/", "http://%6cocalhost/", "http://[v1.a]/",
        "http://1.2.3.4%2eevil/",
    ],
)  # fmt: skip
def test_a_host_that_a_look_up_may_read_otherwise_is_refused(url: str) -> None:
    with pytest.raises(Invalid):
        checked_wire_base_url(url, provider="openai")
    try:
        private = is_private_url_address(url) or is_url_of_this_machine(url)
    except ValueError:
        return
    assert not private


def test_whoever_writes_another_script_is_told_of_punycode() -> None:
    with pytest.raises(Invalid) as caught:
        checked_wire_base_url("https://例え.jp/v1", provider="openai")
    assert "punycode" in (caught.value.cure or "")


@pytest.mark.parametrize(
    "url", ["http://2130706433/", "http://0x7f000001/", "http://0177.0.0.1/", "http://127.1/",
            "http://0xa9fea9fe/", "http://169.254.43518/", "http://1.2.3.4.5/"]
)  # fmt: skip
def test_an_unusual_spelling_of_a_number_is_refused(url: str) -> None:
    with pytest.raises(Invalid, match="an unusual IP address"):
        checked_wire_base_url(url, provider="openai")


@for_each(
    "url",
    [
        "", "api.openai.com", "ftp://host/", "file:///etc/passwd", "https://", "https:///v1",
        "https://user:pass@host/v1", "https://key@host", "https://host/v1?x=1", "https://host/#f",
        "https://host /v1", "https://host\\@evil/v1", "https://ho\nst/", "https://host:port/",
        "https://host:99999/", "https://[::1", "javascript:alert(1)", "https://\x00host",
        "https://蟹 蟹/",
    ],
)  # fmt: skip
def test_what_is_no_address_is_invalid_and_tells_where_it_stands(url: str) -> None:
    with pytest.raises(Invalid) as caught:
        checked_wire_base_url(url, provider="蟹屋")
    assert caught.value.field == "llm.providers.蟹屋.base_url"
    assert caught.value.cure
    assert "蟹屋" in caught.value.message
    assert "pass@" not in caught.value.message


@given(st.text())
def test_any_text_is_an_address_or_invalid(text: str) -> None:
    for url in (text, f"http://{text}", f"https://{text}/v1"):
        try:
            checked = checked_wire_base_url(url, provider="x")
        except Invalid:
            continue
        assert checked.lower().startswith("https://") or is_private_url_address(checked)


@given(st.ip_addresses(v=4))
def test_plain_http_reaches_no_public_number(address: object) -> None:
    url = f"http://{address}/v1"
    try:
        checked_wire_base_url(url, provider="x")
    except Invalid:
        return
    assert is_private_url_address(url)
