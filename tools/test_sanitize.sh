#!/bin/bash
# The C++ suites under AddressSanitizer, with its leak check, and UBSan. LLVM's library and the
# machine code that it makes are not instrumented; our own code around them is.
. "$(dirname "$0")/common.sh"
tools/system_packages.sh
[ -f build/sanitize/build.ninja ] || quietly cmake --preset sanitize || die "CMake could not configure build/sanitize"
say "building build/sanitize"
ninja -C build/sanitize -j "${JOBS:-$(nproc)}" --quiet || die "the build in build/sanitize failed"
ctest --test-dir build/sanitize --output-on-failure -j "$(nproc)"
