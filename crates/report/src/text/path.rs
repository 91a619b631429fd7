//! A path, on one line if it fits, else a hop a line.

use heaphound_heap::finding::{Hop, Path};

use super::page::Page;
use super::{DIM, PLAIN};
use crate::shorten::{Piece, shorten};

/// Puts a path, indented by that many columns.
pub fn put(page: &mut Page, path: &Path, indent: usize) {
    let pieces = shorten(&path.hops);
    let left = " ".repeat(indent);
    let whole = pieces.iter().all(|piece| matches!(piece, Piece::Hop(_)));
    if whole {
        let line = path.to_string();
        if indent + line.chars().count() <= page.width() {
            page.put(PLAIN, &format!("{left}{line}"));
            return page.end();
        }
    }
    let start = match &path.root {
        Some(root) => format!("{left}{root} → {}", path.first.name),
        None => format!("{left}{}", path.first.name),
    };
    page.put(PLAIN, &start);
    page.end();
    for piece in pieces {
        match piece {
            Piece::Hop(hop) => page.put(PLAIN, &format!("{left}  {hop} → {}", hop.to.name)),
            Piece::Again { part, times } => {
                page.put(DIM, &format!("{left}  {}", again(part, times)))
            }
            Piece::LeftOut { hops } => {
                page.put(
                    DIM,
                    &format!("{left}  … {hops} hops are not shown (JSON has them)"),
                );
            }
        }
        page.end();
    }
}

/// `… .next → Node, 997 times more`
fn again(part: &[Hop], times: usize) -> String {
    let slot = |hop: &Hop| match hop.index {
        Some(_) => "[…]".into(),
        None => format!(".{}", hop.slot),
    };
    let hops = part
        .iter()
        .map(|hop| format!("{} → {}", slot(hop), hop.to.class));
    let hops: Vec<String> = hops.collect();
    let often = match times {
        1 => "once more".into(),
        _ => format!("{times} times more"),
    };
    format!("… {}, {often}", hops.join(" "))
}
