"""Common to all Python tests: which build is tested, strict mode, hypothesis, and seeds.

The environment is set before numlift is imported, so this file must not import it.
"""

import os
import random
import sys
import zlib

import hypothesis
import numpy as np
import pytest

# tools/with_build.sh sets NUMLIFT_BUILD; without it the numlift that is installed is tested.
_build = os.environ.get("NUMLIFT_BUILD")
if _build:
    sys.path.insert(0, os.path.join(_build, "python"))

# In strict mode a fault of numlift itself raises instead of falling back to CPython in silence.
os.environ.setdefault("NUMLIFT_STRICT", "1")
# Code is made by the build that is tested, and the user's own cache stays as it is. Tests of the disk cache have
# directories of their own.
os.environ["NUMLIFT_DISK_CACHE"] = "0"

hypothesis.settings.register_profile("default", deadline=None, print_blob=True)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.register_profile("long", deadline=None, max_examples=2000, print_blob=True)
_in_ci = bool(os.environ.get("CI"))
_profile = os.environ.get("HYPOTHESIS_PROFILE", "ci" if _in_ci else "default")
hypothesis.settings.load_profile(_profile)

# One seed for the whole run: fixed in CI, drawn elsewhere, printed in the header of every run.
_seed = int(os.environ.get("NUMLIFT_TEST_SEED") or (1 if _in_ci else random.randrange(1, 2**31)))


def pytest_report_header():
    return (
        f"numlift: build {_build or 'as installed'}, NumPy {np.__version__}, "
        f"NUMLIFT_TEST_SEED={_seed}, HYPOTHESIS_PROFILE={_profile}"
    )


@pytest.fixture
def rng(request):
    """A NumPy generator, seeded by the run's seed and the test's own name."""
    return np.random.default_rng([_seed, zlib.crc32(request.node.nodeid.encode())])


@pytest.fixture(autouse=True)
def _same_global_state():
    """No test leaves NumPy's error state or print options changed behind (spec 13.1)."""
    errors, options = np.geterr(), np.get_printoptions()
    yield
    left_errors, left_options = np.geterr(), np.get_printoptions()
    np.seterr(**errors)
    np.set_printoptions(**options)
    assert left_errors == errors
    assert left_options == options
