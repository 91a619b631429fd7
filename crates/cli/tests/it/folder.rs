//! A folder of a test's own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use expect_test::Expect;

use crate::{run_in, told};

/// A folder with the heap of a web server in it. It is removed in the end.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let name = format!("heaphound-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/heaps/web.heap");
        fs::copy(web, path.join("web.heap")).unwrap();
        Self(path)
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.0.join(name), bytes).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap()
    }

    /// Runs `heaphound` here.
    pub fn check(&self, line: &str, expect: Expect) {
        expect.assert_eq(&told(&run_in(&self.0, line)));
    }

    /// Runs a line of a shell here, where `$H` is `heaphound`.
    pub fn sh(&self, line: &str) -> Output {
        self.shell(line).output().unwrap()
    }

    pub fn shell(&self, line: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", line]).current_dir(&self.0);
        command.env("H", env!("CARGO_BIN_EXE_heaphound"));
        command
    }

    /// Returns the names of all files, in order.
    pub fn files(&self) -> Vec<String> {
        let files = fs::read_dir(&self.0).unwrap();
        let name = |it: std::io::Result<fs::DirEntry>| it.unwrap().file_name();
        let mut names: Vec<String> = files.map(|it| name(it).into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
