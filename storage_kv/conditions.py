"""ETags, and what callers demand by them (RFC 9110, section 13)."""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from django.utils.http import parse_etags

from common.errors import InvalidRequest, VersionConflict
from common.handles import parse_uuid


@dataclass(frozen=True, slots=True)
class Condition:
    """What must be so for a write to happen. `versions` are those of `If-Match`; None demands nothing."""

    versions: list[UUID] | None = None
    must_exist: bool = False
    must_be_new: bool = False

    def holds(self, present: UUID | None) -> bool:
        """Whether it is met by a value of this version, or by no value at all. The same in SQL: `store.WRITE`."""
        return (
            (self.versions is None or present in self.versions)
            and (not self.must_exist or present is not None)
            and (not self.must_be_new or present is None)
        )


def etag_of(version: UUID) -> str:
    return f'"{version.hex}"'


def condition_of(headers: Mapping[str, str]) -> Condition:
    """What the headers of a write demand. Raises InvalidRequest naming the header."""
    must_be_new = "If-None-Match" in headers
    if must_be_new and headers["If-None-Match"].strip() != "*":
        raise InvalidRequest(
            "A write may demand only If-None-Match: *, that there is no value yet.", field="If-None-Match"
        )
    if "If-Match" not in headers:
        return Condition(must_be_new=must_be_new)
    tags = parse_etags(headers["If-Match"])
    if not tags:
        raise InvalidRequest('If-Match must be * or ETags in quotes, such as "0198…".', field="If-Match")
    if tags == ["*"]:
        return Condition(must_exist=True, must_be_new=must_be_new)
    versions = [version for tag in tags if (version := _version_of(tag)) is not None]
    return Condition(versions=versions, must_be_new=must_be_new)


def is_known(headers: Mapping[str, str], etag: str) -> bool:
    """Whether `If-None-Match` says that the reader has this very version."""
    tags = parse_etags(headers.get("If-None-Match", ""))
    return tags == ["*"] or etag in [tag.removeprefix("W/") for tag in tags]


def conflict(present: UUID | None) -> VersionConflict:
    """The refusal of a write whose condition a value of this version (or none) does not meet."""
    if present is None:
        return VersionConflict("There is no value under this key.", field="If-Match", etag=None)
    return VersionConflict("There is another value under this key by now.", etag=etag_of(present))


def _version_of(tag: str) -> UUID | None:
    """The version a strong ETag stands for; None for one that we never gave."""
    version = parse_uuid(tag[1:-1])
    return version if version is not None and etag_of(version) == tag else None
