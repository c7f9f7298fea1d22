"""Whether agents answer: checked in the background, and told to people."""
