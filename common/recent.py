"""What was used last, kept in this process's memory."""

from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(Generic[K, V]):
    """The values used last, by their keys: never more than `size`, and never fewer than half of it once there were.

    Two generations instead of a list in order: when the young one has filled its half, the old one goes. Any thread may
    use it: each step is one of a dictionary, and a race costs no more than a value that is forgotten early.
    """

    def __init__(self, size: int) -> None:
        self._half = max(1, size // 2)
        self._young: dict[K, V] = {}
        self._old: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        value = self._young.get(key)
        if value is None:
            value = self._old.get(key)
            if value is not None:
                self.put(key, value)
        return value

    def put(self, key: K, value: V) -> None:
        if len(self._young) >= self._half:
            self._young, self._old = {}, self._young
        self._young[key] = value

    def forget(self, key: K) -> None:
        self._young.pop(key, None)
        self._old.pop(key, None)
