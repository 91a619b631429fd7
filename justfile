# `just` lists the recipes; the README's two commands need none of them.
_default:
    @just --list

# What the gate runs.
ci:
    bash .ci/run

# All tests, many more random programs, and a soak of a minute with each collector.
test:
    cargo test --workspace
    HEAPHOUND_CASES=20 cargo test --release -p heaphound --test it random_programs::
    HEAPHOUND_SOAK_SECONDS=60 cargo test --release -p heaphound --test it soak::

# loom explores the schedules of the work-sharing pool.
loom:
    RUSTFLAGS="--cfg loom" cargo test --release -p heaphound-heap --test pool_loom --target-dir target/loom

sanitized := "RUSTC_BOOTSTRAP=1 cargo test -p heaphound --target x86_64-unknown-linux-gnu"

# AddressSanitizer. It does not see inside a heap's own mapping: zeal does. One test leaks on purpose.
asan:
    ASAN_OPTIONS=detect_leaks=0 RUSTFLAGS=-Zsanitizer=address {{sanitized}} --target-dir target/asan --test it -- heap:: heap_edges:: classes:: panics:: reports:: soak:: random_programs::

# ThreadSanitizer. It cannot see the standard library's locks, so that ours become parking_lot's.
tsan:
    TSAN_OPTIONS="suppressions=$PWD/crates/heaphound/tests/tsan.supp" RUSTFLAGS="-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer --cfg tsan" {{sanitized}} --target-dir target/tsan --test it -- heap:: soak::

# valgrind's memcheck over some of the tests.
valgrind:
    cargo test -p heaphound --test it --no-run
    valgrind -q --error-exitcode=9 $(ls -t target/debug/deps/it-* | grep -v '\.d$' | head -1) --test-threads=1 --exact heap::a_weak_map_forgets_dead_keys_even_if_values_refer_to_them heap::arrays_and_strings_hold_what_they_were_given heap::a_pinned_object_stays_where_it_is

coverage := "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares -Cdebug-assertions -Ccodegen-units=1"

# Fuzzes a target of fuzz/ (text, binary, deal_syntax, deal_answers) for so many seconds; cargo-fuzz runs them too.
fuzz TARGET SECONDS="300":
    mkdir -p fuzz/corpus/{{TARGET}}
    cd fuzz && RUSTFLAGS="{{coverage}}" cargo run --release --target x86_64-unknown-linux-gnu --bin {{TARGET}} -- -max_total_time={{SECONDS}} -max_len=400 -timeout=20 -dict=deal.dict corpus/{{TARGET}}

# Our heap against other people's, and the object layout; prints tables.
bench *ARGS:
    cd benches/peers && cargo run --release -- {{ARGS}}
# What the test for invalidated references costs.
bench-barrier *ARGS:
    bash benches/barrier.sh {{ARGS}}
bench-layout *ARGS:
    cd benches/layout && cargo run --release -- {{ARGS}}
# Predicates by an interpreter, by closures and as machine code.
bench-predicates *ARGS:
    cd benches/predicates && cargo run --release -- {{ARGS}}
