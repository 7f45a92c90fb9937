#!/bin/sh
# A harness as people have it: starts the reference driver's executable, set up by AERON_* variables alone, runs a
# command against it, and ends it. Knows nothing of who wrote the driver.
set -eu

: "${AERONMD:?the executable of a media driver}" "${AERON_DIR:?its directory}"

"$AERONMD" >"$AERON_DIR.out" 2>"$AERON_DIR.err" &
driver=$!
trap 'kill "$driver" 2>/dev/null || true' EXIT

tries=0
until [ -s "$AERON_DIR/cnc.dat" ] && [ "$(od -An -tx1 -N4 "$AERON_DIR/cnc.dat" | tr -d ' ')" = 00020000 ]; do
    kill -0 "$driver" 2>/dev/null || { echo "the driver ended at once" >&2; cat "$AERON_DIR.err" >&2; exit 3; }
    tries=$((tries + 1))
    [ "$tries" -lt 200 ] || { echo "the driver was not ready within 10 s" >&2; exit 4; }
    sleep 0.05
done
echo READY

"$@"

kill -TERM "$driver"
trap - EXIT
status=0
wait "$driver" || status=$?
echo "driver ended with $status"
[ "$status" -eq 15 ]
grep -q "Shutting down driver" "$AERON_DIR.out"
if [ -s "$AERON_DIR.err" ]; then
    echo "the driver wrote to standard error:" >&2
    cat "$AERON_DIR.err" >&2
    exit 5
fi
