"""The bridge's addresses: the site's, and the same below each agent."""

from collections.abc import Callable
from typing import Any

from django.urls import URLPattern, URLResolver, include, path

from bridges.agentscope import views

View = Callable[..., Any]


def routes(answered: Callable[[View], View]) -> list[URLPattern | URLResolver]:
    """All of them; `answered` makes answers of the errors that a view raises."""
    below = [
        path("process", answered(views.process), name="process"),
        path("process/task", answered(views.submit), name="process_task"),
        path("process/task/<str:task_id>", answered(views.task), name="process_task_status"),
        path("process/<str:response_id>", answered(views.resume), name="process_response"),
    ]
    return [path("", include(below)), path("agents/<str:owner>/<str:handle>/", include(below))]
