"""What tools answer, beside their words (`structuredContent`)."""

from typing import Any

from pydantic import BaseModel, Field


class Output(BaseModel):
    def document(self) -> dict[str, Any]:
        """As JSON, without what is not known."""
        return self.model_dump(mode="json", exclude_none=True)


class Task(Output):
    """One query to an agent. `result` is its answer, `error` what went wrong in its place."""

    task_id: str
    agent_id: str
    session: str = Field(description="Pass it to go on in this conversation.")
    status: str = Field(description="queued, in_progress, completed, failed or canceled.")
    result: str | None = None
    embeds: dict[str, Any] | None = Field(
        default=None, description="Attachments by the key that `#1` in the result names."
    )
    error: dict[str, Any] | None = None
    created: str | None = None


class AskableAgent(Output):
    agent_id: str
    name: str
    description: str
    capabilities: list[str]
    healthy: bool
    sample_queries: list[str] = Field(description="What it can be asked, for example.")


class AgentPage(Output):
    agents: list[AskableAgent]
    next: str | None = Field(default=None, description="Pass it as `after` for the next page.")


class Availability(Output):
    """`limits` is what is left of the agent's own, for all users together."""

    agent_id: str
    healthy: bool
    limits: dict[str, Any] | None = None


class Overview(Output):
    tasks: list[Task]
    agents: list[Availability]
