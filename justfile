# `just` lists the recipes; the README's two commands need none of them. Without `just`, run what stands below a
# recipe's name.
_default:
    @just --list

# What the gate runs.
ci:
    bash .ci/run

# All tests.
test:
    cargo test --workspace

# The long versions of everything below, a line each: sanitizers, valgrind, loom, random cases, a soak, fuzzing, benchmarks. Hours.
nightly *NAMES:
    bash .ci/nightly {{NAMES}}

# AddressSanitizer over all unsafe code.
asan:
    bash .ci/nightly --show asan

# ThreadSanitizer over all unsafe code.
tsan:
    bash .ci/nightly --show tsan

# valgrind's memcheck over some tests of each kind.
valgrind:
    bash .ci/nightly --show valgrind

# loom explores the schedules of the work-sharing pool.
loom:
    bash .ci/nightly --show loom

# Twenty times as many random cases.
random:
    bash .ci/nightly --show random

# A soak of two minutes with each collector.
soak:
    bash .ci/nightly --show soak

# Fuzzes a target of fuzz/ (text, binary, hprof, v8, deal_syntax, deal_answers, names, profile, baseline) for so many seconds; cargo-fuzz runs them too.
fuzz TARGET SECONDS="300":
    FUZZ_SECONDS={{SECONDS}} bash .ci/nightly --show fuzz_target {{TARGET}}

# Our heap against other people's; prints tables.
bench *ARGS:
    cd benches/peers && cargo run --locked --release -- {{ARGS}}

# The same, for docs/measurements: an hour, on a machine that does nothing else.
bench-page:
    cd benches/peers && cargo run --locked --release -- --page ../../docs/measurements/peers.md

# What the test for invalidated references costs.
bench-barrier *ARGS:
    bash benches/barrier.sh {{ARGS}}

# The object layout.
bench-layout *ARGS:
    cd benches/layout && cargo run --locked --release -- {{ARGS}}

# Predicates by an interpreter, by closures and as machine code.
bench-predicates *ARGS:
    cd benches/predicates && cargo run --locked --release -- {{ARGS}}

# Known programs on our heap and with Rc<RefCell>.
bench-programs *ARGS:
    cd benches/programs && cargo run --locked --release -- {{ARGS}}

# Readers of dumps, other people's and ours; needs a JDK.
bench-dumps *ARGS:
    bash benches/dumps/run.sh {{ARGS}}
