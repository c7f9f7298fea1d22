"""The site's addresses."""

from django.contrib import admin
from django.urls import include, path, re_path

from accounts import views as accounts_views
from fixie_site import health
from fixie_site.api import api, unknown_address
from sessions_app import views as sessions_views

urlpatterns = [
    path("", sessions_views.home, name="home"),
    path("sessions/new", sessions_views.new_session, name="new_session"),
    path("sessions/<slug:handle>", sessions_views.session, name="session"),
    path("sessions/<slug:handle>/delete", sessions_views.delete_session, name="delete_session"),
    path("accounts/", include("allauth.urls")),
    path("admin/", admin.site.urls),
    path("api/", api.urls),
    re_path("^api/", unknown_address),
    path(".well-known/jwks.json", accounts_views.jwks, name="jwks"),
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
]
