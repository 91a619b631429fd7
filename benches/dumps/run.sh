#!/usr/bin/env bash
# Dumps of other people's heaps: other people's readers and ours on the same files.
#
#   bash benches/dumps/run.sh            a table
#   bash benches/dumps/run.sh --json     rows of `id` and `measured`
#
# Makes a dump of about 5 million objects and one of 20 million (Dump.java, a JDK is needed), installs the peers beside them, builds
# heaphound, and runs each program several times, one after the other. Everything that is made stays in FOLDER (target/dumps); the least
# time of a program counts, and its most memory.
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=${FOLDER:-$PWD/target/dumps}
runs=${RUNS:-5}
json=false
[ "${1:-}" = --json ] && json=true
mkdir -p "$folder"
say() { "$json" || echo "$@"; }

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
dump 5m 5000000 6g
dump 20m 20000000 12g
peer hprof-slurp 0.10.0
peer hprof-analyzer 0.3.2
cargo build --quiet --locked --release -p heaphound-cli
heaphound=$PWD/target/release/heaphound

# The least seconds and the most kilobytes of some runs of a program.
measure() {
    local least=999999 most=0 nth seconds kilobytes
    for ((nth = 0; nth < runs; nth++)); do
        /usr/bin/time -f '%e %M' "$@" > /dev/null 2> "$folder/said" || true
        read -r seconds kilobytes <<< "$(tail -n 1 "$folder/said")"
        least=$(awk "BEGIN { print ($seconds < $least) ? $seconds : $least }")
        most=$(( kilobytes > most ? kilobytes : most ))
    done
    echo "$least $most"
}
row() {
    if "$json"; then
        printf '{"id":"%s","measured":%s}\n' "$1" "$2"
    else
        printf '  %-36s %8s   %s\n' "$1" "$2" "$3"
    fi
}
ratio() { awk "BEGIN { printf \"%.2f\", $1 / $2 }"; }

# What a person types: classes by what they retain, which takes the load, exact dominators and retained sizes.
# Until `info` retains, it is the load and a count.
ours() { measure "$heaphound" info "$folder/$1.hprof"; }

read -r seconds memory <<< "$(ours 5m)"
say "heaphound       $seconds s  $memory KB"
read -r slurp slurp_memory <<< "$(measure "$folder/peers/bin/hprof-slurp" "$folder/5m.hprof")"
say "hprof-slurp     $slurp s  $slurp_memory KB"
row dumps.hprof.vs_slurp "$(ratio "$seconds" "$slurp")" "times hprof-slurp's histogram"
if [ -x "$folder/peers/bin/hprof-analyzer" ]; then
    read -r analyzer analyzer_memory <<< "$(measure "$folder/peers/bin/hprof-analyzer" "$folder/5m.hprof")"
    say "hprof-analyzer  $analyzer s  $analyzer_memory KB"
    row dumps.hprof.vs_analyzer "$(ratio "$analyzer" "$seconds")" "times as fast as hprof-analyzer"
    row dumps.hprof.memory_vs_analyzer "$(ratio "$memory" "$analyzer_memory")" "times its memory"
fi
read -r larger larger_memory <<< "$(ours 20m)"
say "heaphound, 20 M $larger s  $larger_memory KB"
row dumps.scale "$(ratio "$larger" "$seconds")" "times as long for 20 M objects"
