"""What is kept of what was used last."""

import sys
from concurrent.futures import ThreadPoolExecutor
from random import Random
from weakref import WeakSet

import pytest

from common.recent import Recent


class Value:
    """Something of which it shows whether anybody still holds it."""

    def __init__(self, key: int) -> None:
        self.key = key


@pytest.mark.parametrize("size", [2, 3, 10, 101])
def test_never_more_than_the_size_is_kept_and_never_less_than_half_of_it(size):
    recent: Recent[int, Value] = Recent(size)
    alive: WeakSet[Value] = WeakSet()
    for key in range(5 * size):
        value = Value(key)
        alive.add(value)
        recent.put(key, value)
        del value
        assert min(key + 1, size // 2) <= len(alive) <= size
    for key in range(5 * size - size // 2, 5 * size):
        found = recent.get(key)
        assert found is not None
        assert found.key == key
    assert recent.get(0) is None


def test_what_is_used_stays_however_much_comes():
    recent: Recent[str, int] = Recent(10)
    recent.put("used", 1)
    for number in range(1000):
        recent.put(f"other {number}", number)
        assert number % 4 or recent.get("used") == 1
    assert recent.get("used") == 1


def test_the_newest_value_of_a_key_counts_and_a_forgotten_one_does_not_come_back():
    recent: Recent[str, int] = Recent(4)
    for number in range(3):
        recent.put("key", number)
        recent.put(f"other {number}", number)
        assert recent.get("key") == number
    recent.forget("key")
    recent.forget("never there")
    assert recent.get("key") is None


def test_any_thread_may_use_it():
    recent: Recent[int, Value] = Recent(8)
    alive: WeakSet[Value] = WeakSet()
    threads = 6

    def use(seed: int) -> None:
        random = Random(seed)
        for _ in range(5000):
            key = random.randrange(40)
            found = recent.get(key)
            assert found is None or found.key == key
            if found is None:
                value = Value(key)
                alive.add(value)
                recent.put(key, value)
            elif random.random() < 0.2:
                recent.forget(key)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(use, range(threads)))
    finally:
        sys.setswitchinterval(interval)
    assert len(alive) <= 8 + threads
