from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class StorageConfig(AppConfig):
    name = "storage_kv"
    verbose_name = _("User Storage")
    default_auto_field = "django.db.models.BigAutoField"
