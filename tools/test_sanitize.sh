#!/bin/bash
# The C++ suites of the layers that know no Python, under AddressSanitizer and UBSan.
. "$(dirname "$0")/common.sh"
tools/system_packages.sh
[ -f build/sanitize/build.ninja ] || quietly cmake --preset sanitize || die "CMake could not configure build/sanitize"
say "building build/sanitize"
ninja -C build/sanitize -j "${JOBS:-$(nproc)}" --quiet || die "the build in build/sanitize failed"
ctest --test-dir build/sanitize --output-on-failure
