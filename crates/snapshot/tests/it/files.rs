//! What a heap is written into (links, pipes, files with permissions) and what it is read from.
#![cfg(unix)]

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use heaphound_heap::snapshot::Snapshot;
use heaphound_snapshot::{
    Format, MAGIC, read, read_at_most, read_file, read_heap_bytes, replace_file, write_file,
};

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

#[test]
fn a_file_that_is_not_completed_leaves_nothing() {
    let folder = folder("incomplete");
    let (new, old) = (folder.join("new.heap"), folder.join("old.heap"));
    fs::write(&old, "precious").unwrap();
    for path in [&new, &old] {
        let failed = replace_file(path, |mut file| {
            file.write_all(b"half")?;
            Err::<(), _>(io::Error::from(ErrorKind::StorageFull))
        });
        assert_eq!(failed.unwrap_err().kind(), ErrorKind::StorageFull);
        let panicked = std::panic::catch_unwind(|| {
            replace_file(path, |mut file| -> io::Result<()> {
                file.write_all(b"half")?;
                panic!("on purpose")
            })
        });
        assert!(panicked.is_err());
    }
    let files: Vec<_> = fs::read_dir(&folder).unwrap().collect();
    assert_eq!(files.len(), 1, "{files:?}");
    assert_eq!(fs::read_to_string(&old).unwrap(), "precious");
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_circle_of_links_is_refused() {
    let folder = folder("circle");
    symlink("b", folder.join("a")).unwrap();
    symlink("a", folder.join("b")).unwrap();
    assert!(write_file(folder.join("a"), &heap(), Format::Text, &mut |_, _| {}).is_err());
    assert!(folder.join("a").is_symlink() && folder.join("b").is_symlink());
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn an_input_without_end_is_refused() {
    const MOST: u64 = 1 << 20;
    let kind = |read: io::Result<Vec<u8>>| read.unwrap_err().kind();
    assert_eq!(
        kind(read_at_most(io::repeat(b'a'), MOST)),
        ErrorKind::FileTooLarge
    );
    assert_eq!(
        kind(read_heap_bytes(io::repeat(b'a'), MOST)),
        ErrorKind::FileTooLarge
    );
    let endless = MAGIC.chain(io::repeat(0));
    assert_eq!(
        kind(read_heap_bytes(endless, MOST)),
        ErrorKind::FileTooLarge
    );
    // What is no heap is not read to its end, whatever the limit.
    for byte in [0, 0xff] {
        let read = read_heap_bytes(io::repeat(byte), u64::MAX);
        assert_eq!(kind(read), ErrorKind::InvalidData);
    }
    let exact = vec![b'a'; MOST as usize];
    assert_eq!(read_at_most(&exact[..], MOST).unwrap(), exact);
    assert_eq!(read_heap_bytes(&exact[..], MOST).unwrap(), exact);
    // A character may lie across the end of what is looked at first.
    let text = format!("{}é", "a".repeat(4095));
    assert_eq!(
        read_heap_bytes(text.as_bytes(), MOST).unwrap(),
        text.as_bytes()
    );
    assert_eq!(read_heap_bytes(&b""[..], MOST).unwrap(), b"");
}
