"""ETags and conditions: nobody overwrites what they have not seen, however many write at once."""

import asyncio

import httpx2
import pytest

from tests.sites import Site
from tests.storage_kv.memories import Memory, at_once, error_of, statuses

STRANGER = f'"{"0" * 32}"'
WRITES = {
    "POST": lambda storage, **headers: storage.set("key", "new", **headers),
    "PUT": lambda storage, **headers: storage.put("key", b"new", **headers),
    "DELETE": lambda storage, **headers: storage.delete("key", **headers),
}
every_write = pytest.mark.parametrize("write", WRITES.values(), ids=WRITES.keys())


@pytest.fixture
def etag(storage: Memory) -> str:
    """The version of the value `old` under `key`."""
    return str(storage.set("key", "old").headers["ETag"])


@every_write
def test_a_write_of_the_version_that_is_there_succeeds(storage: Memory, etag: str, write) -> None:
    for condition in (etag, f"{STRANGER}, {etag}", "*"):
        storage.set("key", "old")
        current = storage.get("key").headers["ETag"]
        answer = write(storage, if_match=condition.replace(etag, current))
        assert answer.status_code in (200, 204), answer.text


@every_write
@pytest.mark.parametrize("condition", ["{stale}", "W/{current}", STRANGER, '"x"', '"x", "y"'])
def test_a_write_of_another_version_is_refused_with_the_one_that_is_there(storage, etag, write, condition) -> None:
    current = storage.set("key", "newer").headers["ETag"]

    answer = write(storage, if_match=condition.format(stale=etag, current=current))

    assert error_of(answer, 409, "version_conflict")["details"]["etag"] == current
    assert answer.headers["ETag"] == current
    assert storage.get("key").json() == {"data": "newer"}


@every_write
def test_a_write_that_demands_a_value_needs_one(storage: Memory, write) -> None:
    for condition in ("*", STRANGER):
        answer = write(storage, if_match=condition)
        assert error_of(answer, 409, "version_conflict")["details"]["etag"] is None
        assert "ETag" not in answer.headers
    assert storage.usage() == (0, 0)


@every_write
def test_a_write_that_demands_that_there_is_none_is_refused_where_one_is(storage: Memory, etag: str, write) -> None:
    answer = write(storage, if_none_match="*")

    assert error_of(answer, 409, "version_conflict")["details"]["etag"] == etag
    assert storage.get("key").json() == {"data": "old"}


def test_a_first_write_may_demand_to_be_the_first(storage: Memory) -> None:
    assert storage.set("key", "text", if_none_match="*").status_code == 200
    assert storage.put("other", b"bytes", if_none_match="*").status_code == 201


@every_write
def test_a_version_does_not_come_back_with_the_value(storage: Memory, etag: str, write) -> None:
    storage.delete("key")
    storage.set("key", "old")

    error_of(write(storage, if_match=etag), 409, "version_conflict")

    assert storage.get("key").json() == {"data": "old"}


@every_write
@pytest.mark.parametrize(
    ("header", "value"), [("if_match", "x"), ("if_match", ""), ("if_none_match", "x"), ("if_none_match", STRANGER)]
)
def test_a_condition_that_means_nothing_is_refused(storage: Memory, etag: str, write, header: str, value: str) -> None:
    error = error_of(write(storage, **{header: value}), 400, "invalid_request")

    assert error["details"] == {"field": header.replace("_", "-").title()}
    assert storage.get("key").headers["ETag"] == etag


async def test_of_500_parallel_writes_exactly_one_wins_each_version(site: Site, storage: Memory) -> None:
    """Each writer reads, and writes on the condition that nothing has changed; the values count the winners."""
    storage.set("key", "0")
    results: list[tuple[str, str | None]] = []
    limits = httpx2.Limits(max_connections=20)
    async with httpx2.AsyncClient(base_url=site.url, headers=storage.http.headers, limits=limits, timeout=60) as http:

        async def write() -> None:
            read = await http.get(storage.url("key"))
            seen, number = read.headers["ETag"], int(read.json()["data"])
            body = {"data": str(number + 1)}
            answer = await http.post(storage.url("key"), json=body, headers={"If-Match": seen})
            assert answer.status_code in (200, 409), answer.text
            results.append((seen, answer.headers["ETag"] if answer.status_code == 200 else None))

        await asyncio.gather(*(write() for _ in range(500)))

    winners = {seen: made for seen, made in results if made}
    assert len(winners) == len([made for _, made in results if made])
    # Every version but the last was replaced by exactly one writer, and every writer saw one that existed.
    assert set(winners) - set(winners.values()) == {min(winners)}
    assert {seen for seen, _ in results} - set(winners) <= {storage.get("key").headers["ETag"]}
    assert storage.get("key").json() == {"data": str(len(winners))}


def test_of_500_parallel_writes_of_one_version_one_wins(site: Site, storage: Memory) -> None:
    etag = storage.set("key", "old").headers["ETag"]

    answers = at_once(storage, ["key"] * 500, if_match=etag)

    assert statuses(answers) == {200: 1, 409: 499}
    winner = next(answer for answer in answers if answer.status_code == 200)
    assert storage.get("key").headers["ETag"] == winner.headers["ETag"]


def test_of_many_first_writes_one_is_the_first(site: Site, storage: Memory) -> None:
    answers = at_once(storage, ["key"] * 60, if_none_match="*")

    assert statuses(answers) == {200: 1, 409: 59}
    assert storage.usage()[0] == 1
