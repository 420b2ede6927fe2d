"""Who is whose parent, where a rank is reached, and how healthy each subtree is. Pure."""
