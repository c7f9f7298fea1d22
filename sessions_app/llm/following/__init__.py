"""The parts of the few-shot follower: words, aligning two texts, and carrying what differs into a third."""
