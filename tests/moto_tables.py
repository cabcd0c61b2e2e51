"""Moto made fast, above all its tables: a transaction keeps a copy of one to fall back on.

Moto copies it object by object, once for each item of the transaction, which takes seconds for a
table of a few hundred items. What our updates can change are an item's attributes and which items
there are; copying that much, of the partitions that the transaction names, gives the same fallback.

For a query it sorts the whole table; here it sees only the items that the query names. What else it
works out anew in each request, though it comes to the same each time, is remembered: the parts of
an expression, checks of its text, the names of methods, which kinds of nodes a check looks at.
"""

import copy
from collections import defaultdict, deque
from contextvars import ContextVar
from functools import cache
from inspect import signature
from typing import Any

from moto import backend_index
from moto.core import models as core_models
from moto.core import responses, serialize, utils
from moto.dynamodb import comparisons
from moto.dynamodb import models as dynamo_models
from moto.dynamodb.models.dynamo_type import DynamoType, Item, LimitedSizeDict
from moto.dynamodb.models.table import Table
from moto.dynamodb.parsing import ast_nodes, expressions, validators
from moto.dynamodb.responses import DynamoHandler
from moto.sqs import models as sqs_models

OURS = {"dynamodb", "sqs"}
"""Whom most requests are for; no other service answers at their addresses."""

OF_TEXT = 3
"""So many of moto's checks of an update look at its text alone; they are the first ones."""

Operations = list[dict[str, dict[str, Any]]]
"""What a transaction does: one kind, and its fields, for each item."""

# These modules of moto have no types.
_nodes: Any = ast_nodes
_expressions: Any = expressions

_before: ContextVar[dict[int, Table] | None] = ContextVar("_before", default=None)
_operations: ContextVar[Operations] = ContextVar("_operations")


def copied(table: Table) -> Table:
    """A table whose items can be changed without changing this one's."""
    twin = _with_own_stream(table)
    twin.items.clear()
    for partition, items in table.items.items():
        twin.items[partition] = _copied_partition(items)
    return twin


def _fallback(table: Table, operations: Operations) -> Table:
    """What a transaction of these operations leaves of the table when it fails."""
    twin = _with_own_stream(table)
    for each in operations:
        named = next(iter(each.values()))
        key = (named.get("Key") or named.get("Item") or {}).get(table.hash_key_attr)
        partition = DynamoType(key) if key else None
        if partition in table.items:
            twin.items[partition] = _copied_partition(table.items[partition])
    return twin


def _with_own_stream(table: Table) -> Table:
    """A table with the same partitions; which there are and what is streamed is its own."""
    twin = copy.copy(table)
    twin.items = copy.copy(table.items)
    if table.stream_shard is not None:
        twin.stream_shard = copy.copy(table.stream_shard)
        twin.stream_shard.items = list(table.stream_shard.items)
        twin.stream_shard.table = twin
    return twin


def _copied_partition(items: dict[Any, Any]) -> dict[Any, Any]:
    return {key: _copied_item(item) for key, item in items.items()}


def _copied_item(item: Any) -> Any:
    """Past moto's constructors, which keep every item for ever and measure every attribute."""
    twin = object.__new__(Item)
    twin.__dict__.update(item.__dict__)
    twin.attrs = LimitedSizeDict.__new__(LimitedSizeDict)
    dict.update(twin.attrs, item.attrs)
    return twin


def _copied_table(table: Table, _memo: dict[int, Any]) -> Table:
    """In a transaction the same for each of its items: it copies before it writes."""
    before = _before.get()
    if before is None:
        return copied(table)
    if id(table) not in before:
        before[id(table)] = _fallback(table, _operations.get())
    return before[id(table)]


def _copied_node(node: Any, memo: dict[int, Any]) -> Any:
    """A part of an expression, with parts of its own; what they are made of never changes."""
    twin = object.__new__(type(node))
    twin.__dict__.update(node.__dict__)
    memo[id(node)] = twin
    twin.parent = memo.get(id(node.parent))
    if node.children is not None:
        twin.children = [
            _copied_node(child, memo) if isinstance(child, _nodes.Node) else child
            for child in node.children
        ]
    return twin


def _install_tables() -> None:
    transact = dynamo_models.DynamoDBBackend.transact_write_items

    def transact_write_items(backend: Any, operations: Operations) -> None:
        before, named = _before.set({}), _operations.set(operations)
        try:
            transact(backend, operations)
        finally:
            _before.reset(before)
            _operations.reset(named)

    dynamo_models.DynamoDBBackend.transact_write_items = transact_write_items  # type: ignore[method-assign, assignment]
    Table.__deepcopy__ = _copied_table  # type: ignore[attr-defined]  # moto has none


def _part(table: Table, partition: DynamoType, keys: list[tuple[str, DynamoType]]) -> Table:
    """The table with the items alone that a query can find; `keys` are those of its index."""
    part = copy.copy(table)
    part.items = defaultdict(dict)
    if not keys:
        if partition in table.items:
            part.items[partition] = table.items[partition]
        return part
    (name, wanted), *_ = keys
    for place, items in table.items.items():
        for key, item in items.items():
            if name in item.attrs and item.attrs[name] == wanted:
                part.items[place][key] = item
    return part


def _install_queries() -> None:
    """Moto sorts all items of a table before it looks for the few that a query names."""
    query, place = Table.query, signature(Table.query)

    def query_part(table: Table, *arguments: Any, **named: Any) -> Any:
        given = place.bind(table, *arguments, **named).arguments
        keys = given["hash_key_conditions"] if given["index_name"] else []
        return query(_part(table, given["hash_key"], keys), *arguments, **named)

    Table.query = query_part  # type: ignore[method-assign, assignment]


def _install_expressions() -> None:
    """An update is parsed once: whoever checks it works on a copy. So is a condition's text."""
    make = cache(_expressions.UpdateExpressionParser.make)
    _expressions.UpdateExpressionParser.make = make
    _nodes.Node.__deepcopy__ = _copied_node
    kinds = _nodes.DepthFirstTraverser.nodes_to_be_processed
    traverse = _nodes.DepthFirstTraverser.traverse

    def traverse_known(traverser: Any, node: Any) -> Any:
        """Moto says that the kinds are cached; they are a class's own and never change."""
        found = kinds(traverser)
        traverser.nodes_to_be_processed = lambda: found
        return traverse(traverser, node)

    _nodes.DepthFirstTraverser.traverse = traverse_known
    parser = comparisons.ConditionExpressionParser
    lexed = parser._lex_condition_expression

    @cache
    def words(expression: str) -> tuple[Any, ...]:
        return tuple(lexed(parser(expression, None, None)))

    parser._lex_condition_expression = lambda self: deque(words(self.condition_expression))  # type: ignore[method-assign]


def _install_checks() -> None:
    """What the text of an update alone decides is checked once, in three of ten passes."""
    check: Any = validators.UpdateExpressionValidator
    begin, validate = check.__init__, check.validate
    known = set[tuple[Any, ...]]()

    def begin_unknown(self: Any, expression: Any, **given: Any) -> None:
        begin(self, expression, **given)
        names = sorted((self.expression_attribute_names or {}).items())
        # Each text is parsed once and kept, so that its id is its own.
        self.text = (id(expression), *names, *self.table.table_key_attrs)
        if self.text in known:
            self.processors = self.processors[OF_TEXT:]

    def validate_unknown(self: Any) -> Any:
        found = validate(self)
        known.add(self.text)
        return found

    check.__init__, check.validate = begin_unknown, validate_unknown


def _install_values() -> None:
    """Most attributes are text, and each is asked for its value whenever it is looked up."""
    cast_value = DynamoType.cast_value.fget  # type: ignore[attr-defined]

    def cast_quickly(attribute: DynamoType) -> Any:
        return attribute.value if attribute.type == "S" else cast_value(attribute)

    DynamoType.cast_value = property(cast_quickly)  # type: ignore[method-assign, assignment]
    size = DynamoType.size

    def size_quickly(attribute: DynamoType) -> int:
        if attribute.type != "S":
            return size(attribute)
        text: str = attribute.value
        return len(text) if text.isascii() else len(text.encode())

    DynamoType.size = size_quickly  # type: ignore[method-assign, assignment]
    structure = serialize.JSONSerializer._serialize_type_structure

    def serialize_structure(self: Any, serialized: Any, value: Any, shape: Any, key: str) -> None:
        """An attribute has one type; moto looks for each of the ten, under many names."""
        if shape.name != "AttributeValue" or type(value) is not dict or not key:
            structure(self, serialized, value, shape, key)
            return
        wrapper = self.MAP_TYPE()
        for name, inner in value.items():
            if inner is not None:
                self._serialize(wrapper, inner, shape.members[name], name)
        self._default_serialize(serialized, wrapper, shape, key)

    serialize.JSONSerializer._serialize_type_structure = serialize_structure  # type: ignore[method-assign]


def install() -> None:
    """From here on moto works so."""
    _install_tables()
    _install_queries()
    _install_expressions()
    _install_checks()
    _install_values()
    # Moto would read each body as a form before it reads it as JSON.
    DynamoHandler.use_raw_body = True
    # Nobody speaks to AWS over requests; each account would prepare 1,300 answers for it.
    core_models.RESPONSES_METHODS.clear()
    # Whose turn it is to match an address: ours first, of some hundreds of services.
    backend_index.backend_url_patterns.sort(key=lambda known: known[0] not in OURS)
    vars(responses)["method_names_from_class"] = cache(utils.method_names_from_class)
    for module in (responses, sqs_models):
        vars(module)["camelcase_to_underscores"] = cache(utils.camelcase_to_underscores)
