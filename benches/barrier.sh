#!/usr/bin/env bash
# What the test for invalidated references costs a program that reads references: the same
# walks built with the feature `barrier` and without, run in turn, medians.
set -euo pipefail
cd "$(dirname "$0")/.."
rounds=${1:-11}
target=${CARGO_TARGET_DIR:-target}

cargo build --quiet --release -p heaphound-lab --example walk --target-dir "$target/with"
cargo build --quiet --release -p heaphound-lab --example walk --no-default-features --target-dir "$target/without"
for _ in $(seq "$rounds"); do
    echo "with $("$target/with/release/examples/walk")"
    echo "without $("$target/without/release/examples/walk")"
done | python3 -c '
import statistics, sys
times = {}
for line in sys.stdin:
    kind, *words = line.split()
    for name, ns in zip(words[::2], words[1::2]):
        times.setdefault(name, {}).setdefault(kind, []).append(float(ns))
print(f"{str():6} {str():>8}without     with   ratio (nanoseconds an object)")
for name, by in times.items():
    without, with_ = (statistics.median(by[kind]) for kind in ("without", "with"))
    ratio = statistics.median(a / b for a, b in zip(by["with"], by["without"]))
    print(f"{name:6} {without:15.3f} {with_:8.3f} {ratio:7.3f}")
'
