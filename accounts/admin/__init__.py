"""The administrator's view of people, organizations, keys and credits, and the audit log, a module each."""

from django.contrib import admin
from oauth2_provider.models import AccessToken, Grant, IDToken, RefreshToken

from accounts.admin import audit, credits, keys, organizations, users

# Django looks for admins in this folder's name alone.
__all__ = ["audit", "credits", "keys", "organizations", "users"]

# Of django-oauth-toolkit only programs are of interest (`application_admin`): no tokens are kept, codes for a minute.
admin.site.unregister((AccessToken, Grant, IDToken, RefreshToken))
