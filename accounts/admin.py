"""The administrator's view of people, organizations, keys and credits, and the audit log, a module each."""

from django.contrib import admin
from oauth2_provider.models import AccessToken, Grant, IDToken, RefreshToken

from accounts import audit_admin, credit_admin, key_admin, organization_admin, user_admin

# Django looks for admins in this module alone.
__all__ = ["audit_admin", "credit_admin", "key_admin", "organization_admin", "user_admin"]

# Of django-oauth-toolkit only programs are of interest (`application_admin`): no tokens are kept, codes for a minute.
admin.site.unregister((AccessToken, Grant, IDToken, RefreshToken))
