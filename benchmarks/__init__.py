"""How fast the site is, against a yardstick measured in the same minutes on the same machine (`make bench`)."""
