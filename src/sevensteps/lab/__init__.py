"""The lab: the same steps on a real language model."""
