"""What was used, day by day: of one's own, and of an agent by all its users together."""
