"""How the admin looks (django-unfold); what its sidebar leads to is in `admin_navigation`."""

from typing import Any

UNFOLD: dict[str, Any] = {
    "SITE_TITLE": "Fixie",
    "SITE_HEADER": "Fixie",
    "SITE_URL": "/",
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": "/static/img/icon.svg"}],
    "STYLES": ["/static/css/admin.css"],
    "SCRIPTS": ["/static/js/admin-forms.js"],
    "DASHBOARD_CALLBACK": "fixie_site.dashboard.for_index",
    "SIDEBAR": {
        "show_search": True,
        "show_all_applications": True,
        "navigation": "fixie_site.admin_navigation.navigation",
    },
}
