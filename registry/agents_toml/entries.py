"""What the file may hold: its tables, their keys, and what each may be."""

import re
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar, cast

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from common.errors import FixieError
from common.handles import HANDLE, RULE, split_agent_name
from registry.fields import CAPABILITY_MAX, INT_MAX, ManagedFields, check_fields, check_text
from registry.models.routing import KEYWORD_MAX
from registry.transports.stdio_jsonrpc.options import CommandLine

AGENTS_OF_A_RULE_MAX = 100
KEYWORDS_MAX = 1000
# What a file may say of a program beside its command, by the names of `CommandLine`.
PROGRAM = ("args", "processes", "start_seconds", "call_seconds", "idle_seconds", "memory_mb", "open_files")
# What it may say of an agent that the registry knows by the same name.
FIELDS = ("name", "description", "queries", "published", "enabled", "capabilities", "priority")

Value = TypeVar("Value")


class Table(BaseModel):
    """A table of the file: the keys it may have, no others, and no texts for numbers."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
    # What stands for keys that it must have, where they are missing or wrong.
    blanks: ClassVar[dict[str, Any]] = {}

    @classmethod
    def of_what_is_right(cls, row: dict[str, Any], wrong: set[str]) -> Self:
        """The table without the keys that are wrong: to look for further problems in, and for nothing else."""
        right = {key: value for key, value in row.items() if key not in wrong}
        return cls.model_construct(**{**cls.blanks, **right})


def _handle(value: str) -> str:
    if HANDLE.fullmatch(value):
        return value
    near = re.sub(r"[^A-Za-z0-9_-]+", "-", value).strip("-_")[:50]
    hint = f"; {near} could be" if near else ""
    raise ValueError(f"id {value[:100]!r} cannot be an agent's handle ({RULE}){hint}")


def _agent_name(value: str) -> str:
    try:
        split_agent_name(value)
    except FixieError:
        raise ValueError(f"{value[:100]!r} names no agent: its id, or owner/handle") from None
    return value


def _keyword(value: str) -> str:
    if not value.strip():
        raise ValueError("a keyword may not be empty: it would be in every query")
    return _stored(value, "a keyword", KEYWORD_MAX)


def _task_type(value: str) -> str:
    return _stored(value, "task_type", CAPABILITY_MAX)


def _stored(value: str, name: str, limit: int) -> str:
    try:
        return check_text(value, field=name, limit=limit)
    except FixieError as error:
        raise ValueError(error.message) from None


class RateLimit(Table):
    """Of all users together; what is not there has no limit."""

    requests_per_minute: int | None = Field(default=None, ge=0, le=INT_MAX)
    requests_per_day: int | None = Field(default=None, ge=0, le=INT_MAX)


class AgentEntry(Table):
    """`[[agents]]`. What may be None stays as it is where the file does not say it; the rest has its default then."""

    blanks = {"id": "", "command": ""}

    id: Annotated[str, AfterValidator(_handle)]
    name: str | None = None
    type: Literal["cli"] = "cli"
    command: str
    args: list[str] = []
    env: dict[str, str] | None = None
    cwd: str = ""
    rate_limit: RateLimit = RateLimit()
    capabilities: list[str] = []
    priority: int = 0
    enabled: bool = True
    published: bool | None = None
    description: str | None = None
    queries: list[str] | None = None
    processes: int | None = None
    start_seconds: float | None = None
    call_seconds: float | None = None
    idle_seconds: float | None = None
    memory_mb: int | None = None
    open_files: int | None = None

    @field_validator(*FIELDS)
    @classmethod
    def _is_stored(cls, value: Value, info: ValidationInfo) -> Value:
        try:
            check_fields({info.field_name: value})  # type: ignore[misc]  # the name is one of `FIELDS`
        except FixieError as error:
            raise ValueError(error.message) from None
        return value

    @field_validator("command", "env", *PROGRAM)
    @classmethod
    def _can_be_run(cls, value: Value, info: ValidationInfo) -> Value:
        try:
            CommandLine.from_options({"command": "program", str(info.field_name): value})
        except FixieError as error:
            raise ValueError(error.message) from None
        return value

    def fields(self) -> ManagedFields:
        """What the file says of the agent itself."""
        said = {name: getattr(self, name) for name in FIELDS if getattr(self, name) is not None}
        return cast(
            ManagedFields,
            {
                **said,
                "minute_query_limit": self.rate_limit.requests_per_minute,
                "daily_query_limit": self.rate_limit.requests_per_day,
            },
        )


class RuleEntry(Table):
    """`[[routing.rules]]`. Without keywords it decides about every query of its task type."""

    blanks = {"preferred_agents": ()}

    task_type: Annotated[str, AfterValidator(_task_type)] = ""
    keywords: list[Annotated[str, AfterValidator(_keyword)]] = Field([], max_length=KEYWORDS_MAX)
    preferred_agents: list[Annotated[str, AfterValidator(_agent_name)]] = Field(max_length=AGENTS_OF_A_RULE_MAX)
    priority: int = Field(0, ge=-INT_MAX, le=INT_MAX)
    enabled: bool = True


class Routing(Table):
    """`[routing]`. Its rules are read one by one."""

    rules: list[Any] = []


class Document(Table):
    """The whole file. Its agents are read one by one."""

    agents: list[Any] = []
    routing: Routing = Routing()
