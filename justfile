# `just` lists the recipes; the README's two commands need none of them.
_default:
    @just --list

# What the gate runs.
ci:
    bash .ci/run

# All tests, then a soak of a minute with each collector.
test:
    cargo test --workspace
    HEAPHOUND_SOAK_SECONDS=60 cargo test --release -p heaphound --test soak

# loom explores the schedules of the work-sharing pool.
loom:
    RUSTFLAGS="--cfg loom" cargo test --release -p heaphound-heap --test pool_loom

# Our heap against other people's, and the object layout; prints tables.
bench *ARGS:
    cd benches/peers && cargo run --release -- {{ARGS}}
bench-layout *ARGS:
    cd benches/layout && cargo run --release -- {{ARGS}}
