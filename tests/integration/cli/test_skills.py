"""Skills at the terminal, with a real server: the shipped ones, and one of the owner's own."""

import json

from tests.integration.cli.house import House


def test_a_skill_is_added_listed_and_retired(house: House) -> None:
    args = ("add", "さくら", "具体例", "--description", "例を挙げる", "--when", "説明")
    added = house.run("skills", *args, "--json", typed="例を一つ。")
    assert (added.code, added.err) == (0, "")
    name = json.loads(added.out)["name"]
    listed = json.loads(house.run("skills", "list", "さくら", "--json").out)
    known = {skill["name"]: skill["status"] for skill in listed}
    assert known[name] == "active"
    assert known["workspace-management"] == "active"
    assert house.run("skills", "retire", "さくら", name, LANG="ja_JP.UTF-8").out == (
        f"具体例 ({name}): 使用停止\n"
    )
    tried = ("add", "さくら", "summing", "--description", "d", "--text", "t", "--trial")
    assert house.run("skills", *tried).out == "added summing (on trial)\n"
    refused = house.run("skills", "retire", "さくら", "autonomous")
    assert (refused.code, refused.out) == (4, "")
    assert "it can only be switched off" in refused.err
