"""What a message's embeds add to the statements in `accepting` and `store`: nothing where it has none."""

from typing import Any

from sessions_app.references import Embeds

_WITHOUT = {"column": "", "value": "", "embeds": ""}
# Stands on a CTE `session` with the `id`. An embed that is removed at this moment fails its foreign key.
_WITH = {
    "column": ", embed_keys",
    "value": ", %(embed_keys)s::int[]",
    "embeds": """, embeds AS (
    INSERT INTO sessions_app_sessionembed (session_id, key, embed_id)
    SELECT session.id, new.key, new.embed
    FROM session, unnest(%(new_keys)s::int[], %(new_embeds)s::uuid[]) AS new(key, embed)
)""",
}


def variants(statement: str, **parts: str) -> dict[bool, str]:
    """The statement for a message without embeds (False) and with some (True), of one that says where they go.

    `parts` go where it names them.
    """
    return {False: statement.format(**_WITHOUT, **parts), True: statement.format(**_WITH, **parts)}


def params_of(embeds: Embeds) -> dict[str, Any]:
    """The parameters of that addition."""
    if not embeds.keys:
        return {}
    return {
        "embed_keys": list(embeds.keys),
        "new_keys": list(embeds.new),
        "new_embeds": list(embeds.new.values()),
    }
