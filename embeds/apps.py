from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class EmbedsConfig(AppConfig):
    name = "embeds"
    verbose_name = _("Embeds")
    default_auto_field = "django.db.models.BigAutoField"
