"""Background work of embeds: removing what nobody uses."""

from procrastinate.contrib.django import app

from embeds import actions, rows


@app.periodic(cron="43 * * * *")
@app.task(name="remove_unused_embeds", queueing_lock="remove_unused_embeds")
async def remove_unused_embeds(timestamp: int) -> None:
    """Removes embeds that nothing refers to a day after they came, blobs without embeds, and loose files."""
    while await actions.remove_unreferenced() == rows.BATCH:
        continue
