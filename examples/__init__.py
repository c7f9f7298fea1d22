"""Programs to copy from; the site itself needs none of them."""
