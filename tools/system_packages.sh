#!/bin/bash
# Installs the Debian packages that the build needs, those only that are missing.
# Arguments: further packages that the caller needs.
. "$(dirname "$0")/common.sh"

installed() { [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }
offered() { [ -n "$(apt-cache madison "$1" 2>/dev/null)" ]; }

if ! command -v dpkg-query >/dev/null; then
  # Another system: its owner installs; say what is needed.
  for tool in g++ cmake ninja; do
    command -v "$tool" >/dev/null || die "$tool was not found" \
      "Only Debian's packages are installed automatically. Needed here: g++ 12 or later, CMake," \
      "Ninja, LLVM 19 to 21 with libomp, fmt, GoogleTest, and Python's headers."
  done
  exit 0
fi

# LLVM and libomp must be of one version: the newest complete pair.
llvm_packages() {
  local version
  for version in 21 20 19; do
    if "$1" llvm-$version-dev && "$1" libomp-$version-dev; then
      echo llvm-$version-dev libomp-$version-dev
      return
    fi
  done
  return 1
}

missing=()
for package in g++ cmake ninja-build ccache libfmt-dev libgtest-dev libgmock-dev "$@"; do
  installed "$package" || missing+=("$package")
done
llvm_installed=$(llvm_packages installed) || true
if [ ${#missing[@]} = 0 ] && [ -n "$llvm_installed" ]; then exit 0; fi
[ -n "$llvm_installed" ] || llvm_needed="llvm-19-dev libomp-19-dev"
if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
  die "Debian packages are missing, and there is no sudo to install them with" \
    "As root: apt-get install ${missing[*]} ${llvm_needed:-}"
fi

say "updating the package lists"
# A source of the user's that does not answer must not stop us: what matters is found out below.
quietly as_root apt-get update || say "apt-get update reported errors; trying with the lists that are here"
if [ -z "$llvm_installed" ]; then
  llvm=$(llvm_packages offered) || die "apt offers none of LLVM 19, 20, 21 with its libomp" \
    "Needed: llvm-N-dev and libomp-N-dev, as in Debian 12 (bookworm) and later."
  missing+=($llvm)
fi
say "installing ${missing[*]}"
quietly as_root env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y --no-install-recommends "${missing[@]}" ||
  die "apt-get could not install: ${missing[*]}" "Its messages are above."
