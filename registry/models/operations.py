"""What running agents leave behind for the people who keep them: their logs, and what they say of their limits."""

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from registry.models.agents import Agent


class AgentLog(models.Model):
    """Lines that a process of an agent wrote to its stderr. Only the newest of an agent are kept."""

    agent = models.ForeignKey(
        Agent, on_delete=models.CASCADE, related_name="log", db_index=False, verbose_name=_("agent")
    )
    process = models.CharField(_("process"), max_length=100, help_text=_("Which process of which machine wrote them."))
    text = models.TextField(_("text"))
    created = models.DateTimeField(_("created"), db_default=Now(), editable=False)

    class Meta:
        verbose_name, verbose_name_plural = _("agent log"), _("agent logs")
        indexes = [models.Index(fields=["agent", "id"], name="log_of_an_agent")]

    def __str__(self) -> str:
        return self.text[:80]


class ReportedLimits(models.Model):
    """What an agent said last of its own limits (`meta.rate_limit` of the seed `stdio-json-rpc-agents`)."""

    agent = models.OneToOneField(Agent, on_delete=models.CASCADE, primary_key=True, related_name="reported_limits")
    remaining_minute = models.PositiveIntegerField(null=True, blank=True)
    remaining_today = models.PositiveIntegerField(null=True, blank=True)
    reported = models.DateTimeField()

    class Meta:
        verbose_name, verbose_name_plural = _("reported limits"), _("reported limits")

    def __str__(self) -> str:
        return f"{self.remaining_minute} this minute, {self.remaining_today} today"
