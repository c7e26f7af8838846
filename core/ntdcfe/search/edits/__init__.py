"""The search over edits: few named changes that hold."""
