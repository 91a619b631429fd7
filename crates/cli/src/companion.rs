//! Programs that this one starts, because it is built without a live heap: the lab and the demo.
//!
//! Among the sources, cargo builds them when they have changed; elsewhere they lie beside this program or on the path.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::problem::Problem;

/// A program that belongs to this one.
pub struct Companion {
    /// Its crate among ours.
    pub folder: &'static str,
    /// Its name.
    pub program: &'static str,
    /// The variable that names another one to start.
    pub variable: &'static str,
}

impl Companion {
    /// Becomes the other program; returns only if that does not work. `arguments` adds what it is to be told.
    pub fn start(&self, arguments: impl FnOnce(&mut Command)) -> Problem {
        let mut command = match self.command() {
            Ok(command) => command,
            Err(problem) => return problem,
        };
        arguments(&mut command);
        let error = command.exec();
        let program = command.get_program().to_string_lossy();
        let folder = self.folder;
        Problem::new(format!("cannot run {program}: {error}")).hint(format!(
            "`cargo install --path crates/{folder}` installs it"
        ))
    }

    fn command(&self) -> Result<Command, Problem> {
        if let Some(program) = std::env::var_os(self.variable) {
            return Ok(Command::new(program));
        }
        let beside = std::env::current_exe().ok();
        let beside: Option<PathBuf> = beside.map(|this| this.with_file_name(self.program));
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        if crates.join(self.folder).join("Cargo.toml").exists() {
            return self.built(&crates, beside);
        }
        Ok(match beside.filter(|it| it.exists()) {
            Some(beside) => Command::new(beside),
            None => Command::new(self.program),
        })
    }

    /// Returns a command that runs what is built from the sources. It may take a minute: cargo says so on stderr.
    fn built(&self, crates: &Path, beside: Option<PathBuf>) -> Result<Command, Problem> {
        let mut cargo = Command::new("cargo");
        // Where cargo has built this one in release, all that both consist of is there already. It is used as it is
        // if cargo is told of both, for it builds crates with the features that all want.
        let is_release = |it: &&PathBuf| {
            let folder = it.parent();
            folder.is_some_and(|it| it.file_name() == Some(OsStr::new("release")))
                && folder.and_then(Path::parent).is_some_and(is_target)
        };
        let Some(beside) = beside.as_ref().filter(is_release) else {
            cargo.args(["run", "--release", "--manifest-path"]);
            cargo
                .arg(crates.join(self.folder).join("Cargo.toml"))
                .arg("--");
            return Ok(cargo);
        };
        cargo.args(["build", "--release", "--bin", self.program]);
        cargo
            .args(["-p", "heaphound-cli", "-p", self.program])
            .current_dir(crates);
        cargo.arg("--target-dir").args(beside.ancestors().nth(2));
        match cargo.status() {
            Ok(status) if status.success() => Ok(Command::new(beside)),
            Ok(_) => Err(Problem::new(format!("{} could not be built", self.program))),
            Err(error) => Err(Problem::new(format!("cannot run cargo: {error}"))),
        }
    }
}

/// Returns whether cargo builds into a folder.
fn is_target(folder: &Path) -> bool {
    folder.join("CACHEDIR.TAG").exists()
}
