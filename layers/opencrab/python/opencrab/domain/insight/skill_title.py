"""The title of a learned skill: the name that it was given, where another had to be stored."""

from opencrab.domain.skills.lifecycle import learned_skill_name

_SEPARATOR = ": "


def learned_skill_title(name: str, description: str) -> str:
    """Return the given name, such as a Japanese one, with which a skill's description begins.

    `skill_lesson` puts it there when the stored name is made from its hash, so nobody else's words
    can pass for it. Any other skill's title is its name.
    """
    if not name.startswith("skill-"):
        return name
    place = description.find(_SEPARATOR)
    while place > 0:
        if learned_skill_name(given := description[:place]) == name:
            return given
        place = description.find(_SEPARATOR, place + 1)
    return name
