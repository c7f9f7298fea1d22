from django.apps import AppConfig


class SessionsConfig(AppConfig):
    name = "sessions_app"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from accounts.auth import ask_whether_at_work
        from sessions_app.children import is_at_work

        ask_whether_at_work(is_at_work)
