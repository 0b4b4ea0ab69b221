"""Programs as users of jax write them: jax.numpy on whole arrays, lax for loops, no array changed.

The arguments are the program's; those that are not arrays are static. The result is what the program changes,
in the order of its arguments, and then what it returns. What is left out has no natural form in jax, such as
a random stream of NumPy's.
"""
