//! Finds Boehm's collector on this machine; without it the benchmark is built
//! without that competitor and says so when it runs.

fn main() {
    println!("cargo:rustc-check-cfg=cfg(boehm)");
    println!("cargo:rerun-if-changed=build.rs");
    // `probe` also prints the link flags and what to watch for changes.
    match pkg_config::Config::new()
        .atleast_version("8.0")
        .probe("bdw-gc")
    {
        Ok(_) => println!("cargo:rustc-cfg=boehm"),
        Err(_) => println!(
            "cargo:warning=Boehm's collector was not found (package libgc-dev, 8.0 or newer); it is left out"
        ),
    }
    println!("cargo:rustc-env=PEERS_RUSTC={}", rustc_version());
}

fn rustc_version() -> String {
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    std::process::Command::new(rustc)
        .arg("--version")
        .output()
        .ok()
        .and_then(|out| String::from_utf8(out.stdout).ok())
        .map_or_else(|| "unknown".into(), |text| text.trim().to_string())
}
