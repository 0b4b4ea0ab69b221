#!/bin/bash
# On a machine with a GPU (Debian or Ubuntu, CUDA driver, Python 3.12): builds from this tree, runs the
# tests that need a GPU, and times programs beside cupy and torch where they are installed.
#   tools/gpu_check.sh [python3.12]
# Writes one table, build/gpu_check.txt, and prints it. Limits: 4 minutes to build, 3 for the tests, 3 for
# the times.
. "$(dirname "$0")/common.sh"
python=${1:-python3.12}
report=build/gpu_check.txt
mkdir -p build

# step NAME LIMIT COMMAND...: a line of the table, below it what the command printed last.
step() {
  local name=$1 limit=$2 start=$SECONDS status=0 output
  shift 2
  output=$(mktemp)
  timeout "$limit" "$@" >"$output" 2>&1 || status=$?
  printf '%-6s %-6s %4d s of %d\n' "$name" "$([ $status = 0 ] && echo passed || echo FAILED)" \
    $((SECONDS - start)) "$limit" >>"$report"
  tail -n 60 "$output" | sed 's/^/    /' >>"$report"
  rm -f "$output"
  [ $status = 0 ] || { cat "$report"; die "$name failed (exit status $status; 124: it took too long)"; }
}

: >"$report"
if command -v nvidia-smi >/dev/null; then
  nvidia-smi --query-gpu=name,driver_version --format=csv,noheader >>"$report" || true
fi
step build 240 tools/with_build.sh "$python" extension true
step tests 180 tools/with_build.sh "$python" none python -m pytest tests/device -m gpu -q
step times 180 tools/with_build.sh "$python" none python -m bench.device
cat "$report"
