"""The transformed templates as they will be deployed: references followed, conditions decided.

A reference becomes text: `${data.Table.Arn}` is the ARN of resource Table in infra/data.yaml, from
whichever stack it was asked for. So rules compare and search plain values, never intrinsics.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

Templates = Mapping[str, dict[str, Any]]
"""Transformed templates by their path under the checkout."""

TOP = "template.yaml"
NESTED = "AWS::CloudFormation::Stack"
NOTHING = object()
"""What `AWS::NoValue` stands for: the property is not there."""

PHYSICAL_NAMES = (
    "BucketName", "FunctionName", "LogGroupName", "Name", "QueueName", "RoleName", "TableName",
    "TopicName",
)  # fmt: skip

_symbol = re.compile(r"\$\{(\w+)\.(\w+)(?:\.[\w.]+)?\}")
_hole = re.compile(r"\$\{([^!][^}]*)\}")


@dataclass(frozen=True)
class Resource:
    """A resource with its properties resolved."""

    stack: str
    name: str
    type: str
    properties: dict[str, Any]
    attributes: dict[str, Any]

    @property
    def address(self) -> str:
        """Where to find it, as in `data.Table`."""
        return f"{self.stack}.{self.name}"

    def at(self, *path: str) -> Any:
        """A value deep in its properties, or None."""
        value: Any = self.properties
        for part in path:
            value = value.get(part) if isinstance(value, dict) else None
        return value

    def items(self, *path: str) -> list[Any]:
        """A list deep in its properties; empty if there is none."""
        return listed(self.at(*path))


@dataclass(frozen=True)
class Violation:
    """A rule that a resource breaks, and what to do about it."""

    resource: str
    problem: str
    cure: str


@dataclass(frozen=True)
class Stacks:
    """All resources of an installation, across its stacks."""

    root: Path
    resources: tuple[Resource, ...]
    sources: frozenset[str] = frozenset()
    """The folder of every function, those that this choice of parameters leaves out included."""

    def of(self, *types: str) -> list[Resource]:
        """The resources of these types, as in `AWS::SQS::Queue`."""
        return [resource for resource in self.resources if resource.type in types]

    def find(self, text: object) -> Resource | None:
        """The resource that a reference, an ARN or a physical name means."""
        if not isinstance(text, str):
            return None
        match = _symbol.match(text)
        if match is not None:
            return self._by_address.get(f"{match[1]}.{match[2]}")
        return next((found for name, found in self._by_name if _ends(text, name)), None)

    def means(self, text: object, resource: Resource) -> bool:
        """Whether a text means this resource; others of another type may have its name."""
        names = [resource.properties.get(name) for name in PHYSICAL_NAMES]
        return self.find(text) == resource or any(
            _ends(str(text), name) for name in names if isinstance(name, str)
        )

    def mentioned(self, text: object) -> list[Resource]:
        """Every resource that a text refers to, wherever in it."""
        found = [self.find(match[0]) for match in _symbol.finditer(str(text))]
        return [resource for resource in found if resource is not None]

    @cached_property
    def _by_address(self) -> dict[str, Resource]:
        return {resource.address: resource for resource in self.resources}

    @cached_property
    def _by_name(self) -> list[tuple[str, Resource]]:
        return [
            (resource.properties[name], resource)
            for resource in self.resources
            for name in PHYSICAL_NAMES
            if isinstance(resource.properties.get(name), str)
        ]


def evaluated(templates: Templates, root: Path, parameters: Mapping[str, str]) -> Stacks:
    """The installation that these parameters of the top stack give."""
    stack = _Stack(templates, TOP, parameters, None)
    return Stacks(root, tuple(stack.all_resources()), frozenset(_sources(templates)))


def _sources(templates: Templates) -> Iterator[str]:
    for template in templates.values():
        for resource in template["Resources"].values():
            if resource["Type"] == "AWS::Lambda::Function":
                yield str(resource["Properties"].get("Code", {}).get("S3Key"))


def variants(templates: Templates) -> Iterator[dict[str, str]]:
    """Parameters worth a look: as they come, each optional one given, and every other choice.

    The choices again with everything on that is off by default, and then with all that is optional
    as well. Numbers are not tried: they say how much, not what.
    """
    parameters = {
        name: parameter
        for name, parameter in templates[TOP].get("Parameters", {}).items()
        if parameter["Type"] != "Number"
    }
    given = {name: "given" for name, each in parameters.items() if not each.get("Default")}
    on = {name: "on" for name, each in parameters.items() if each.get("Default") == "off"}
    yield {}
    yield from ({name: value} for name, value in given.items())
    # Where the region decides it, no region is known here.
    yield from ({name: "bedrock"} for name in parameters if name == "DefaultProvider")
    yield from _choices(parameters, {})
    if on:
        yield on
        yield from _choices(parameters, on)
        yield {**on, **given}


def _choices(parameters: Mapping[str, Any], chosen: dict[str, str]) -> Iterator[dict[str, str]]:
    """What is chosen, with one choice made otherwise."""
    for name, parameter in parameters.items():
        usual = chosen.get(name, str(parameter.get("Default")))
        others = [str(each) for each in parameter.get("AllowedValues", [])]
        yield from ({**chosen, name: value} for value in others if value != usual)


def listed(value: object) -> list[Any]:
    """A value that may stand alone or in a list, as a list."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def holds(value: object) -> bool:
    """Whether a flag is set, however it is written."""
    return value is True or str(value).lower() == "true"


def number(value: object) -> int:
    """A number, however it is written; what is not there or no number counts as 0."""
    text = str(value)
    return int(text) if text.lstrip("-").isdigit() else 0


class _Stack:
    """One template in the place where it is included."""

    def __init__(
        self,
        templates: Templates,
        path: str,
        given: Mapping[str, Any],
        parent: "_Stack | None",
    ) -> None:
        self._templates = templates
        self._path = path
        self._given = given
        self._parent = parent
        self._template = templates[path]
        self.name = Path(path).stem
        self._decided: dict[Any, bool] = {None: True}
        self._intrinsics: dict[str, Callable[[Any], Any]] = {
            "Condition": self._condition,
            "Fn::And": lambda each: all(self.value(each)),
            "Fn::Equals": self._equals,
            "Fn::FindInMap": self._find_in_map,
            "Fn::GetAZs": lambda _region: ["${AWS::Region}a", "${AWS::Region}b"],
            "Fn::GetAtt": self._attribute,
            "Fn::If": self._if,
            "Fn::Join": self._join,
            "Fn::Not": lambda each: not self.value(each)[0],
            "Fn::Or": lambda each: any(self.value(each)),
            "Fn::Select": self._select,
            "Fn::Split": lambda each: str(self.value(each[1])).split(each[0]),
            "Fn::Sub": self._substitute,
            "Ref": self._ref,
        }
        self._children = {
            name: _Stack(templates, self._beside(resource), resource["Properties"], self)
            for name, resource in self._template["Resources"].items()
            if resource["Type"] == NESTED
        }

    def all_resources(self) -> Iterator[Resource]:
        """Its resources and those of the stacks it includes, without what conditions leave out."""
        for name, raw in self._template["Resources"].items():
            if not self._condition(raw.get("Condition")):
                continue
            rest = {key: raw[key] for key in raw if key != "Properties"}
            properties = self.value(raw.get("Properties", {}))
            yield Resource(self.name, name, raw["Type"], properties, rest)
            if name in self._children:
                yield from self._children[name].all_resources()

    def output(self, name: str) -> Any:
        """What it hands to the stack that includes it."""
        output = self._template.get("Outputs", {}).get(name)
        if output is None:
            raise LookupError(f"stack {self.name!r} has no output {name!r}")
        return self.value(output["Value"])

    def value(self, node: Any) -> Any:
        """A part of the template with everything in it resolved."""
        if isinstance(node, list):
            values = [self.value(each) for each in node]
            return [each for each in values if each is not NOTHING]
        if not isinstance(node, dict):
            return node
        if len(node) == 1:
            ((name, argument),) = node.items()
            if name in self._intrinsics:
                return self._intrinsics[name](argument)
        found = {key: self.value(each) for key, each in node.items()}
        return {key: each for key, each in found.items() if each is not NOTHING}

    def _beside(self, resource: dict[str, Any]) -> str:
        return (Path(self._path).parent / str(resource["Properties"]["TemplateURL"])).as_posix()

    def _ref(self, name: str) -> Any:
        if name == "AWS::NoValue":
            return NOTHING
        if name == "AWS::StackName":
            return f"${{AWS::StackName of {self.name}}}"
        if name.startswith("AWS::"):
            return self._pseudo(name)
        parameter = self._template.get("Parameters", {}).get(name)
        return self._parameter(name, parameter) if parameter else f"${{{self.name}.{name}}}"

    def _pseudo(self, name: str) -> Any:
        """What AWS gives every stack, such as the region, if it is chosen for this look."""
        stack = self
        while stack._parent is not None:
            stack = stack._parent
        return stack._given.get(name, f"${{{name}}}")

    def _parameter(self, name: str, parameter: dict[str, Any]) -> Any:
        if self._parent is not None and name in self._given.get("Parameters", {}):
            value = self._parent.value(self._given["Parameters"][name])
        elif self._parent is None and name in self._given:
            value = self._given[name]
        else:
            value = parameter.get("Default", f"${{parameter of {self.name} {name}}}")
        if "List" in parameter["Type"] and isinstance(value, str):
            return [each.strip() for each in value.split(",")]
        return value

    def _attribute(self, argument: str | list[str]) -> Any:
        name, _, attribute = (
            argument if isinstance(argument, str) else ".".join(argument)
        ).partition(".")
        if name in self._children and attribute.startswith("Outputs."):
            return self._children[name].output(attribute.removeprefix("Outputs."))
        return f"${{{self.name}.{name}.{attribute}}}"

    def _substitute(self, argument: str | list[Any]) -> str:
        text = argument if isinstance(argument, str) else str(argument[0])
        names = {} if isinstance(argument, str) else argument[1]

        def filled(match: re.Match[str]) -> str:
            name = match[1].strip()
            if name in names:
                return str(self.value(names[name]))
            return str(self._attribute(name) if "." in name else self._ref(name))

        return _hole.sub(filled, text).replace("${!", "${")

    def _join(self, argument: list[Any]) -> str:
        return str(argument[0]).join(str(each) for each in listed(self.value(argument[1])))

    def _select(self, argument: list[Any]) -> Any:
        return self.value(argument[1])[int(self.value(argument[0]))]

    def _find_in_map(self, argument: list[Any]) -> Any:
        table, first, second = (self.value(each) for each in argument)
        return self._template["Mappings"][table][first][second]

    def _if(self, argument: list[Any]) -> Any:
        return self.value(argument[1 if self._condition(argument[0]) else 2])

    def _condition(self, name: Any) -> bool:
        if name not in self._decided:
            self._decided[name] = bool(self.value(self._template["Conditions"][name]))
        return self._decided[name]

    def _equals(self, argument: list[Any]) -> bool:
        first, second = self.value(argument)
        return str(first) == str(second)


def _ends(text: str, name: str) -> bool:
    return text == name or text.endswith((f":{name}", f"/{name}"))
