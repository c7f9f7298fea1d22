"""The list of agents."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from registry.forms import AgentFilters
from registry.pages.agents import agents_page
from registry.views.loading import reader_of


@require_GET
@never_cache
def agents(request: HttpRequest) -> HttpResponse:
    """The agents that the reader may see, guests too: searched, filtered, a page at a time."""
    reader = reader_of(request)
    form = AgentFilters(request.GET, reader=reader)
    return render(request, "agents/agents.html", {"form": form, "page": agents_page(reader, form.wanted())})
