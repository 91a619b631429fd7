#!/usr/bin/env bash
# Our reading of a heap snapshot against memlab's: load, dominators and retained sizes of about 1.2 million nodes.
#
#   bash benches/dumps/v8.sh [--json]
#
# Needs node, and memlab installed beside (npm install --prefix target/dumps memlab). ROUNDS (5) says how often each runs,
# in turn; the medians count. `OURS` is the command that does the same job; it is given the file.
set -euo pipefail
cd "$(dirname "$0")/../.."
dir=target/dumps
ours=${OURS:-"target/release/heaphound info --quiet"}
mkdir -p "$dir"
file=$dir/app.heapsnapshot
[ -f "$file" ] || node benches/dumps/node/heap.js "$file" > "$dir/app.json"
[ -d "$dir/node_modules/memlab" ] || npm install --silent --prefix "$dir" memlab --ignore-scripts
[ -x target/release/heaphound ] || cargo build --release -p heaphound-cli

# Seconds and bytes of a command.
timed() {
    /usr/bin/time -f '%e %M' -o "$dir/time" "$@" > "$dir/out" 2> "$dir/err"
    awk '{ print $1, $2 * 1024 }' "$dir/time"
}
median() { sort -g | awk '{ it[NR] = $1 } END { print it[int((NR + 1) / 2)] }'; }

: > "$dir/ours"; : > "$dir/theirs"
for _ in $(seq "${ROUNDS:-5}"); do
    timed env NODE_PATH="$dir/node_modules" node benches/dumps/node/memlab.js "$file" >> "$dir/theirs"
    timed $ours "$file" >> "$dir/ours"
done
of() { cut -d ' ' -f "$2" "$dir/$1" | median; }
python3 - "$(of theirs 1)" "$(of theirs 2)" "$(of ours 1)" "$(of ours 2)" "${1:-}" <<'P'
import json, sys
seconds, memory, our_seconds, our_memory = map(float, sys.argv[1:5])
rows = [("dumps.v8.vs_memlab", seconds / our_seconds, ">= 8"), ("dumps.v8.memory_vs_memlab", our_memory / memory, "<= 0.5")]
if sys.argv[5] == "--json":
    print(json.dumps({"experiment": "dumps.v8", "rows": [{"id": id, "measured": round(it, 3)} for id, it, _ in rows]}))
else:
    print(f"memlab {seconds:.2f} s, {memory / 1e6:.0f} MB; ours {our_seconds:.2f} s, {our_memory / 1e6:.0f} MB")
    for id, it, reach in rows:
        print(f"{id:28} {it:7.2f}  {reach}")
P
