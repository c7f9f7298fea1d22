from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class RegistryConfig(AppConfig):
    name = "registry"
    verbose_name = _("Agents")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Has what the programs of agents write to their standard error kept."""
        from registry.agent_log import keep_lines
        from registry.transports.stdio_jsonrpc.logs import keep_logs

        keep_logs(keep_lines)
