//! Paths: a hop a line. A long one is closed at first, and what it repeats is closed in it.

use heaphound_heap::finding::{Evidence, Hop, Named, Path, Shows};
use heaphound_heap::shorten::{Piece, shorten};

use super::bounds;
use super::writer::Html;

/// Puts paths, each with what it shows.
pub fn put_all(html: &mut Html, evidence: &[Evidence]) {
    for Evidence { shows, path } in evidence.iter().take(bounds::PATHS) {
        html.raw("<div class=\"evidence\">");
        if *shows != Shows::Way {
            html.raw("<p class=\"label\">")
                .text(&shows.to_string())
                .raw("</p>");
        }
        put(html, path, true);
        html.raw("</div>\n");
    }
    if let Some(left @ 1..) = evidence.len().checked_sub(bounds::PATHS) {
        html.raw("<p class=\"more\">… and ")
            .number(left)
            .raw(" paths more, which <code>--json</code> has</p>");
    }
}

/// Puts a path. A short one is open if that is wanted.
pub fn put(html: &mut Html, path: &Path, open: bool) {
    let pieces = shorten(path);
    if open && pieces.len() <= bounds::OPEN_PIECES {
        return put_pieces(html, path, &pieces);
    }
    html.raw("<details class=\"way\"><summary>");
    if let Some(root) = &path.root {
        html.raw("<span class=\"r\">")
            .text(&root.to_string())
            .raw("</span>");
    } else {
        put_object(html, &path.first);
    }
    html.raw(" <span class=\"s\">→ … →</span> ");
    put_object(html, path.last());
    html.raw(" <span class=\"s\">");
    match path.length() {
        0 => html.raw("directly"),
        1 => html.raw("1 hop"),
        many => html.number(many).raw(" hops"),
    };
    html.raw("</span></summary>");
    put_pieces(html, path, &pieces);
    html.raw("</details>");
}

fn put_pieces(html: &mut Html, path: &Path, pieces: &[Piece<'_>]) {
    html.raw("<ol class=\"path\">");
    html.raw("<li>");
    if let Some(root) = &path.root {
        html.raw("<span class=\"r\">")
            .text(&root.to_string())
            .raw("</span> <span class=\"s\">→</span> ");
    }
    put_object(html, &path.first);
    html.raw("</li>");
    for piece in pieces {
        match piece {
            Piece::Hop(hop) => put_hop(html, hop),
            Piece::Again { part, times } => {
                html.raw("<li class=\"again\"><details><summary>")
                    .text(&piece.to_string());
                html.raw("</summary><ol class=\"path\">");
                // The hops that are meant lie behind the part that was shown.
                let first = behind(path, part);
                let count = part.len() * times;
                let hops = path.hops.get(first..).unwrap_or_default();
                let listed = count.min(bounds::HOPS).min(hops.len());
                hops[..listed].iter().for_each(|hop| put_hop(html, hop));
                html.raw("</ol>");
                if let Some(left @ 1..) = count.checked_sub(listed) {
                    html.raw("<p class=\"more\">… and ")
                        .number(left)
                        .raw(" hops more</p>");
                }
                html.raw("</details></li>");
            }
            Piece::Hidden { .. } => {
                html.raw("<li class=\"again\">")
                    .text(&piece.to_string())
                    .raw("</li>");
            }
        }
    }
    html.raw("</ol>");
}

/// Returns where in a path the hops are that follow a part of it.
fn behind(path: &Path, part: &[Hop]) -> usize {
    let Some(first) = part.first() else { return 0 };
    let start = path.hops.iter().position(|it| std::ptr::eq(it, first));
    start.map_or(path.hops.len(), |it| it + part.len())
}

fn put_hop(html: &mut Html, hop: &Hop) {
    html.raw("<li><span class=\"f\">")
        .text(&hop.to_string())
        .raw("</span> <span class=\"s\">→</span> ");
    put_object(html, &hop.to);
    html.raw("</li>");
}

/// Puts an object. A click on it marks it wherever else it is.
pub fn put_object(html: &mut Html, object: &Named) {
    html.raw("<span class=\"o\">")
        .text(&object.name)
        .raw("</span>");
    if let Some(caption) = &object.caption {
        html.raw(" <span class=\"s\">").text(caption).raw("</span>");
    }
}
