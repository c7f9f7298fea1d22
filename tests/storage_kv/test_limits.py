"""The limits of a value, of all that is kept, and of calls: exact, named, and nothing is written beyond them."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta

import httpx2
import pytest
from django.db.models import F

from accounts.models import User
from accounts.tokens import verify_call_token
from tests.sites import Site, running_site
from tests.storage_kv.conftest import SITE_URL, SMALL
from tests.storage_kv.memories import Memory, at_once, error_of, memory, statuses

KEYS, BYTES, VALUE, CALLS = 10, 2000, 500, 60
WRITES = {
    "POST": lambda storage, key, size: storage.set(key, "x" * size),
    "PUT": lambda storage, key, size: storage.put(key, b"x" * size),
}
every_write = pytest.mark.parametrize("write", WRITES.values(), ids=WRITES.keys())


@every_write
def test_a_value_may_have_so_many_bytes_and_no_more(small: Memory, write) -> None:
    assert write(small, "key", VALUE).is_success

    error = error_of(write(small, "key", VALUE + 1), 413, "payload_too_large")

    assert error["details"]["limit"] == VALUE
    assert small.usage() == (1, VALUE)
    assert len(small.get("key", accept="application/octet-stream").content) == VALUE


def test_a_text_counts_in_utf_8_however_its_json_is_written(small: Memory) -> None:
    escaped = b'{"data": "%s"}' % (b"\\u0001" * VALUE)
    assert small.http.post(small.url("key"), content=escaped).status_code == 200

    error_of(small.set("key", "ä" * (VALUE // 2 + 1)), 413, "payload_too_large")
    assert small.set("key", "ä" * (VALUE // 2)).status_code == 200


def test_the_default_limit_is_a_mebibyte_however_its_json_is_written(storage: Memory) -> None:
    text = "\x01" * 2**20
    body = b'{"data": "%s"}' % (b"\\u0001" * 2**20)

    assert storage.http.post(storage.url("key"), content=body).status_code == 200
    assert storage.get("key").json() == {"data": text}
    assert storage.put("key", text.encode()).status_code == 200
    assert error_of(storage.put("key", text.encode() + b"x"), 413, "payload_too_large")["details"]["limit"] == 2**20


def test_a_body_that_goes_on_and_on_is_refused(small: Memory) -> None:
    def endless() -> Iterator[bytes]:
        for _ in range(50):
            yield b"x" * 1000

    for method in ("POST", "PUT"):
        answer = small.http.request(method, small.url("key"), content=endless())
        error_of(answer, 413, "payload_too_large")
    assert small.usage() == (0, 0)


def test_a_body_announced_too_large_is_refused_before_it_is_sent(small: Memory) -> None:
    async def announce() -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", small.http.base_url.port)
        head = f"PUT {small.url('key')} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {small.token}\r\n"
        writer.write(f"{head}Content-Length: {2 * 2**30}\r\n\r\n".encode())
        answer = await asyncio.wait_for(reader.read(1000), 5)
        writer.close()
        return answer

    assert asyncio.run(announce()).startswith(b"HTTP/1.1 413 ")


@every_write
def test_there_may_be_so_many_keys_and_no_more(small: Memory, write) -> None:
    for number in range(KEYS):
        assert write(small, f"key {number}", 1).is_success

    error = error_of(write(small, "one more", 1), 413, "payload_too_large")

    assert error["details"] == {"field": "key", "limit": KEYS}
    assert write(small, "key 0", 2).is_success
    assert small.usage() == (KEYS, KEYS + 1)
    small.delete("key 0")
    assert write(small, "one more", 1).is_success


@every_write
def test_all_values_together_may_have_so_many_bytes_and_no_more(small: Memory, write) -> None:
    for number in range(4):
        assert write(small, f"key {number}", VALUE).is_success

    error = error_of(write(small, "one more", 1), 413, "payload_too_large")

    assert error["details"] == {"field": "data", "limit": BYTES}
    assert write(small, "nothing", 0).is_success
    assert write(small, "key 0", VALUE).is_success
    assert write(small, "key 0", VALUE - 1).is_success
    error_of(write(small, "key 1", VALUE + 1), 413, "payload_too_large")
    assert write(small, "one more", 1).is_success
    assert small.usage() == (6, BYTES)


def test_what_is_too_much_after_a_limit_was_lowered_may_still_shrink(storage: Memory, small_site: Site) -> None:
    for number in range(12):
        storage.set(f"key {number:02}", "x" * 1000)
    lowered = Memory(storage.agent, small_site.client(storage.token))

    assert lowered.set("key 00", "x" * 400).status_code == 200
    error_of(lowered.set("key 00", "x" * 401), 413, "payload_too_large")
    assert lowered.delete("key 01").status_code == 204
    assert len(lowered.keys()) == KEYS
    link = lowered.http.get(lowered.base).links["next"]["url"]
    assert [entry["key"] for entry in lowered.http.get(link).json()] == ["key 11"]


def test_of_many_new_keys_at_once_only_so_many_are_made(small: Memory) -> None:
    answers = at_once(small, [f"key {number}" for number in range(40)])

    assert statuses(answers) == {200: KEYS, 413: 30}
    assert {a.json()["error"]["details"]["field"] for a in answers if a.status_code == 413} == {"key"}
    assert small.usage() == (KEYS, 0)


def test_of_many_bytes_at_once_only_so_many_are_kept(small: Memory) -> None:
    answers = at_once(small, [f"key {number % 8}" for number in range(40)], value="x" * VALUE)

    assert set(statuses(answers)) == {200, 413}
    assert {a.json()["error"]["details"]["field"] for a in answers if a.status_code == 413} == {"data"}
    assert small.usage() == (4, BYTES)


def test_the_count_stays_exact_while_all_kinds_of_writes_meet(storage: Memory, api_key) -> None:
    """Of the agent, and of the user, who deletes keys and everything meanwhile."""
    user = {"Authorization": f"Bearer {api_key(User.objects.get(pk=verify_call_token(storage.token).user_id))}"}

    async def mix() -> Counter[int]:
        limits = httpx2.Limits(max_connections=20)
        options = {"base_url": storage.http.base_url, "headers": storage.http.headers, "limits": limits, "timeout": 60}
        async with httpx2.AsyncClient(**options) as http:
            sets = [http.post(storage.url(f"{n % 4}"), json={"data": "x" * n}) for n in range(100)]
            puts = [http.put(storage.url(f"{n % 3}"), content=b"x" * n) for n in range(60)]
            deletions = [http.delete(storage.url(f"{n % 4}")) for n in range(60)]
            users = [http.delete(storage.url(f"{n % 4}"), headers=user) for n in range(30)]
            users += [http.delete(storage.base, headers=user) for _ in range(10)]
            calls = [*sets, *puts, *deletions, *users]
            random.Random(1).shuffle(calls)
            return Counter(answer.status_code for answer in await asyncio.gather(*calls))

    assert set(asyncio.run(mix())) <= {200, 201, 204, 404}

    keys, size = storage.usage()
    assert (keys, size) == (len(storage.keys()), sum(entry["size"] for entry in storage.http.get(storage.base).json()))


# Calls


def test_an_agent_may_call_so_often_a_minute_and_no_more(small: Memory) -> None:
    small.set("key", "before")
    for number in range(CALLS - 1):
        method = ("GET", "HEAD", "PUT", "DELETE")[number % 4]
        assert small.http.request(method, small.url("key")).status_code != 429

    for answer in (small.get("key"), small.set("key", "new"), small.delete("key"), small.http.get(small.base)):
        error = error_of(answer, 429, "rate_limited")
        assert error["retryable"]
        assert error["details"]["limit"] == CALLS
        assert int(answer.headers["Retry-After"]) == error["details"]["retry_after"]
        assert 30 < error["details"]["retry_after"] <= 60
    assert small.usage() == (1, 0)


def test_the_next_minute_begins_anew(small: Memory) -> None:
    from storage_kv.models import StorageCalls

    answers = at_once(small, ["key"] * (CALLS + 20))
    assert statuses(answers) == {200: CALLS, 429: 20}
    mine = StorageCalls.objects.order_by("-pk")[:1].values("pk")

    StorageCalls.objects.filter(pk__in=mine).update(began=F("began") - timedelta(seconds=50))
    assert int(small.get("key").headers["Retry-After"]) <= 10
    StorageCalls.objects.filter(pk__in=mine).update(began=F("began") - timedelta(seconds=10))
    assert statuses(at_once(small, ["key"] * (CALLS + 1))) == {200: CALLS, 429: 1}


def test_calls_are_counted_for_each_user_and_agent(small_site, small, new_agent, make_user) -> None:
    at_once(small, ["key"] * CALLS)

    assert small.get("key").status_code == 429
    assert memory(small_site, small.agent, make_user()).set("key", "text").status_code == 200
    assert memory(small_site, new_agent(), make_user()).set("key", "text").status_code == 200


def test_all_processes_count_together(small: Memory) -> None:
    with running_site(SITE_URL=SITE_URL, WORKER_IN_PROCESS="false", **SMALL) as second:

        async def call_both() -> Counter[int]:
            urls = [small.http.base_url, second.url] * CALLS
            async with httpx2.AsyncClient(headers=small.http.headers, timeout=60) as http:
                answers = await asyncio.gather(*(http.put(f"{url}{small.url('key')}") for url in urls))
            return Counter(answer.status_code for answer in answers)

        assert asyncio.run(call_both()) == {200: CALLS - 1, 201: 1, 429: CALLS}


def test_calls_are_counted_where_nothing_waits_for_the_disk() -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT relpersistence FROM pg_class WHERE relname = 'storage_kv_storagecalls'")
        assert cursor.fetchone() == ("u",)


def test_refused_calls_do_not_put_off_the_next_minute(small: Memory) -> None:
    at_once(small, ["key"] * CALLS)
    first = int(small.get("key").headers["Retry-After"])
    time.sleep(1.1)

    assert int(small.get("key").headers["Retry-After"]) < first
