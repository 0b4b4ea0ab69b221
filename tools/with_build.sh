#!/bin/bash
# Builds for one Python, then runs a command with that Python first on the path and the built
# package importable.
#   tools/with_build.sh <python> <extension|all|none> <command> [argument...]
# `extension` builds the module alone, `all` the C++ suites too, `none` only sets up the tools.
. "$(dirname "$0")/common.sh"
python=$1 target=$2
shift 2

env_words=$(tools/python_env.sh "$python")
read -r tag env <<<"$env_words"
build=$PWD/build/$tag
jobs=${JOBS:-$(nproc)}

configure() {
  [ -f "$build/build.ninja" ] && return
  say "configuring build/$tag"
  quietly cmake -G Ninja -S . -B "$build" -DPython_EXECUTABLE="$env/bin/python" ||
    die "CMake could not configure build/$tag" "Its messages are above."
}

case $target in
  none) ;;
  extension | all)
    configure
    [ "$target" = extension ] && ninja_target=_core || ninja_target=all
    ninja -C "$build" -j "$jobs" "$ninja_target" >&2 ||
      die "the build in build/$tag failed" "The compiler's messages are above. To start afresh: make clean"
    ;;
  *) die "unknown build target '$target'" ;;
esac

export PATH=$env/bin:$PATH VIRTUAL_ENV=$env
export NUMLIFT_BUILD=$build
export PYTHONPATH=$build/python${PYTHONPATH:+:$PYTHONPATH}
unset PYTHONHOME
exec "$@"
