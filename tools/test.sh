#!/bin/bash
# The tests of one build: the C++ suites (unless CPP=0), then pytest. Run by tools/with_build.sh.
. "$(dirname "$0")/common.sh"

if [ "${CPP:-1}" != 0 ]; then
  ctest --test-dir "$NUMLIFT_BUILD" --output-on-failure -j "$(nproc)" ||
    die "a C++ suite failed" "To run one alone: ctest --test-dir $NUMLIFT_BUILD -R <name> --output-on-failure"
fi
exec python -m pytest tests --ignore=tests/lint "$@"
