//! A path, on one line if it fits, else a hop a line.

use heaphound_heap::finding::Path;
use heaphound_heap::shorten::{Piece, shorten};

use super::page::{Page, columns};
use super::{DIM, PLAIN};

/// Puts a path, indented by that many columns.
pub fn put(page: &mut Page, path: &Path, indent: usize) {
    let pieces = shorten(path);
    let left = " ".repeat(indent);
    let whole = pieces.iter().all(|piece| matches!(piece, Piece::Hop(_)));
    if whole {
        let line = path.to_string();
        if indent + columns(&line) <= page.width() {
            page.put(PLAIN, &format!("{left}{line}"));
            return page.end();
        }
    }
    let start = match &path.root {
        Some(root) => format!("{left}{root} → {}", path.first),
        None => format!("{left}{}", path.first),
    };
    page.put(PLAIN, &start);
    page.end();
    for piece in pieces {
        let style = match piece {
            Piece::Hop(_) => PLAIN,
            _ => DIM,
        };
        let more = match piece {
            Piece::Hidden { listed: true, .. } => " (JSON has them)",
            _ => "",
        };
        page.put(style, &format!("{left}  {piece}{more}"));
        page.end();
    }
}
