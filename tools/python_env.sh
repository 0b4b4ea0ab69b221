#!/bin/bash
# Makes the virtual environment of one Python, build/venv-<version>, and the Debian packages that
# it and the build need. Prints two words: the interpreter's tag (cp311) and the environment.
# Argument: the interpreter, a name or a path.
. "$(dirname "$0")/common.sh"
python=${1:-python3}
supported="3.14 3.13 3.12 3.11"

# One line: version, executable, implementation, and what is missing of headers and venv.
probe='
import importlib.util, os, sys, sysconfig
lacks = []
if not os.path.exists(os.path.join(sysconfig.get_paths()["include"], "Python.h")): lacks.append("dev")
if not importlib.util.find_spec("ensurepip"): lacks.append("venv")
kind = sys.implementation.name + ("-freethreaded" if sysconfig.get_config_var("Py_GIL_DISABLED") else "")
print("%d.%d" % sys.version_info[:2], sys._base_executable, kind, sys.version.split()[0], *lacks)
'
ask() { "$1" -c "$probe" 2>/dev/null; }

# pyenv's commands exist for versions that are not selected, and then fail: go to the real one.
pyenv_python() {
  command -v pyenv >/dev/null || return 1
  local version
  for version in $(pyenv versions --bare | grep -E "^${1#python}([.]|$)" | sort -rV); do
    if [ -x "$(pyenv root)/versions/$version/bin/$1" ]; then
      echo "$(pyenv root)/versions/$version/bin/$1"
      return
    fi
  done
  return 1
}

if ! facts=$(ask "$python"); then
  if real=$(pyenv_python "$python"); then
    python=$real
  elif [[ $python =~ ^python3(\.[0-9]+)?$ ]] && ! command -v "$python" >/dev/null; then
    tools/system_packages.sh "$python" "$python-dev" "$python-venv" ||
      die "there is no $python here" "Choose one that is: make test PYTHON=python3.12"
  fi
  facts=$(ask "$python") || die "$python does not run" "Try: $python --version"
fi
read -r version executable kind full_version lacks <<<"$facts"

if [[ " $supported " != *" $version "* ]]; then
  # The system's own python3 may be too new or too old while a supported one stands beside it.
  found=
  for other in $supported; do
    if [ "$python" = python3 ] && facts=$(ask "python$other"); then
      found="python$other"
      break
    fi
  done
  [ -n "$found" ] || die "Python $version ($executable) is not supported" \
    "numlift runs on CPython $supported. Choose one: make test PYTHON=python3.12"
  say "python3 is $version, which is not supported: taking $found"
  read -r version executable kind full_version lacks <<<"$facts"
fi
[ "$kind" = cpython ] || die "$executable is $kind; numlift runs on CPython with the GIL only"

packages=()
for lack in $lacks; do
  [[ $executable = /usr/bin/* ]] || die "$executable lacks its part '$lack'" \
    "It is not Debian's Python; install that part the way this Python was installed."
  packages+=("python$version-$lack")
done
tools/system_packages.sh "${packages[@]}"

# The stamp holds all that the environment depends on; another interpreter of the same version
# or other requirements start it afresh, and with it that version's build tree.
tag=cp${version/./}
env=$PWD/build/venv-$version
stamp="$executable $full_version $(cksum <tools/requirements.txt)"
if [ "$(cat "$env/numlift-stamp" 2>/dev/null)" != "$stamp" ]; then
  say "making the virtual environment of Python $version (build/venv-$version)"
  rm -rf "$env" "build/$tag"
  quietly "$executable" -m venv "$env" || die "$executable -m venv failed"
  quietly "$env/bin/python" -m pip install --disable-pip-version-check -r tools/requirements.txt ||
    die "pip could not install tools/requirements.txt" \
      "pip's messages are above; it uses your own pip settings (pip.conf and PIP_* variables)."
  echo "$stamp" >"$env/numlift-stamp"
fi
echo "$tag" "$env"
