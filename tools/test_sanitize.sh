#!/bin/bash
# The C++ suites of support and graph under AddressSanitizer and UBSan. Code generation's suite is
# not among them yet: it runs machine code that the sanitizers do not see, and takes long to build.
. "$(dirname "$0")/common.sh"
tools/system_packages.sh
[ -f build/sanitize/build.ninja ] || quietly cmake --preset sanitize || die "CMake could not configure build/sanitize"
say "building build/sanitize"
ninja -C build/sanitize -j "${JOBS:-$(nproc)}" --quiet support_test graph_test || die "the build in build/sanitize failed"
ctest --test-dir build/sanitize --output-on-failure -R '^(support|graph)$'
