"""At which line of a TOML document each of its values stands. `tomllib` does not tell."""

import re
import tomllib
from bisect import bisect_right

# What leads to a value: keys of tables, and the places of entries in lists.
Place = tuple[str | int, ...]

_SKIPPED = re.compile(r"(?:[ \t\n]|#[^\n]*)*")
# Three quotes, of which two more may stand at the end of the text itself.
_TEXT = r'"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\])*"|\'[^\']*\''
_PART = rf"(?:{_TEXT}|[A-Za-z0-9_-]+)"
_KEY = re.compile(rf"{_PART}(?:[ \t]*\.[ \t]*{_PART})*", re.DOTALL)
_SCALAR = re.compile(rf"{_TEXT}|[^,\]}}#\n]+", re.DOTALL)


class Lines:
    """The lines of a document that `tomllib` has read; both make the same line breaks of `\\r\\n`."""

    def __init__(self, text: str) -> None:
        self._lines = _Scanner(text.replace("\r\n", "\n")).lines

    def at(self, path: Place) -> int:
        """The line, from 1, where `path` stands: its key, its header or its entry of a list.

        What is not there is at the line of the nearest table or list around it; 1 for the document.
        """
        while path and path not in self._lines:
            path = path[:-1]
        return self._lines.get(path, 1)


class _Scanner:
    """Walks once through a document that is known to be TOML."""

    def __init__(self, text: str) -> None:
        self.lines: dict[Place, int] = {}
        self._text = text
        self._at = 0
        self._begins = [0, *(found.end() for found in re.finditer("\n", text))]
        self._tables: dict[Place, int] = {}
        table: Place = ()
        while self._next():
            if self._next() == "[":
                table = self._header()
            else:
                self._pair(table)

    def _next(self) -> str:
        """The character that comes next, beyond spaces, line breaks and comments; empty at the end."""
        self._take(_SKIPPED)
        return self._text[self._at : self._at + 1]

    def _take(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self._text, self._at)
        assert found is not None
        self._at = found.end()
        return found[0]

    def _skip(self, character: str) -> bool:
        skipped = self._next() == character
        self._at += skipped
        return skipped

    def _note(self, path: Place, at: int) -> None:
        """Tables that only the names of others imply stand where these do."""
        line = bisect_right(self._begins, at)
        for end in range(1, len(path) + 1):
            self.lines.setdefault(path[:end], line)

    def _key(self) -> Place:
        parts: Place = ()
        inner = tomllib.loads(f"{self._take(_KEY)} = {{}}")
        while inner:
            part, inner = inner.popitem()
            parts += (part,)
        return parts

    def _header(self) -> Place:
        """`[table]` or `[[table]]`; what follows is in the last table of the lists that it names."""
        begin = self._at
        self._skip("[")
        is_list = self._skip("[")
        self._next()
        *parents, last = self._key()
        path: Place = ()
        for part in parents:
            path = self._newest((*path, part))
        path = (*path, last)
        if is_list:
            self._tables[path] = self._tables.get(path, -1) + 1
        path = self._newest(path)
        self._note(path, begin)
        while self._skip("]"):
            pass
        return path

    def _newest(self, path: Place) -> Place:
        return (*path, self._tables[path]) if path in self._tables else path

    def _pair(self, table: Place) -> None:
        begin = self._at
        path = table + self._key()
        self._note(path, begin)
        self._skip("=")
        self._value(path)

    def _value(self, path: Place) -> None:
        if self._skip("["):
            self._entries(path)
        elif self._skip("{"):
            while not self._skip("}"):
                self._pair(path)
                self._skip(",")
        else:
            self._take(_SCALAR)

    def _entries(self, path: Place) -> None:
        place = 0
        while not self._skip("]"):
            self._note((*path, place), self._at)
            self._value((*path, place))
            place += 1
            self._skip(",")
