"""What tools are handed: their arguments, checked."""

from collections.abc import Mapping
from typing import Any, Self

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from common.errors import InvalidRequest
from common.handles import split_agent_id
from common.texts import clean_text

AGENTS_SHOWN, AGENTS_MAX = 50, 200


class Arguments(BaseModel):
    """`read` is the only way in: raises InvalidRequest naming the field that is wrong."""

    model_config = ConfigDict(extra="forbid", strict=True)

    @classmethod
    def read(cls, sent: Mapping[str, Any] | None) -> Self:
        try:
            found = cls.model_validate(sent or {})
        except ValidationError as error:
            raise _refusal(error) from None
        found.check()
        return found

    def check(self) -> None:
        """Raises InvalidRequest for what pydantic does not see."""
        for name, value in self:
            _check_storable(name, value)


class Prompted(Arguments):
    """What is said to an agent."""

    prompt: str = Field(description="What the agent is asked, in words.")
    session: str | None = Field(
        None, description="The session to go on in, as an earlier result names it. Without one, a new one begins."
    )

    def check(self) -> None:
        super().check()
        clean_text(self.prompt, field="prompt")


class Delegation(Prompted):
    """The arguments of `delegate_task`."""

    task_type: str = Field(max_length=100, description="The type of the task, for the routing rules; may be empty.")
    agent_id: str | None = Field(
        None,
        description="The agent to ask: owner/handle, or the handle of your own or the site's. Wins over all rules.",
    )
    background: bool = Field(
        False, description="Return at once; agent_status tells how the task goes on and what came of it."
    )
    context: dict[str, Any] | None = Field(
        None, description="Anything the agent is to know beside the prompt, as a JSON object."
    )


class StatusOf(Arguments):
    """The arguments of `agent_status`."""

    task_id: str | None = Field(
        None, description="The task_id of a result. Without one: your latest tasks, and which agents can be asked."
    )


class Listing(Arguments):
    """The arguments of `list_agents`."""

    query: str = Field("", max_length=200, description="Words that stand in the agent's name, handle or description.")
    limit: int = Field(AGENTS_SHOWN, ge=1, le=AGENTS_MAX, description="How many agents at most.")
    after: str = Field("", description="The `next` of the page before.")

    def check(self) -> None:
        super().check()
        check_place(self.after, field="after")


def check_place(agent_id: str, *, field: str) -> None:
    """Raises InvalidRequest unless this is empty, or names the last agent of a page."""
    try:
        if agent_id:
            split_agent_id(agent_id)
    except InvalidRequest:
        raise InvalidRequest(f"{field} must be what the page before gave.", field=field) from None


def _refusal(error: ValidationError) -> InvalidRequest:
    first = error.errors()[0]
    field = ".".join(str(part) for part in first["loc"])
    message = "This argument is missing" if first["type"] == "missing" else first["msg"]
    return InvalidRequest(f"{field}: {message}.", field=field)


def _check_storable(field: str, value: Any) -> None:
    try:
        orjson.dumps(value)
    except orjson.JSONEncodeError:
        raise InvalidRequest(f"{field} is not valid Unicode, or nested too deeply.", field=field) from None
    if isinstance(value, str) and "\0" in value:
        raise InvalidRequest(f"{field} holds a NUL character.", field=field)
