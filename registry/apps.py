from django.apps import AppConfig


class RegistryConfig(AppConfig):
    name = "registry"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Has what the programs of agents write to their standard error kept."""
        from registry.agent_log import keep_lines
        from registry.transports.stdio_jsonrpc.logs import keep_logs

        keep_logs(keep_lines)
