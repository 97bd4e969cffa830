"""The forward pass as data: operations, steps, the toy and its runs. Knows numpy only."""
