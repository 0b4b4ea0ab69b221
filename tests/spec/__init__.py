"""The specification's lines and the tests that show them: `python -m tests.spec`."""
