"""Corrections: somebody asked an agent instead of the one that answered, and like queries go there from now on."""
