"""Options that several commands share: how they are declared, and what they mean."""
