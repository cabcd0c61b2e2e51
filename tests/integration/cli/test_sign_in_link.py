"""The link of `opencrab up`: on a person's screen, and in no log."""

import re
from pathlib import Path

import httpx

from tests.integration.cli.house import House, free_port, running, seat


def test_a_person_sees_a_link_that_signs_in_once_and_the_browser_gets_another(
    tmp_path: Path,
) -> None:
    house, port = House(tmp_path), str(free_port())
    told = tmp_path / "told"
    more = {"BROWSER": f"/bin/sh -c 'echo \"$0\" > {told}' %s"}
    args = ("up", "--open", "--port", port, "--provider", "scripted")
    with seat(house, *args, more=more) as person:
        printed = person.see("ready")
        links = re.findall(rf"http://127\.0\.0\.1:{port}/#sign-in=\w+", printed)
        assert len(links) == 1
        person.settle()
        (opened,) = told.read_text().split()
        assert opened != links[0]
        key = (house.data / "owner.key").read_text().strip()
        url = f"http://127.0.0.1:{port}"
        for link in (links[0], opened):
            body = {"code": link.partition("=")[2]}
            given = httpx.post(f"{url}/api/sign-in", json=body, headers={"Origin": url})
            assert given.json() == {"key": key}
            again = httpx.post(f"{url}/api/sign-in", json=body, headers={"Origin": url})
            assert again.status_code == 401


def test_what_a_service_prints_has_no_link_and_a_browser_that_fails_fails_nothing(
    tmp_path: Path,
) -> None:
    with running(tmp_path, more={"BROWSER": "/nothing"}) as house:
        assert "sign-in=" not in "\n".join(house.printed)
        assert "opencrab open --data" in "\n".join(house.printed)
        assert "#sign-in=" in house.run("open").out, "no browser here"
        told = tmp_path / "told"
        said = house.run("open", BROWSER=f"/bin/sh -c 'echo \"$0\" > {told}' %s")
        assert "sign-in=" not in said.out + said.err
        assert "#sign-in=" in told.read_text()
        link = house.run("open", "--print").out
        assert "#sign-in=" in link
        key = (house.data / "owner.key").read_text().strip()
        url, _, code = link.strip().partition("/#sign-in=")
        given = httpx.post(f"{url}/api/sign-in", json={"code": code}, headers={"Origin": url})
        assert given.json() == {"key": key}
