"""The printed schema is the one that answers."""

from pathlib import Path


def test_docs_schema_graphql_is_up_to_date() -> None:
    from fixie_site.graphql import schema

    printed = Path(__file__).parents[2] / "docs" / "schema.graphql"
    assert printed.read_text() == schema.as_str(), "Run `make schema`."
