"""How much each agent keeps about whom, for administrators. What it is, is not theirs to see."""

from django.contrib import admin
from django.db.models import Sum
from django.template.defaultfilters import filesizeformat
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import AutocompleteSelectFilter

from accounts.admin.user_panels import Fact, tell_of_users
from accounts.admin_parts import UntouchableAdmin
from accounts.models import User
from storage_kv.models import StorageUsage


@admin.register(StorageUsage)
class StorageUsageAdmin(UntouchableAdmin):
    list_display = ("agent", "user", "keys", "size")
    list_select_related = ("agent__owner", "user")
    list_filter = (("user", AutocompleteSelectFilter), ("agent", AutocompleteSelectFilter))
    search_fields = ("=agent__handle", "=agent__owner__handle", "^user__username")
    search_help_text = _("An agent's handle, its owner, or the beginning of a user's name")
    ordering = ("-pk",)

    @admin.display(description=_("size"))
    def size(self, usage: StorageUsage) -> str:
        return filesizeformat(usage.bytes)


@tell_of_users
def storage_of(user: User) -> Fact:
    """How much agents keep about a user."""
    sums = StorageUsage.objects.filter(user=user).aggregate(keys=Sum("keys"), size=Sum("bytes"))
    size = filesizeformat(sums["size"] or 0)
    words = gettext("%(keys)s keys, %(size)s") % {"keys": sums["keys"] or 0, "size": size}
    listed = f"{reverse('admin:storage_kv_storageusage_changelist')}?user__id__exact={user.pk}"
    return Fact(_("User Storage"), words, listed)
