"""Seven Steps: a transformer whose every number can be checked by hand."""
