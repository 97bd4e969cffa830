"""From content and traces to a checked static site."""
