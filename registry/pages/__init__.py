"""What the registry's pages show."""
