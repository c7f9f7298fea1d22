"""What the administrator's page of an agent shows beside the form: health, usage, index, corpora, its program's log."""

from dataclasses import dataclass

from django.http import HttpRequest

from accounts.admin.user_panels import last_days, usage_chart
from accounts.asking import operator
from common.charts import Chart
from registry.agent_log import log_of
from registry.corpora.state import CorpusState, corpora_of
from registry.liveness.health import Health, health_of
from registry.models import Agent, AgentIndex, AgentLog, Liveness
from registry.usage.figures import days_of


@dataclass(frozen=True, slots=True)
class AgentPanels:
    """`checks` is None for an agent that was never checked; `log` for who may not read it, and where there is none."""

    health: Health
    checks: Liveness | None
    usage: Chart
    index: AgentIndex | None
    corpora: list[CorpusState]
    log: list[AgentLog] | None

    @property
    def legend(self) -> list[tuple[str, str]]:
        """Names and colours, for `admin/dashboard/chart.html`."""
        return [(label, "first") for label in self.usage.labels]


def panels_of(agent: Agent, request: HttpRequest) -> AgentPanels:
    """All of them; the agent comes with its liveness."""
    days = last_days()
    asked = {row["day"]: row["queries"] for row in days_of(agent, days[0], days[-1])}
    may_read = operator(request).has_perm("registry.view_agentlog")
    return AgentPanels(
        health=health_of(agent, mine=True),
        checks=getattr(agent, "liveness", None),
        usage=usage_chart(asked),
        index=AgentIndex.objects.filter(agent=agent).first(),
        corpora=corpora_of(agent),
        log=list(log_of(agent)) or None if may_read else None,
    )
