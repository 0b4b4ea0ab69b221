"""Derivatives against central differences in float64, and vmap against a Python loop: `python -m tests.gradcheck`."""
