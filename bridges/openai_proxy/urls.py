"""The proxy's addresses. OpenAI's client is pointed at what stands before `chat/completions`."""

from django.urls import re_path

from bridges.openai_proxy.views import proxy

# Whatever stands below it, line breaks too, is answered in OpenAI's form.
urlpatterns = [re_path(r"^v1/(?P<path>[\s\S]*)$", proxy, name="openai_proxy")]
