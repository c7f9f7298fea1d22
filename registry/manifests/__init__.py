"""What agents say of themselves: read from their address, checked, and shown with its problems before it counts."""
