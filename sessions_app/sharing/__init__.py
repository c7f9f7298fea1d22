"""Sessions shown to others: links that anybody may read until they are revoked, and files to keep."""
