"""Object stores beyond a local folder, chosen by URL, and the collection of what nothing refers to."""
