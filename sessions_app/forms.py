"""What a person fills in to begin a session."""

from typing import Any

from django import forms
from django.conf import settings

from accounts.models import User
from common.errors import FixieError
from common.handles import split_agent_id
from registry.access import agent_for
from registry.health import health_of
from registry.models import Agent

# A longer list would be no help; any other agent is asked with @owner/handle.
AGENTS_MAX = 200
FIXIE_CHOOSES = ("", "Fixie chooses")


class NewSession(forms.Form):
    """A front agent that `user` sees, and the first question, which may be left for later."""

    agent = forms.CharField(required=False, max_length=101, widget=forms.Select)
    text = forms.CharField(
        label="Your question",
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 2, "placeholder": "Ask something", "dir": "auto"}),
    )

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user
        widget = self.fields["agent"].widget
        assert isinstance(widget, forms.Select)
        widget.choices = choices = _choices(user)
        if choices and choices[0] == FIXIE_CHOOSES:
            self.fields["text"].widget.attrs["placeholder"] = "Ask anything. Fixie finds the agent that can help."

    def clean_agent(self) -> Agent | None:
        """The front agent; None lets the site's default agent choose."""
        if not self.cleaned_data["agent"]:
            return None
        try:
            return agent_for(self.user, *split_agent_id(self.cleaned_data["agent"]))
        except FixieError as error:
            raise forms.ValidationError(error.message) from None


def _choices(user: User) -> list[tuple[str, str]]:
    """The site's default agent first, which chooses among the others; without it one of them has to be named."""
    visible = Agent.objects.visible_to(user).select_related("owner", "liveness")
    owner, handle = split_agent_id(settings.DEFAULT_AGENT)
    default = visible.filter(owner__handle=owner, handle=handle)
    others = visible.exclude(pk__in=default).order_by("name", "pk")[:AGENTS_MAX]
    agents = [(agent.agent_id, _label(agent)) for agent in others]
    return [FIXIE_CHOOSES, *agents] if default.exists() else agents


def _label(agent: Agent) -> str:
    label = f"{agent.name} ({agent.agent_id})" if agent.name else agent.agent_id
    return label if health_of(agent, mine=False).healthy else f"{label}, not answering"
