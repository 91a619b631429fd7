#!/usr/bin/env bash
# Dumps of other people's heaps: other people's readers and ours on the same files.
#
#   bash benches/dumps/run.sh            a table
#   bash benches/dumps/run.sh --json     rows of `id` and `measured`
#
# Makes a dump of about 5 million objects and one of 20 million (Dump.java, a JDK is needed) and a heap snapshot of about 1.2 million nodes
# (node/heap.js, Node is needed), installs the peers beside them, builds heaphound, and runs all programs in turn, ROUNDS (5) times. Medians
# count, of seconds and of the largest resident set. Everything that is made stays in FOLDER (target/dumps), and is made once. A peer that
# cannot be installed is left out, and so are its rows. HEAPHOUND is the program to measure, if it is not to be built. ONLY names those of the
# programs below that are to be run, with `larger` and `v8` for ours on the other files, and `load` for the check of nothing: ONLY="ours load rules"
# is enough for `dumps.rules_pct`, and makes and installs nothing else.
#
# What is compared:
#   ours      `heaphound info`: the load, exact dominators, retained sizes, and what each class retains
#   slurp     hprof-slurp's histogram
#   analyzer  hprof-analyzer's full report
#   memlab    node/memlab.js: the load, dominators and retained sizes
#   rules     `heaphound check` with ten rules (rules.deal), less `heaphound check` of the same file with nothing to check, both with all
#             values, in percent of `info`
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=${FOLDER:-$PWD/target/dumps}
rounds=${ROUNDS:-5}
json=false
[ "${1:-}" = --json ] && json=true
mkdir -p "$folder"
say() { "$json" || echo "$@" >&2; }

dump() {
    [ -s "$folder/$1.hprof" ] && return
    say "making $1.hprof"
    java "-Xmx$3" benches/dumps/Dump.java "$folder/$1.hprof" "$2" > "$folder/$1.log"
}
peer() {
    [ -x "$folder/peers/bin/$1" ] && return
    say "installing $1"
    cargo install --quiet --locked --root "$folder/peers" "$1@$2" || say "$1 could not be installed"
}
# Whether one of some programs is to be run.
wants() {
    [ -z "${ONLY:-}" ] && return
    local name
    for name in "$@"; do [[ " $ONLY " != *" $name "* ]] || return 0; done
    return 1
}
for name in ${ONLY:-}; do
    [[ " ours slurp analyzer memlab load rules larger v8 " == *" $name "* ]] || { echo "there is no program $name" >&2; exit 2; }
done
! wants ours slurp analyzer load rules || dump 5m 5000000 6g
! wants larger || dump 20m 20000000 12g
! wants v8 memlab || [ -s "$folder/app.heapsnapshot" ] ||
    node benches/dumps/node/heap.js "$folder/app.heapsnapshot" > "$folder/app.json"
! wants slurp || peer hprof-slurp 0.10.0
! wants analyzer || peer hprof-analyzer 0.3.2
! wants memlab || [ -d "$folder/node_modules/memlab" ] ||
    npm install --silent --prefix "$folder" memlab --ignore-scripts || say "memlab could not be installed"
[ -n "${HEAPHOUND:-}" ] || cargo build --quiet --locked --release -p heaphound-cli
heaphound=${HEAPHOUND:-$PWD/target/release/heaphound}

# Runs a program once if it is to be run, and notes its seconds and kilobytes under a name.
once() {
    local name=$1
    shift
    wants "$name" || return 0
    if ! /usr/bin/time -f '%e %M' -o "$folder/time" "$@" > "$folder/out" 2> "$folder/err"; then
        echo "$name failed:" >&2
        tail -n 5 "$folder/err" >&2
        exit 1
    fi
    tail -n 1 "$folder/time" >> "$folder/$name.times"
}
rm -f "$folder"/*.times
for ((round = 1; round <= rounds; round++)); do
    say "round $round of $rounds"
    once ours "$heaphound" info --quiet "$folder/5m.hprof"
    [ ! -x "$folder/peers/bin/hprof-slurp" ] || once slurp "$folder/peers/bin/hprof-slurp" "$folder/5m.hprof"
    once load "$heaphound" check --quiet "$folder/5m.hprof" '1 == 1'
    once rules "$heaphound" check --quiet "$folder/5m.hprof" --rules benches/dumps/rules.deal
    once larger "$heaphound" info --quiet "$folder/20m.hprof"
    once v8 "$heaphound" info --quiet "$folder/app.heapsnapshot"
    [ ! -x "$folder/peers/bin/hprof-analyzer" ] || once analyzer "$folder/peers/bin/hprof-analyzer" "$folder/5m.hprof"
    [ ! -d "$folder/node_modules/memlab" ] ||
        once memlab env NODE_PATH="$folder/node_modules" node benches/dumps/node/memlab.js "$folder/app.heapsnapshot"
done

python3 - "$folder" "$json" <<'P'
import json, pathlib, statistics, sys

folder, as_json = pathlib.Path(sys.argv[1]), sys.argv[2] == "true"
seconds, memory = {}, {}
for file in sorted(folder.glob("*.times")):
    runs = [tuple(map(float, line.split())) for line in file.read_text().splitlines()]
    seconds[file.stem] = statistics.median(run[0] for run in runs)
    memory[file.stem] = statistics.median(run[1] for run in runs)
    if not as_json:
        least, most = min(run[0] for run in runs), max(run[0] for run in runs)
        print(f"{file.stem:10} {seconds[file.stem]:7.2f} s ({least:.2f} to {most:.2f}) {memory[file.stem] / 1024:7.0f} MiB")
rows = [
    ("dumps.hprof.vs_slurp", "<= 1.5", lambda: seconds["ours"] / seconds["slurp"]),
    ("dumps.hprof.vs_analyzer", ">= 7", lambda: seconds["analyzer"] / seconds["ours"]),
    ("dumps.hprof.memory_vs_analyzer", "<= 2", lambda: memory["ours"] / memory["analyzer"]),
    ("dumps.v8.vs_memlab", ">= 8", lambda: seconds["memlab"] / seconds["v8"]),
    ("dumps.v8.memory_vs_memlab", "<= 0.5", lambda: memory["v8"] / memory["memlab"]),
    ("dumps.rules_pct", "<= 30", lambda: 100 * (seconds["rules"] - seconds["load"]) / seconds["ours"]),
    ("dumps.scale", "<= 4.5", lambda: seconds["larger"] / seconds["ours"]),
]
for id, reach, measure in rows:
    try:
        measured = round(measure(), 2)
    except KeyError:
        continue
    print(json.dumps({"id": id, "measured": measured}) if as_json else f"{id:32} {measured:8.2f}   {reach}")
P
