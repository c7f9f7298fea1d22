"""What a GraphQL document may ask: how deep, how often, and how many values it could answer with."""

from collections.abc import Iterator, Mapping
from typing import Any

from django.conf import settings
from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLField,
    GraphQLList,
    GraphQLNamedType,
    GraphQLNonNull,
    GraphQLSchema,
    InlineFragmentNode,
    IntValueNode,
    OperationDefinitionNode,
    SelectionSetNode,
    VariableNode,
    get_named_type,
)

from common.errors import InvalidRequest

# What a list without a `limit` counts for: metadata of a revision, corpora.
SHORT_LIST = 10
# Answering `__schema` takes about as long as so many values; how deep it goes, graphql-core limits itself.
SCHEMA_COST = 5000


def check_shape(document: DocumentNode) -> None:
    """Raises InvalidRequest for a document that nests too deeply or has too many aliases.

    Asked before validation, whose rules are slow on such documents: nothing is known of what fields there are.
    """
    shape = _Shape(document)
    depth = max((shape.measure(each.selection_set)[0] for each in _operations(document)), default=0)
    if depth > settings.GRAPHQL_MAX_DEPTH:
        raise _too_much("nests its fields deeper than", settings.GRAPHQL_MAX_DEPTH, "levels")
    if shape.aliases > settings.GRAPHQL_MAX_ALIASES:
        raise _too_much("has more than", settings.GRAPHQL_MAX_ALIASES, "aliases")
    if shape.largest > settings.GRAPHQL_MAX_FIELDS:
        raise _too_much("asks for more than", settings.GRAPHQL_MAX_FIELDS, "fields of one object")


def check_cost(
    schema: GraphQLSchema, document: DocumentNode, operation: OperationDefinitionNode, variables: Mapping[str, Any]
) -> None:
    """Raises InvalidRequest where a valid operation could answer with more than GRAPHQL_MAX_COST values.

    Every field counts one; what stands under a list counts as often as its `limit` says.
    """
    root = schema.get_root_type(operation.operation)
    cost = _Cost(schema, document, operation, variables).of(operation.selection_set, root)
    if cost > settings.GRAPHQL_MAX_COST:
        raise InvalidRequest(
            f"This could answer with {cost:,} values, and {settings.GRAPHQL_MAX_COST:,} are allowed. "
            "Ask for fewer at a time (`limit`), or for fewer fields.",
            cost=cost,
            limit=settings.GRAPHQL_MAX_COST,
        )


def _too_much(what: str, limit: int, unit: str) -> InvalidRequest:
    return InvalidRequest(f"The query {what} {limit} {unit}.", field="query", limit=limit)


def _operations(document: DocumentNode) -> Iterator[OperationDefinitionNode]:
    return (each for each in document.definitions if isinstance(each, OperationDefinitionNode))


def _fragments(document: DocumentNode) -> dict[str, FragmentDefinitionNode]:
    return {each.name.value: each for each in document.definitions if isinstance(each, FragmentDefinitionNode)}


class _Shape:
    """Looks into each fragment once, however often it is spread, and into those that spread themselves too."""

    def __init__(self, document: DocumentNode) -> None:
        self.aliases = 0
        self.largest = 0
        self._fragments = _fragments(document)
        self._seen: dict[str, tuple[int, int]] = {}

    def measure(self, selections: SelectionSetNode | None) -> tuple[int, int]:
        """How deep it goes, and how many fields of one object it names, through all fragments."""
        measured = [self._measure(node) for node in selections.selections] if selections else []
        size = sum(size for _, size in measured)
        self.largest = max(self.largest, size)
        return max((depth for depth, _ in measured), default=0), size

    def _measure(self, node: object) -> tuple[int, int]:
        if isinstance(node, FieldNode):
            self.aliases += node.alias is not None
            depth, _ = self.measure(node.selection_set)
            return (1 if node.name.value.startswith("__") else 1 + depth), 1
        if isinstance(node, InlineFragmentNode):
            return self.measure(node.selection_set)
        assert isinstance(node, FragmentSpreadNode)
        name = node.name.value
        if name not in self._seen:
            self._seen[name] = (0, 0)
            fragment = self._fragments.get(name)
            self._seen[name] = self.measure(fragment.selection_set if fragment else None)
        return self._seen[name]


class _Cost:
    def __init__(
        self,
        schema: GraphQLSchema,
        document: DocumentNode,
        operation: OperationDefinitionNode,
        variables: Mapping[str, Any],
    ) -> None:
        self._schema = schema
        self._fragments = _fragments(document)
        self._costs: dict[str, int] = {}
        defaults = {
            each.variable.name.value: _number(each.default_value) for each in operation.variable_definitions or ()
        }
        self._variables = {**defaults, **variables}

    def of(self, selections: SelectionSetNode | None, parent: GraphQLNamedType | None) -> int:
        return sum(self._of(node, parent) for node in selections.selections) if selections else 0

    def _of(self, node: object, parent: GraphQLNamedType | None) -> int:
        if isinstance(node, FieldNode):
            return self._of_field(node, parent)
        if isinstance(node, InlineFragmentNode):
            condition = node.type_condition
            return self.of(node.selection_set, self._schema.get_type(condition.name.value) if condition else parent)
        assert isinstance(node, FragmentSpreadNode)
        name = node.name.value
        if name not in self._costs:
            fragment = self._fragments[name]
            on = self._schema.get_type(fragment.type_condition.name.value)
            self._costs[name] = self.of(fragment.selection_set, on)
        return self._costs[name]

    def _of_field(self, node: FieldNode, parent: GraphQLNamedType | None) -> int:
        name = node.name.value
        if name.startswith("__"):
            return 1 if node.selection_set is None else SCHEMA_COST
        field: GraphQLField = parent.fields[name]  # type: ignore[union-attr]  # valid: only objects have fields
        below = self.of(node.selection_set, get_named_type(field.type))
        if not below or not _is_list(field):
            return 1 + below
        return 1 + self._length(node, field) * below

    def _length(self, node: FieldNode, field: GraphQLField) -> int:
        """How long the list may be. Zero and less are the resolver's to refuse."""
        if "limit" not in field.args:
            return SHORT_LIST
        given = next((each.value for each in node.arguments or () if each.name.value == "limit"), None)
        length = self._variables.get(given.name.value) if isinstance(given, VariableNode) else _number(given)
        return max(length, 1) if isinstance(length, int) else int(field.args["limit"].default_value)


def _number(value: object) -> int | None:
    return int(value.value) if isinstance(value, IntValueNode) else None


def _is_list(field: GraphQLField) -> bool:
    kind = field.type.of_type if isinstance(field.type, GraphQLNonNull) else field.type
    return isinstance(kind, GraphQLList)
