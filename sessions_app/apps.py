from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class SessionsConfig(AppConfig):
    name = "sessions_app"
    verbose_name = _("Conversations")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from accounts.auth import ask_whether_at_work
        from accounts.operating import delete_accounts_by
        from sessions_app.account.deletion import delete_account
        from sessions_app.children import is_at_work

        ask_whether_at_work(is_at_work)
        delete_accounts_by(delete_account)
