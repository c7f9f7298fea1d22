"""Removing: what nothing refers to goes after a day, its bytes with the last embed; no file is lost sight of."""

import asyncio
import os
import subprocess
import sys
import uuid
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest
from django.utils import timezone

from common.db import run_db
from common.errors import Unavailable
from tests.embeds.keeper import Json, Keeper, send
from tests.sites import ROOT

A_DAY = timedelta(days=1)


def age(embed: Json, by: timedelta = A_DAY) -> None:
    from embeds.models import Embed

    Embed.objects.filter(pk=embed["id"]).update(touched=timezone.now() - by - timedelta(seconds=1))


def blob_and_file(embed: Json) -> tuple[bool, bool]:
    """Whether its bytes are in the database, and in the storage."""
    from embeds.models import Blob

    return Blob.objects.filter(sha256=embed["sha256"]).exists(), embed["path"].exists()


@pytest.fixture
def with_path() -> Callable[[Json], Json]:
    """Adds the path of its file to what is known of an embed."""
    from embeds.files import files
    from embeds.models import Embed

    return lambda embed: {**embed, "path": Path(files().path(Embed.objects.get(pk=embed["id"]).blob.path))}


@pytest.fixture
def embed(ann: Keeper, content: bytes, with_path: Callable[[Json], Json]) -> Json:
    return with_path(ann.uploaded(content))


def refer(ann: Keeper, embed: Json) -> Any:
    """A row of another app that refers to it."""
    from sessions_app.models import Session, SessionEmbed

    session = Session.objects.create(handle=f"s-{uuid.uuid4().hex}", owner=ann.user)
    return SessionEmbed.objects.create(session=session, key=1, embed_id=embed["id"])


def task() -> None:
    from embeds.tasks import remove_unused_embeds

    asyncio.run(remove_unused_embeds(0))


def test_an_embed_that_nothing_refers_to_goes_after_a_day_and_its_bytes_with_it(ann: Keeper, embed: Json) -> None:
    task()
    assert ann.left_behind() == (1, 0)
    age(embed)
    task()
    assert ann.left_behind() == (0, 0)
    assert blob_and_file(embed) == (False, False)
    assert httpx2.get(embed["url"]).status_code == 404


def test_an_embed_that_a_row_refers_to_stays_until_the_row_is_gone(ann: Keeper, embed: Json) -> None:
    row, other = refer(ann, embed), ann.uploaded(b"other" + embed["id"].encode())
    for each in (embed, other):
        age(each)
    task()
    assert ann.left_behind() == (1, 0)
    refused = ann.http.delete(f"/api/embeds/{embed['id']}")
    assert (refused.status_code, refused.json()["error"]["details"]["reason"]) == (400, "referenced")
    assert blob_and_file(embed) == (True, True)
    row.delete()
    task()
    assert blob_and_file(embed) == (False, False)


def test_bringing_it_again_or_claiming_it_keeps_it_for_another_day(ann: Keeper, embed: Json, content: bytes) -> None:
    from embeds.access import own_embeds

    for renew in (lambda: ann.uploaded(content), lambda: own_embeds(ann.user.pk, [uuid.UUID(embed["id"])])):
        age(embed)
        renew()
        task()
        assert blob_and_file(embed) == (True, True)


def test_bytes_stay_while_somebody_has_an_embed_of_them(
    ann: Keeper, keeper: Callable[[], Keeper], embed: Json, content: bytes
) -> None:
    theirs = keeper().uploaded(content)
    age(embed)
    task()
    assert blob_and_file(embed) == (True, True)
    assert httpx2.get(theirs["url"]).content == content


def test_only_the_embeds_that_are_named_are_removed(ann: Keeper, embed: Json, content: bytes) -> None:
    from embeds.actions import remove_unreferenced

    other = ann.uploaded(content + b"!")
    kept = ann.uploaded(content + b"?")
    refer(ann, kept)
    ids = [uuid.UUID(each["id"]) for each in (embed, kept)]
    assert asyncio.run(remove_unreferenced(ids=ids, older_than=timedelta(0))) == 1
    assert blob_and_file(embed) == (False, False)
    assert [ann.http.get(f"/api/embeds/{each['id']}").status_code for each in (other, kept)] == [200, 200]


def test_the_embeds_of_a_user_who_is_gone_leave_no_file(ann: Keeper, embed: Json) -> None:
    ann.user.delete()
    task()
    assert blob_and_file(embed) == (False, False)


def test_an_upload_that_nobody_completes_goes_after_a_day(ann: Keeper, content: bytes) -> None:
    from embeds.files import files
    from embeds.models import LooseFile, Upload

    upload = ann.announce(content)
    send(upload, content)
    file = Upload.objects.get(pk=upload["id"]).file
    path = Path(files().path(file.path))
    task()
    assert path.exists()
    LooseFile.objects.filter(pk=file.pk).update(remove_after=timezone.now())
    task()
    assert not path.exists()
    assert ann.left_behind() == (0, 0)
    assert ann.complete(upload).status_code == 404


def test_the_place_of_a_completed_upload_is_watched_while_its_link_is_good(ann: Keeper, content: bytes) -> None:
    from embeds.models import LooseFile, Upload

    upload = ann.announce(content)
    send(upload, content)
    file = Upload.objects.get(pk=upload["id"]).file
    assert ann.complete(upload).status_code == 201
    assert LooseFile.objects.get(pk=file.pk).remove_after > timezone.now() + timedelta(hours=23)


KILLED = """
import asyncio, datetime, os, signal, sys
import django
django.setup()
from embeds import actions, rows
from embeds.files import LocalFiles

owner, content, name = sys.argv[1:]
place = LocalFiles if name == "put" else rows
step = getattr(place, name)

def dying(*args):
    step(*args)
    os.kill(os.getpid(), signal.SIGKILL)

async def pieces():
    yield content.encode()

async def main():
    embed = await actions.keep(owner=int(owner), content_type="text/plain", pieces=pieces())
    await actions.remove_unreferenced(ids=[embed.pk], older_than=datetime.timedelta(0))

setattr(place, name, dying)
asyncio.run(main())
"""


@pytest.mark.parametrize("step", ["put", "recorded", "loosen_blobs"])
def test_a_process_that_is_killed_after_any_step_leaves_no_file_for_ever(
    ann: Keeper, content: bytes, step: str
) -> None:
    """Killed (9) after the file is there, after its rows are, and after they are gone."""
    from embeds.files import files
    from embeds.models import Blob, LooseFile

    before = set(LooseFile.objects.values_list("path", flat=True))
    command = [sys.executable, "-c", KILLED, str(ann.user.pk), content.decode(), step]
    died = subprocess.run(command, cwd=ROOT, env=os.environ, capture_output=True, text=True, check=False)
    assert died.returncode == -9, died.stderr
    loose = LooseFile.objects.exclude(path__in=before)
    assert (ann.left_behind(), len(loose)) == ({"recorded": (1, 0)}.get(step, (0, 0)), 0 if step == "recorded" else 1)
    paths = [Path(files().path(each.path)) for each in loose]
    assert all(path.exists() for path in paths)

    # While its file waits to be removed, the bytes can be brought again, and stay.
    embed = ann.uploaded(content)
    loose.update(remove_after=timezone.now())
    task()
    assert not any(path.exists() for path in paths)
    assert not loose.exists()
    assert httpx2.get(embed["url"]).content == content
    assert Blob.objects.filter(sha256=embed["sha256"]).count() == 1


def test_a_file_whose_place_was_given_up_does_not_become_an_embed(ann: Keeper, content: bytes) -> None:
    from embeds import rows
    from embeds.files import Content
    from embeds.models import LooseFile

    planned = rows.planned()
    LooseFile.objects.filter(pk=planned.pk).update(remove_after=timezone.now())
    with pytest.raises(Unavailable):
        rows.recorded(ann.user.pk, "text/plain", "", Content(uuid.uuid4().hex * 2, 1, b""), planned.path)
    assert ann.left_behind() == (0, 0)


async def test_uploads_and_removals_of_the_same_bytes_never_lose_them(ann: Keeper, content: bytes) -> None:
    """An embed that was just given out has its bytes, however often others remove it meanwhile."""
    from embeds import actions
    from embeds.files import files
    from embeds.models import Blob, Embed, LooseFile

    async def pieces() -> Any:
        yield content

    async def upload() -> None:
        embed = await actions.keep(owner=ann.user.pk, content_type="text/plain", pieces=pieces())
        row = await run_db(lambda: Embed.objects.filter(pk=embed.pk).select_related("blob").first())
        if row is not None:  # nobody has removed it since
            await asyncio.to_thread(lambda: files().get(row.blob.path).close())

    async def remove() -> None:
        await actions.remove_unreferenced(older_than=timedelta(0), ids=await run_db(_ids_of, ann))

    for _ in range(15):
        results = await asyncio.gather(*(step() for step in [upload, remove] * 4), return_exceptions=True)
        # The file may go between the two looks of `upload`; nothing else may fail.
        assert [error for error in results if error and not isinstance(error, FileNotFoundError)] == []
    await upload()
    await remove()
    held = set(await run_db(lambda: list(Blob.objects.values_list("path", flat=True))))
    loose = set(await run_db(lambda: list(LooseFile.objects.values_list("path", flat=True))))
    assert not held & loose


def _ids_of(ann: Keeper) -> list[uuid.UUID]:
    from embeds.models import Embed

    return list(Embed.objects.filter(owner=ann.user).values_list("pk", flat=True))
