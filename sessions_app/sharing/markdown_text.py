"""Texts of people and agents inside a Markdown document of ours: none of them ends what it stands in. Pure."""

import re

_FENCES = re.compile(r"`{3,}|~{3,}")
# At the very edge of a line a fence belongs to no list and no quotation, so that it is known where it ends.
_FENCE = re.compile(r"(?P<fence>`{3,}|~{3,})(?P<info>.*)")
_HTML = re.compile(r"<(?=[A-Za-z/!?])")
_HEADING = re.compile(r"^ {0,3}(?=#{1,4}(\s|$))")
_UNDERLINE = re.compile(r"^( {0,3})(?=(=+|-+)\s*$)")


def contained(text: str) -> str:
    """`text` as Markdown that starts no HTML and leaves nothing open, its headings two levels further down.

    Where its code could reach further than can be told, all of it is quoted.
    """
    lines = text.splitlines()
    if any(_FENCES.search(line) and not _FENCE.fullmatch(line) for line in lines):
        return quoted(text)
    fence = ""
    for number, line in enumerate(lines):
        match = _FENCE.fullmatch(line)
        if fence:
            fence = "" if match and _closes(match, fence) else fence
        elif match and not (match["fence"][0] == "`" and "`" in match["info"]):
            fence = match["fence"]
        else:
            lines[number] = _UNDERLINE.sub(r"\1\\", _HEADING.sub("##", _without_html(line)))
    return "\n".join([*lines, fence] if fence else lines)


def _closes(match: re.Match[str], fence: str) -> bool:
    return match["fence"].startswith(fence) and not match["info"].strip()


def quoted(text: str) -> str:
    """`text` as a quotation, which ends whatever was begun in it."""
    return "\n".join(f"> {_without_html(line)}".rstrip() for line in text.splitlines())


def fenced(text: str) -> str:
    """`text` letter by letter."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"


def line_of(text: str) -> str:
    """`text` as a part of one line, without markup."""
    return re.sub(r"([\\`*_\[\]#|~])", r"\\\1", _without_html(" ".join(text.split())))


def _without_html(line: str) -> str:
    return _HTML.sub("&lt;", line)
