//! Tables. The script sorts them; without it they are as they came.

use super::bounds;
use super::evidence;
use super::writer::Html;
use crate::document::{Cell, Table};
use crate::figures::{change, count};

/// Puts a table.
pub fn put(html: &mut Html, table: &Table) {
    let has_many = table.rows.len() >= bounds::SEARCHED_ROWS;
    html.raw("<figure class=\"table\">");
    if !table.caption.is_empty() {
        html.raw("<figcaption>")
            .text(&table.caption)
            .raw("</figcaption>");
    }
    html.raw(if has_many {
        "<div class=\"scroll\" data-searched>"
    } else {
        "<div class=\"scroll\">"
    });
    html.raw("<table><thead><tr>");
    for (number, title) in table.columns.iter().enumerate() {
        html.raw(match is_numeric(table, number) {
            true => "<th scope=\"col\" class=\"n\">",
            false => "<th scope=\"col\">",
        });
        html.text(title).raw("</th>");
    }
    html.raw("</tr></thead>\n<tbody>");
    for row in table.rows.iter().take(bounds::ROWS) {
        html.raw("<tr>");
        row.iter().for_each(|cell| put_cell(html, cell));
        html.raw("</tr>\n");
    }
    if table.rows.is_empty() {
        html.raw("<tr><td class=\"s\">none</td></tr>");
    }
    html.raw("</tbody></table></div>");
    let hidden = table.rows.len().saturating_sub(bounds::ROWS) as u64;
    if hidden + table.left_out > 0 {
        html.raw("<p class=\"more\">… and ")
            .text(&count(hidden + table.left_out))
            .raw(" more</p>");
    }
    html.raw("</figure>\n");
}

/// Returns whether a column is aligned at its right.
fn is_numeric(table: &Table, column: usize) -> bool {
    let mut cells = table.rows.iter().filter_map(|row| row.get(column));
    cells.any(|cell| {
        matches!(
            cell,
            Cell::Count(_) | Cell::Change(..) | Cell::Share(_) | Cell::Figure(..)
        )
    })
}

/// Bytes of a text from which on it takes several lines.
const LONG: usize = 40;

fn put_cell(html: &mut Html, cell: &Cell) {
    match cell {
        Cell::Empty => html.raw("<td>"),
        Cell::Text(text) if text.len() > LONG => html.raw("<td class=\"w long\">").text(text),
        Cell::Text(text) => html.raw("<td class=\"w\">").text(text),
        Cell::Name(name) => html.raw("<td class=\"c\">").text(name),
        Cell::Count(number) => html
            .raw("<td class=\"n\" data-v=\"")
            .number(*number)
            .raw("\">")
            .text(&count(*number)),
        Cell::Change(before, after) => {
            let more = *after as f64 - *before as f64;
            html.raw("<td class=\"n ")
                .raw(match before.cmp(after) {
                    std::cmp::Ordering::Less => "up",
                    std::cmp::Ordering::Equal => "same",
                    std::cmp::Ordering::Greater => "down",
                })
                .raw("\" data-v=\"")
                .rounded(more)
                .raw("\">")
                .text(&change(*before, *after))
        }
        Cell::Share(share) => {
            let percent = share.clamp(0.0, 1.0) * 100.0;
            html.raw("<td class=\"n share\" data-v=\"")
                .rounded(percent)
                .raw("\"><span class=\"bar\" style=\"--w:")
                .rounded(percent)
                .raw("%\"></span><span class=\"v\">")
                .text(&format!("{percent:.1} %"))
                .raw("</span>")
        }
        Cell::Figure(text, value) => html
            .raw("<td class=\"n\" data-v=\"")
            .rounded(if value.is_finite() { *value } else { 0.0 })
            .raw("\">")
            .text(text),
        Cell::Path(path) => {
            html.raw("<td>");
            evidence::put(html, path, false);
            &mut *html
        }
        Cell::Bars(numbers) => {
            let most = numbers.iter().copied().max().unwrap_or(0).max(1);
            html.raw("<td><span class=\"bars\">");
            for number in numbers {
                html.raw("<span><i style=\"--h:")
                    .rounded(*number as f64 * 100.0 / most as f64)
                    .raw("%\"></i>")
                    .text(&count(*number))
                    .raw("</span>");
            }
            html.raw("</span>")
        }
    };
    html.raw("</td>");
}
