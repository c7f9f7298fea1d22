"""What every app stands on, and which knows none of them.

`errors` has all that a caller may see, `db` the two ways to the database, `http` the only way to addresses that
users register. What would fit a drawer named "utils" has no place here: a module is one idea.
"""
