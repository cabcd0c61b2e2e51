"""Judges the licence of every locked package by what the installed package says of itself."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageMetadata, distributions
from pathlib import Path

from infra.audit.locks import Pin, canonical_name

_TOKENS = re.compile(r"\(|\)|[^\s()]+")


@dataclass(frozen=True)
class Policy:
    """Which licences may be used, and what the words of packages mean.

    Args:
        allowed: SPDX identifiers.
        named: SPDX expressions by the words with which packages name their licence.
        stated: SPDX expressions by package, where the package cannot be asked or says no licence.
    """

    allowed: frozenset[str]
    named: Mapping[str, str]
    stated: Mapping[str, str]


def installed_licences(folders: Iterable[Path], policy: Policy) -> dict[Pin, str]:
    """The SPDX expression of each package installed in `folders`, empty where we know none."""
    found = distributions(path=[str(folder) for folder in folders])
    return {
        Pin(canonical_name(each.metadata["Name"]), each.version): _expression(each, policy)
        for each in found
    }


def judge(pins: Iterable[Pin], known: Mapping[Pin, str], policy: Policy) -> Iterator[str]:
    """One line for each of `pins` whose licence is unknown or not allowed."""
    for pin in sorted(set(pins)):
        licence = licence_of(pin, known, policy)
        if not licence:
            words = "is not installed" if pin not in known else "says no licence that we know"
            cure = "read its licence and add it to [licences.stated] in infra/audit/audit.toml"
            yield f"{pin.name} {pin.version} {words}: {cure}"
        elif not is_allowed(licence, policy.allowed):
            yield f"{pin.name} {pin.version}: {licence} is not on the list of allowed licences"


def licence_of(pin: Pin, known: Mapping[Pin, str], policy: Policy) -> str:
    """The SPDX expression for `pin`, or an empty string."""
    return policy.stated.get(pin.name) or known.get(pin, "")


def is_allowed(expression: str, allowed: frozenset[str]) -> bool:
    """Whether an SPDX expression leaves a choice that `allowed` covers entirely."""
    tokens = _TOKENS.findall(expression)
    permitted, rest = _any_of(tokens, allowed)
    return permitted and not rest


def _any_of(tokens: list[str], allowed: frozenset[str]) -> tuple[bool, list[str]]:
    permitted, rest = _all_of(tokens, allowed)
    while rest and rest[0] == "OR":
        other, rest = _all_of(rest[1:], allowed)
        permitted = permitted or other
    return permitted, rest


def _all_of(tokens: list[str], allowed: frozenset[str]) -> tuple[bool, list[str]]:
    permitted, rest = _one(tokens, allowed)
    while rest and rest[0] == "AND":
        other, rest = _one(rest[1:], allowed)
        permitted = permitted and other
    return permitted, rest


def _one(tokens: list[str], allowed: frozenset[str]) -> tuple[bool, list[str]]:
    if not tokens:
        return False, []
    if tokens[0] == "(":
        permitted, rest = _any_of(tokens[1:], allowed)
        return permitted and rest[:1] == [")"], rest[1:]
    # A licence WITH an exception is a name of its own.
    if tokens[1:2] == ["WITH"]:
        return " ".join(tokens[:3]) in allowed, tokens[3:]
    return tokens[0] in allowed, tokens[1:]


def _field(metadata: PackageMetadata, name: str) -> str:
    return str(metadata[name]) if name in metadata else ""


def _expression(package: Distribution, policy: Policy) -> str:
    metadata = package.metadata
    stated = _field(metadata, "License-Expression")
    if stated:
        return stated
    prefix = "License :: "
    classifiers = [str(each) for each in metadata.get_all("Classifier") or []]
    words = [each.removeprefix(prefix) for each in classifiers if each.startswith(prefix)]
    words = [each for each in words if each.startswith("OSI Approved :: ")]
    text = _field(metadata, "License")
    # Where the field is a name it is exact; classifiers leave out BSD's number of clauses.
    if text in policy.named or text in policy.allowed:
        return policy.named.get(text, text)
    # Several classifiers do not say whether one may choose, so each must be allowed.
    expressions = [policy.named.get(each, "") for each in words]
    return " AND ".join(expressions) if expressions and all(expressions) else ""
