"""A run made visible to those who may change its agent."""
