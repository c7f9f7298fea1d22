"""The admin's pages of other people's packages; Django looks for admins in this module alone."""

from fixie_site import jobs_admin

__all__ = ["jobs_admin"]
