#!/usr/bin/env bash
# What the test for invalidated and untouched references costs a program that reads references.
#
#   bash benches/barrier.sh [ROUNDS]   the same walks built with the feature `barrier` and without, run in turn, medians
#   bash benches/barrier.sh --code     the instructions of the walks: with the feature, without it, and with accessors
#                                      from whose source the test was taken out. Prints `off_pct 0.0` if the last two
#                                      are the same, instruction by instruction.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")/walk
mkdir -p "$target/walks"

# build NAME SOURCES [OPTIONS]: the walks, as NAME in $target/walks.
build() {
    local name=$1 sources=$2
    shift 2
    cargo build --quiet --release --locked --manifest-path "$sources/benches/walk/Cargo.toml" --target-dir "$target" "$@"
    cp "$target/release/walk" "$target/walks/$name"
}

build with .
build without . --no-default-features

if [ "${1:-}" = --code ]; then
    # A copy of the sources whose accessors contain no test, whatever the features.
    copy=$target/untested-sources
    rm -rf "$copy" && mkdir -p "$copy/benches"
    cp -r Cargo.toml Cargo.lock crates "$copy"
    cp -r benches/walk "$copy/benches"
    slot=crates/gc/src/raw/objects/slot.rs
    sed -i -E 's/(if |=> )?(raw|Raw\(found\))\.is_tagged\(\)/\1false/' "$copy/$slot"
    if cmp -s "$slot" "$copy/$slot" || grep -q is_tagged "$copy/$slot"; then
        echo "the accessors of $slot are not as this script knows them" >&2
        exit 1
    fi
    # With the feature: what it would compile in is what was taken out.
    build untested "$copy" 2> /dev/null
    python3 - "$target" << 'END'
import re, subprocess, sys

WALKS = ("walk_list", "walk_tree", "walk_array")

def code(build):
    """The instructions of each walk, without addresses."""
    program = f"{sys.argv[1]}/walks/{build}"
    command = ["objdump", "-d", "-C", "--no-show-raw-insn", program]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    walks = {}
    for block in text.split("\n\n"):
        head, _, body = block.partition("\n")
        name = re.search(r"<.*\b(walk_\w+)(::h[0-9a-f]+)?>:$", head)
        if name and name[1] in WALKS:
            lines = [line.split("\t", 1)[1] for line in body.splitlines() if "\t" in line]
            # Where the linker has put things is no matter.
            lines = [re.sub(r"::h[0-9a-f]{16}", "", line) for line in lines]
            lines = [re.sub(r"\b(0x)?[0-9a-f]{4,}(?=\(%rip\)| <)", "", line) for line in lines]
            lines = [re.sub(r"\s*# .*", "", line).strip() for line in lines]
            # What fills up to the next function.
            while lines and re.match(r"(nop|int3|cs nop|data16|xchg +%ax,%ax)", lines[-1]):
                lines.pop()
            walks[name[1]] = lines
    assert set(walks) == set(WALKS), f"{build}: {set(walks)}"
    return walks

with_, without, untested = (code(build) for build in ("with", "without", "untested"))
print(f"{'instructions':12} {'with':>8} {'without':>8} {'untested':>8}")
for walk in WALKS:
    print(f"{walk:12} {len(with_[walk]):8} {len(without[walk]):8} {len(untested[walk]):8}")
more = sum(map(len, without.values())) / sum(map(len, untested.values()))
differ = [walk for walk in WALKS if without[walk] != untested[walk]]
if differ:
    print("differ: " + ", ".join(differ), file=sys.stderr)
print(f"off_same {int(not differ)}")
print(f"off_pct {100 * (more - 1):.1f}")
END
    exit
fi

rounds=${1:-11}
for _ in $(seq "$rounds"); do
    echo "with $("$target/walks/with")"
    echo "without $("$target/walks/without")"
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
