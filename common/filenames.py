"""Names of files that anybody made up, as every system takes them and no reader is misled by them. Pure."""

import re

# What some file system does not take, what ends a line, and what turns the direction of letters: `exe.fdp` is no PDF.
_UNSAFE = re.compile(r'[\x00-\x1f\x7f-\x9f/\\:*?"<>|\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff]+')
_SUFFIX_MAX = 20
# What is kept of one: with its ending, and in every alphabet, it fits the file systems there are.
NAME_MAX = 120


def safe_filename(name: str, *, max_length: int = NAME_MAX) -> str:
    """`name` with at most so many characters, of which its ending is kept; empty where nothing is left of it."""
    clean = " ".join(_UNSAFE.sub(" ", name).split()).strip(". ")
    if len(clean) <= max_length:
        return clean
    stem, dot, suffix = clean.rpartition(".")
    if not stem or not suffix.isalnum() or len(suffix) > _SUFFIX_MAX:
        stem, dot, suffix = clean, "", ""
    return stem[: max_length - len(dot + suffix)].rstrip(". ") + dot + suffix
