#!/bin/sh
# The share of the compiled traces that a fuzz target made which got past all checks and
# were played: fuzz-share.sh DIR, after a run with PIANOLA_FUZZ_TALLY=DIR.
set -eu
cat "$1"/* /dev/null | awk '{ inputs += $1; passed += $2 }
  END { if (inputs) printf "%d of %d traces got past all checks: %.0f %%\n", passed, inputs, 100 * passed / inputs }'
