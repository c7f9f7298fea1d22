"""What a site keeps about one person, all of it: given to them as a file, and removed with their account."""
