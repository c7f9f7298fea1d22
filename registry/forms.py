"""What people fill in about an agent."""

from typing import Any

from django import forms

from common.errors import FixieError
from registry.fields import check_queries
from registry.models import Agent, Revision

FOUND_BY = "One question a line. With these and its few-shots the Router finds it."
CHECKED_BY = "Where the agent has no manifest, the first one is asked once an hour to see whether it answers."


class LinesField(forms.CharField):
    """A list of texts, one a line."""

    def prepare_value(self, value: Any) -> Any:
        """A text that came with line breaks is shown on one line."""
        return "\n".join(" ".join(text.split()) for text in value) if isinstance(value, list) else value

    def to_python(self, value: Any) -> Any:
        lines = (super().to_python(value) or "").splitlines()
        return [line.strip() for line in lines if line.strip()]

    def has_changed(self, initial: Any, data: Any) -> bool:
        return bool(self.to_python(self.prepare_value(initial)) != self.to_python(data))


class QueriesField(LinesField):
    """What an agent can be asked, as its owner gives it."""

    def __init__(self, **options: Any) -> None:
        super().__init__(label="What can it be asked?", required=False, **{"widget": forms.Textarea, **options})

    def clean(self, value: Any) -> Any:
        queries = super().clean(value)
        try:
            check_queries(queries)
        except FixieError as error:
            raise forms.ValidationError(error.message) from None
        return queries


class Queries(forms.Form):
    queries = QueriesField(
        widget=forms.Textarea(attrs={"rows": 6, "dir": "auto"}),
        help_text=FOUND_BY,
    )

    def __init__(self, *args: Any, agent: Agent, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        revision = agent.current_revision
        # Whether others answer is not looked after.
        if revision is not None and revision.deployment == Revision.Deployment.EXTERNAL:
            self.fields["queries"].help_text = f"{FOUND_BY} {CHECKED_BY}"
