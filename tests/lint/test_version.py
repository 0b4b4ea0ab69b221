"""The version stands in two places, since the package must know it without being installed."""

import re
import tomllib

from lint.tree import ROOT


def test_package_and_project_have_one_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    package = re.search(r'^__version__ = "([^"]+)"', (ROOT / "python/numlift/__init__.py").read_text(), re.M)
    assert package and package[1] == project
