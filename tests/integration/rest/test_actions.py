"""The list of actions over REST: OpenCrab's own, and those that the owner wrote."""

from opencrab.actions import GROUPS, Group, Registry
from opencrab.actions.custom import action
from opencrab.actions.custom.call import CustomValues
from opencrab.actions.custom.declaration import GROUP, declared_custom_action
from tests.integration.rest.house import House


@action(impact="external", effect="once", ja="灯台の明かりをつけます。")
def light_lamp(color: str) -> str:
    """Light the lamp of the lighthouse."""
    return color


def test_actions_are_listed_with_where_they_come_from(house: House) -> None:
    group = Group(GROUP)
    group.actions = [declared_custom_action(light_lamp).offer(CustomValues(), most_seconds=60)]
    house.furnish(actions=Registry((*GROUPS, group)))
    found = {each["name"]: each for each in house.call("GET", "/actions").json()["items"]}
    assert len(found) == sum(len(each.names()) for each in GROUPS) + 1
    lamp = found["light_lamp"]
    assert lamp["origin"].startswith(f"{__file__}:")
    assert (lamp["group"], lamp["impact"], lamp["effect"]) == ("custom", "external", "once")
    assert lamp["descriptions"]["ja"] == "灯台の明かりをつけます。"
    assert lamp["owner_only"]
    assert (found["ws_read"]["origin"], found["ws_read"]["owner_only"]) == ("", False)
