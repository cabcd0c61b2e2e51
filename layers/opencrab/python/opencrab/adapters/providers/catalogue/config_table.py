"""Tables of a configuration, read with errors that name the place and the cure."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from opencrab.adapters.providers.catalogue.prices import catalogue_price_of_parts
from opencrab.domain.errors import Invalid
from opencrab.domain.money.budget import FREE, Price

_CURE = "correct it, or remove it"
_WORDS = {"true": True, "1": True, "false": False, "0": False}


def catalogue_config_table(value: Any, place: str) -> Mapping[str, Any]:
    """Return a value that must be a table; raise Invalid otherwise."""
    if not isinstance(value, Mapping):
        raise Invalid(
            f"[{place}] must be a table, not {type(value).__name__}", field=place, cure=_CURE
        )
    return value


def check_catalogue_config_keys(
    table: Mapping[str, Any], known: AbstractSet[str], place: str
) -> None:
    """Raise Invalid for an unknown key, which is probably misspelt."""
    for key in table:
        if key not in known:
            raise Invalid(
                f"[{place}] has {key!r}, which is not a known key",
                field=f"{place}.{key}",
                cure=f"use {', '.join(sorted(known))}",
            )


def catalogue_config_text(table: Mapping[str, Any], key: str, place: str) -> str:
    """Return a string, stripped; empty if the key is absent."""
    text = table.get(key, "")
    if not isinstance(text, str):
        raise Invalid(
            f"{key} in [{place}] must be text, not {type(text).__name__}",
            field=f"{place}.{key}",
            cure=_CURE,
        )
    return text.strip()


def catalogue_config_texts(table: Mapping[str, Any], key: str, place: str) -> tuple[str, ...]:
    """Return a list of names; empty if the key is absent."""
    texts = table.get(key, ())
    if not isinstance(texts, list | tuple) or not all(isinstance(each, str) for each in texts):
        raise Invalid(
            f"{key} in [{place}] must be a list of names",
            field=f"{place}.{key}",
            cure='write it as ["one", "another"]',
        )
    return tuple(texts)


def catalogue_config_flag(table: Mapping[str, Any], key: str, place: str) -> bool | None:
    """Return a boolean, also from text such as "true" or "0"; None if the key is absent."""
    given = table.get(key)
    flag = _WORDS.get(given.strip().lower()) if isinstance(given, str) else given
    if given is not None and not isinstance(flag, bool):
        raise Invalid(
            f"{key} in [{place}] must be true or false, not {given!r}",
            field=f"{place}.{key}",
            cure=_CURE,
        )
    return flag


def catalogue_config_count(
    table: Mapping[str, Any], key: str, place: str, *, least: int, most: int
) -> int | None:
    """Return an integer between `least` and `most`; None if the key is absent."""
    number = table.get(key)
    if number is None:
        return None
    if isinstance(number, bool) or not isinstance(number, int) or not least <= number <= most:
        raise Invalid(
            f"{key} in [{place}] must be a whole number from {least} to {most}, not {number!r}",
            field=f"{place}.{key}",
            cure=_CURE,
        )
    return number


def catalogue_config_seconds(
    table: Mapping[str, Any], key: str, place: str, *, most: float
) -> float | None:
    """Return a number of seconds, also from text; None if the key is absent or empty."""
    given = table.get(key)
    if given in (None, ""):
        return None
    try:
        seconds = float("nan") if isinstance(given, bool) else float(given)
    except (TypeError, ValueError):
        seconds = float("nan")
    if not 0 < seconds <= most:
        raise Invalid(
            f"{key} in [{place}] must be more than 0 and at most {most:g}, not {given!r}",
            field=f"{place}.{key}",
            cure=_CURE,
        )
    return seconds


def catalogue_config_price(table: Mapping[str, Any], key: str, place: str) -> Price | None:
    """Return a price written as INPUT/OUTPUT, in US dollars; None if the key is absent or empty."""
    text = catalogue_config_text(table, key, place)
    if not text:
        return None
    input_usd, _, output_usd = text.partition("/")
    try:
        price = catalogue_price_of_parts({"input": input_usd.strip(), "output": output_usd.strip()})
    except ValueError:
        price = None
    if price is None or price == FREE:
        raise Invalid(
            f"{key} in [{place}] must be the price of a million tokens, not {text!r}",
            field=f"{place}.{key}",
            cure='write "INPUT/OUTPUT" in US dollars, such as "0.15/0.60"',
        )
    return price


def invalid_catalogue_reference(
    message: str, *, problem: str, facts: dict[str, object], field: str, cure: str
) -> Invalid:
    """Return the error for a name of a model that leads nowhere, to be said in any language."""
    from opencrab.domain.configuration.invalid_setting import InvalidSetting  # noqa: PLC0415 - seldom

    return InvalidSetting(message, problem=problem, facts=facts, field=field, cure=cure)
