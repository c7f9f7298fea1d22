"""The site's addresses."""

from django.contrib import admin
from django.urls import include, path, re_path
from django.views.generic import RedirectView

from accounts import views as accounts_views
from bridges.agentscope import urls as agentscope
from embeds import views as embeds_views
from fixie_site import health
from fixie_site.answers import with_errors
from fixie_site.api import api, unknown_address
from fixie_site.graphql_http import graphql
from registry import views as registry_views
from sessions_app import views as sessions_views

urlpatterns = [
    path("", sessions_views.home, name="home"),
    path("sessions/new", sessions_views.new_session, name="new_session"),
    path("sessions/<slug:handle>", sessions_views.session, name="session"),
    path("sessions/<slug:handle>/delete", sessions_views.delete_session, name="delete_session"),
    *agentscope.routes(with_errors),
    path("agents/<slug:owner>/<slug:handle>", registry_views.agent, name="agent"),
    path("agents/<slug:owner>/<slug:handle>/queries", registry_views.change_queries, name="change_queries"),
    path("agents/<slug:owner>/<slug:handle>/switch", registry_views.switch, name="switch_agent"),
    path(
        "agents/<slug:owner>/<slug:handle>/sample-queries/<int:sample>/accept",
        registry_views.accept_correction,
        name="accept_correction",
    ),
    path(
        "agents/<slug:owner>/<slug:handle>/sample-queries/<int:sample>/delete",
        registry_views.delete_correction,
        name="delete_correction",
    ),
    path("agents/<slug:owner>/<slug:handle>/corpora/reindex", registry_views.reindex, name="reindex_corpora"),
    path("accounts/keys", accounts_views.api_keys, name="api_keys"),
    path("accounts/keys/<int:key>/revoke", accounts_views.revoke_api_key, name="revoke_api_key"),
    path("accounts/", include("allauth.urls")),
    # Where the published `fixie` package sends people and their browsers.
    path("profile", RedirectView.as_view(pattern_name="api_keys"), name="profile"),
    path("authorize", accounts_views.authorize, name="authorize"),
    path("access/token", accounts_views.token, name="access_token"),
    path("oauth", registry_views.oauth_return, name="oauth_return"),
    path("admin/", admin.site.urls),
    path("api/openai-proxy/", include("bridges.openai_proxy.urls")),
    path("api/", api.urls),
    re_path("^api/", unknown_address),
    path("attachment/<uuid:embed_id>", with_errors(embeds_views.download), name="attachment"),
    path("attachment/uploads/<uuid:upload_id>", with_errors(embeds_views.upload), name="upload"),
    path("graphql", graphql, name="graphql"),
    path(".well-known/jwks.json", accounts_views.jwks, name="jwks"),
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
]
