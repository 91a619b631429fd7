//! What a heap is written into: links, pipes, files with permissions.
#![cfg(unix)]

use std::fs::{self, OpenOptions, Permissions};
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use heaphound_heap::snapshot::Snapshot;
use heaphound_snapshot::{Format, read, read_file, write_file};

fn heap() -> Snapshot {
    read(b"root main -> A#1\nA#1.x -> A#2", "", &mut |_, _| {}).unwrap()
}

fn write(path: &Path) {
    write_file(path, &heap(), Format::Text, &mut |_, _| {}).unwrap();
}

fn folder(name: &str) -> PathBuf {
    let name = format!("heaphound-{name}-{}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn a_link_stays_a_link() {
    let folder = folder("links");
    for there in [false, true] {
        let (link, file) = (folder.join("link.heap"), folder.join("file.heap"));
        let _ = fs::remove_file(&link);
        assert_eq!(file.exists(), there);
        symlink("file.heap", &link).unwrap();
        write(&link);
        assert!(link.is_symlink());
        assert_eq!(read_file(&file, &mut |_, _| {}).unwrap().len(), 2);
    }
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_file_keeps_its_permissions() {
    let folder = folder("permissions");
    let file = folder.join("secret.heap");
    write(&file);
    fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    write(&file);
    let mode = fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_pipe_is_written_into_and_not_replaced() {
    const NONBLOCK: i32 = 0o4000;
    let folder = folder("pipes");
    let pipe = folder.join("pipe.heap");
    let made = Command::new("mkfifo").arg(&pipe).status();
    if !made.is_ok_and(|it| it.success()) {
        return;
    }
    let mut reader = OpenOptions::new()
        .read(true)
        .custom_flags(NONBLOCK)
        .open(&pipe)
        .unwrap();
    write(&pipe);
    assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());
    let mut text = Vec::new();
    reader.read_to_end(&mut text).unwrap();
    assert_eq!(read(&text, "", &mut |_, _| {}).unwrap().len(), 2);
    fs::remove_dir_all(&folder).unwrap();
}
