"""Whether agents answer, as the periodic check finds them."""

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from registry.models.agents import Agent


class Liveness(models.Model):
    """The last checks of one agent. An agent without a row has not been checked yet, and counts as healthy."""

    agent = models.OneToOneField(Agent, on_delete=models.CASCADE, primary_key=True, related_name="liveness")
    healthy = models.BooleanField(default=True, help_text="The Router passes over agents that are not.")
    failures = models.PositiveIntegerField(default=0, help_text="In a row.")
    last_alive = models.DateTimeField(null=True, blank=True, help_text="The last proof of life.")
    checked = models.DateTimeField(null=True, blank=True)
    next_check = models.DateTimeField(default=timezone.now)
    error = models.TextField(blank=True, default="", help_text="What the last check met.")

    class Meta:
        verbose_name, verbose_name_plural = _("liveness"), _("liveness")
        indexes = [models.Index(fields=["next_check"], name="next_checks")]

    def __str__(self) -> str:
        return "healthy" if self.healthy else "failing"
