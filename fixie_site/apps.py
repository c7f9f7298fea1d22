from django.apps import AppConfig


class FixieSiteConfig(AppConfig):
    name = "fixie_site"
    default_auto_field = "django.db.models.BigAutoField"
