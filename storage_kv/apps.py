from django.apps import AppConfig


class StorageConfig(AppConfig):
    name = "storage_kv"
    verbose_name = "User Storage"
    default_auto_field = "django.db.models.BigAutoField"
