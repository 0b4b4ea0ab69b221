#!/bin/bash
# Proves `make demo` and `make test` on a bare Debian: a new root made by debootstrap, with make and
# git only (no Python), a clone of this checkout's HEAD in it, and the two commands run there.
#   tools/fresh_machine.sh [bookworm|trixie|sid] [make target...]      as root
# Mirror, proxies, pip settings, name servers and extra certificates are this machine's own.
# KEEP=1 leaves the root in place afterwards and says where it is. ROOT=<folder> is the root's place:
# one that an earlier run left there is used again, with its build, and stays. PYTHON, PYTEST_ARGS,
# TESTS and JOBS are handed on to make.
. "$(dirname "$0")/common.sh"
suite=${1:-bookworm}
shift || true
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(demo test)

[ "$(id -u)" = 0 ] || die "chroot needs root: sudo tools/fresh_machine.sh $suite"
command -v debootstrap >/dev/null || tools/system_packages.sh debootstrap

root=${ROOT:-$(mktemp -d "${TMPDIR:-/var/tmp}/numlift-$suite.XXXXXX")}
unmount() { if mountpoint -q "$root/proc"; then umount "$root/proc"; fi; }
clean_up() {
  # Deleting must never reach through a mount: stop if one is left.
  unmount || { say "could not unmount $root/proc; $root is left in place"; return; }
  if [ "${KEEP:-0}" = 1 ] || [ -n "${ROOT:-}" ]; then say "the root is left in $root"; else rm -rf --one-file-system "$root"; fi
}
trap clean_up EXIT
trap 'exit 130' INT TERM

# The mirror: the first source of this machine that is Debian's own archive, in either format.
find_mirror() {
  local codename files
  codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
  files=$(ls /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null || true)
  awk -v codename="$codename" '
    $1 == "deb" { sub(/\[[^]]*\] */, ""); if ($3 == codename && $4 == "main") { print $2; exit } }
    $1 == "URIs:" { uri = $2 }
    $1 == "Suites:" { for (i = 2; i <= NF; i++) if ($i == codename && uri != "") { print uri; exit } }
  ' $files
}
mirror=${DEBIAN_MIRROR:-$(find_mirror)}
[ -n "$mirror" ] || die "no Debian archive in this machine's apt sources" "Name one: DEBIAN_MIRROR=<address> $0"
proxy=$(apt-config shell value Acquire::http::Proxy | sed "s/^value='\(.*\)'$/\1/")

if [ ! -d "$root/etc/apt" ]; then
  say "making a bare $suite root in $root"
  started=$SECONDS
  quietly env ${proxy:+http_proxy="$proxy"} debootstrap --variant=minbase \
    --include=ca-certificates,make,git "$suite" "$root" "$mirror" || die "debootstrap failed"
  say "debootstrap took $((SECONDS - started)) s"
fi

# Copies a file or folder of this machine to the same place in the root.
carry() {
  local path
  for path in "$@"; do
    [ -e "$path" ] || continue
    mkdir -p "$root$(dirname "$path")"
    cp -rL --no-target-directory "$path" "$root$path"
  done
}
carry /etc/resolv.conf /etc/pip.conf /usr/local/share/ca-certificates
for file in /etc/apt/apt.conf.d/*; do
  if grep -qi 'acquire.*\(proxy\|retries\|timeout\|cainfo\)' "$file"; then carry "$file"; fi
done
# A suite in the making has release files that count as expired on a mirror that lags behind.
echo 'Acquire::Check-Valid-Until "false";' >"$root/etc/apt/apt.conf.d/99numlift-fresh-machine"

home=/srv/home
mkdir -p "$root$home/.config/pip"
for file in ~/.pip/pip.conf ~/.config/pip/pip.conf; do
  if [ -f "$file" ]; then cat "$file" >>"$root$home/.config/pip/pip.conf"; fi
done
settings=(HOME=$home PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8)
while IFS='=' read -r -d '' name value; do
  case $name in
    PIP_* | SSL_CERT_* | REQUESTS_CA_BUNDLE | http_proxy | https_proxy | no_proxy)
      settings+=("$name=$value")
      # Certificates are made inside, below; other settings that name a file or folder bring it along.
      case $value in /etc/ssl/*) ;; /*) carry "$value" ;; esac
      ;;
  esac
done < <(env -0)
for name in PYTHON PYTEST_ARGS TESTS JOBS; do
  if [ -n "${!name:-}" ]; then settings+=("$name=${!name}"); fi
done
mount -t proc proc "$root/proc"
inside() { chroot "$root" /usr/bin/env -i "${settings[@]}" "$@"; }
inside update-ca-certificates >/dev/null 2>&1 || die "update-ca-certificates failed in the new root"

if [ -d "$root/srv/numlift/.git" ]; then
  git -C "$root/srv/numlift" fetch --quiet "$PWD" HEAD
  git -C "$root/srv/numlift" reset --quiet --hard FETCH_HEAD
else
  git clone --quiet --no-local . "$root/srv/numlift"
fi
say "cloned $(git rev-parse --short HEAD)"
for target in "${targets[@]}"; do
  if [ "$target" = test-cpython ]; then
    # Debian has CPython's own tests in a package apart.
    quietly inside env DEBIAN_FRONTEND=noninteractive sh -c "apt-get update &&
      apt-get install -y --no-install-recommends lib${PYTHON:-python3}-testsuite" ||
      die "CPython's tests could not be installed in the new root"
  fi
  started=$SECONDS
  inside make -C /srv/numlift "$target" || die "make $target failed on a bare $suite"
  say "make $target took $((SECONDS - started)) s on a bare $suite"
done
say "passed on a bare $suite: ${targets[*]}"
