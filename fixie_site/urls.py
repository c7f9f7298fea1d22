"""The site's addresses."""

from django.contrib import admin
from django.urls import include, path, re_path
from django.views.generic import RedirectView

from accounts import views as accounts_views
from bridges.agentscope import urls as agentscope
from embeds import views as embeds_views
from fixie_site import acting, dashboard, health, preferences
from fixie_site.answers import with_errors
from fixie_site.api import api, unknown_address
from fixie_site.graphql_http import graphql
from registry import views as registry_views
from registry.usage import views as usage_views
from sessions_app import views as sessions_views
from sessions_app.account import views as account_views
from sessions_app.playground import views as playground_views
from sessions_app.sharing import views as shared_views
from sessions_app.sidebar import views as listing_views
from storage_kv import views as storage_views

urlpatterns = [
    path("", sessions_views.home, name="home"),
    path("sessions/new", sessions_views.new_session, name="new_session"),
    path("sessions/<slug:handle>", sessions_views.session, name="session"),
    path("sessions/<slug:handle>/delete", listing_views.delete_session, name="delete_session"),
    path("sessions/<slug:handle>/restore", listing_views.restore_session, name="restore_session"),
    re_path(
        r"^sessions/(?P<handle>[-\w]+)/export\.(?P<kind>md|json)$", shared_views.export_session, name="export_session"
    ),
    path("shared/<str:token>", shared_views.shared, name="shared"),
    path("shared/<str:token>/messages", shared_views.shared_messages, name="shared_messages"),
    path("shared/<str:token>/continue", shared_views.continue_shared, name="continue_shared"),
    path("account/links", shared_views.shared_links, name="shared_links"),
    path("account/links/<slug:handle>/revoke", shared_views.revoke_link, name="revoke_link"),
    *agentscope.routes(with_errors),
    path("agents", registry_views.agents, name="agents"),
    path("agents/new", registry_views.new_agent, name="new_agent"),
    path("agents/<slug:owner>/<slug:handle>", registry_views.agent, name="agent"),
    path("agents/<slug:owner>/<slug:handle>/details", registry_views.change_details, name="change_details"),
    path("agents/<slug:owner>/<slug:handle>/address", registry_views.change_address, name="change_address"),
    path("agents/<slug:owner>/<slug:handle>/read", registry_views.read_again, name="read_again"),
    path("agents/<slug:owner>/<slug:handle>/delete", registry_views.delete, name="delete_agent"),
    path(
        "agents/<slug:owner>/<slug:handle>/revisions/<int:revision>/current",
        registry_views.make_current,
        name="make_current",
    ),
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
    path("agents/<slug:owner>/<slug:handle>/storage", storage_views.storage, name="agent_storage"),
    path("agents/<slug:owner>/<slug:handle>/storage/value", storage_views.value, name="storage_value"),
    path("agents/<slug:owner>/<slug:handle>/storage/download", storage_views.download, name="download_value"),
    path("agents/<slug:owner>/<slug:handle>/storage/delete", storage_views.delete_value, name="delete_value"),
    path("agents/<slug:owner>/<slug:handle>/storage/forget", storage_views.forget, name="forget_storage"),
    path("agents/<slug:owner>/<slug:handle>/playground", playground_views.playground, name="playground"),
    path("account/storage", storage_views.storages, name="storages"),
    path("account", accounts_views.account, name="account"),
    path("account/usage", usage_views.account_usage, name="account_usage"),
    path("account/usage.csv", usage_views.usage_file, name="usage_file"),
    path("account/export", account_views.export_data, name="export_data"),
    path("account/delete", account_views.delete_account, name="delete_account"),
    path("account/deleted", account_views.account_deleted, name="account_deleted"),
    path("account/organizations", accounts_views.organizations, name="account_organizations"),
    path("account/organizations/<slug:handle>", accounts_views.organization, name="account_organization"),
    path("account/organizations/<slug:handle>/member", accounts_views.set_member, name="account_organization_member"),
    path(
        "account/organizations/<slug:handle>/removal",
        accounts_views.remove_member,
        name="account_organization_removal",
    ),
    path(
        "account/organizations/<slug:handle>/deletion",
        accounts_views.delete_organization,
        name="account_organization_deletion",
    ),
    path("accounts/keys", accounts_views.api_keys, name="api_keys"),
    path("accounts/keys/<int:key>/revoke", accounts_views.revoke_api_key, name="revoke_api_key"),
    path("accounts/", include("allauth.urls")),
    # Where the published `fixie` package sends people and their browsers.
    path("profile", RedirectView.as_view(pattern_name="api_keys"), name="profile"),
    path("authorize", accounts_views.authorize, name="authorize"),
    path("access/token", accounts_views.token, name="access_token"),
    path("oauth", registry_views.oauth_return, name="oauth_return"),
    path("acting/end", acting.end_acting, name="end_acting"),
    path("preferences", preferences.change, name="preferences"),
    path("texts/<slug:language>.js", preferences.texts, name="texts"),
    path("admin/dashboard", admin.site.admin_view(dashboard.fragment), name="dashboard"),
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
