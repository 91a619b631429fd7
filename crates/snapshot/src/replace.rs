//! Writes files without losing what was there: beside the old file, and renamed when complete.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::mem;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, fchown};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::TempPath;

/// The files that are not complete yet. A file is removed when it is dropped from here.
static UNFINISHED: Mutex<Vec<TempPath>> = Mutex::new(Vec::new());

/// Writes a file. It replaces an old one, whose permissions it keeps, only when it is complete.
/// A link stays a link: its target is written. A device, a pipe and a file that is open already
/// (`/dev/stdout`) are not replaced, but written into. Returns what `write` returns.
///
/// Until it is complete, the file is called `.heaphound-….part`, in the same directory. It is removed
/// if writing fails. A program that is stopped by a signal leaves it behind, unless it calls
/// [`abandon_files`] before it ends.
///
/// # Errors
/// If it cannot be written. Then the old file stays.
pub fn replace_file<R>(
    path: impl AsRef<Path>,
    write: impl FnOnce(&File) -> io::Result<R>,
) -> io::Result<R> {
    let path = path.as_ref();
    let old = match fs::metadata(path) {
        Ok(old) => Some(old),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    if let Some(old) = &old {
        // Who may not write a file may not replace it either.
        let file = OpenOptions::new().write(true).open(path)?;
        if !old.is_file() {
            return write(&file);
        }
    }
    let Some(path) = behind_links(path) else {
        return write(&OpenOptions::new().append(true).open(path)?);
    };
    let mode = if old.is_some() { 0o600 } else { 0o666 };
    let (file, unfinished) = Unfinished::beside(&path, mode)?;
    let result = write(&file)?;
    if let Some(old) = &old {
        // Only a superuser can give files away; others keep what they write.
        let _ = fchown(&file, Some(old.uid()), Some(old.gid()));
        file.set_permissions(old.permissions())?;
    }
    // Renamed before its bytes are on the disk, a crash could leave an empty file.
    file.sync_all()?;
    drop(file);
    unfinished.rename(&path)?;
    Ok(result)
}

/// Removes all files that are not complete, and lets no thread begin or complete another one: it
/// would wait for ever. For programs that are about to end because of a signal.
pub fn abandon_files() {
    let mut unfinished = unfinished();
    unfinished.clear();
    mem::forget(unfinished);
}

fn unfinished() -> MutexGuard<'static, Vec<TempPath>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A file that is not complete. It is removed when this is dropped.
struct Unfinished(PathBuf);

impl Unfinished {
    /// Creates a file in the directory of another.
    fn beside(path: &Path, mode: u32) -> io::Result<(File, Self)> {
        let folder = match path.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        let mut all = unfinished();
        let created = tempfile::Builder::new()
            .prefix(".heaphound-")
            .suffix(".part")
            .make_in(folder, |name| {
                let mut options = OpenOptions::new();
                options.write(true).create_new(true).mode(mode).open(name)
            })?;
        let (file, name) = created.into_parts();
        let this = Self(name.to_path_buf());
        all.push(name);
        Ok((file, this))
    }

    /// Gives the file its name.
    fn rename(self, path: &Path) -> io::Result<()> {
        let mut all = unfinished();
        match take(&mut all, &self.0) {
            Some(name) => name.persist(path).map_err(|it| it.error),
            None => Ok(()),
        }
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let mut all = unfinished();
        drop(take(&mut all, &self.0));
    }
}

fn take(all: &mut Vec<TempPath>, name: &Path) -> Option<TempPath> {
    let at = all.iter().position(|it| **it == *name)?;
    Some(all.swap_remove(at))
}

/// Returns the target of a path that may be a link. The target need not exist. Returns nothing for a
/// file that is open already, as in `/dev/stdout`: whoever opened it wants that file.
fn behind_links(path: &Path) -> Option<PathBuf> {
    let is_open = |path: &Path| {
        let folder = path.parent().map(fs::canonicalize);
        folder.is_some_and(|it| it.is_ok_and(|it| it.starts_with("/proc")))
    };
    let mut path = path.to_path_buf();
    // It ends: the system has followed the links already, and would have said if they were a circle.
    while let Ok(next) = fs::read_link(&path) {
        if is_open(&path) {
            return None;
        }
        path.pop();
        path.push(next);
    }
    Some(path)
}
