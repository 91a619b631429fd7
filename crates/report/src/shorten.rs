//! Shortens long paths.
//!
//! A list of a thousand nodes gives a path of a thousand similar hops. The first and the last
//! of them are shown, and how many are between. Hops are similar if they go through the same
//! slot to the same class, whatever their index. If a path is still too long then, its middle
//! is left out, and the text says so.

use heaphound_heap::finding::Hop;

/// A part of a shortened path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Piece<'a> {
    /// A hop.
    Hop(&'a Hop),
    /// Hops like those just before, this many times.
    Again { part: &'a [Hop], times: usize },
    /// Hops that are not shown.
    LeftOut { hops: usize },
}

/// The longest part whose repetition is looked for.
const LONGEST_PART: usize = 8;
/// Fewer hops are not worth leaving out.
const WORTH_IT: usize = 3;
/// The most pieces that are shown, at each end of a path.
const MOST_AT_AN_END: usize = 20;

/// Returns the pieces of a path.
pub fn shorten(hops: &[Hop]) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut at = 0;
    while at < hops.len() {
        let (part, times) = longest_run(&hops[at..]);
        if part * times.saturating_sub(2) < WORTH_IT {
            pieces.push(Piece::Hop(&hops[at]));
            at += 1;
            continue;
        }
        let end = at + part * times;
        pieces.extend(hops[at..at + part].iter().map(Piece::Hop));
        pieces.push(Piece::Again {
            part: &hops[at..at + part],
            times: times - 2,
        });
        pieces.extend(hops[end - part..end].iter().map(Piece::Hop));
        at = end;
    }
    leave_out_the_middle(pieces)
}

/// Returns the part at the start that repeats over the most hops: its length, and how often it
/// is there.
fn longest_run(hops: &[Hop]) -> (usize, usize) {
    let same = |a: &Hop, b: &Hop| {
        a.slot == b.slot && a.index.is_some() == b.index.is_some() && a.to.class == b.to.class
    };
    let run = |part: usize| {
        let again = hops.iter().zip(&hops[part..]);
        1 + again.take_while(|(a, b)| same(a, b)).count() / part
    };
    let parts = 1..=LONGEST_PART.min(hops.len());
    let runs = parts.map(|part| (part, run(part)));
    // Of equally long runs, the one of the shortest part.
    let covered = |(part, times): &(usize, usize)| (part * times, std::cmp::Reverse(*part));
    runs.filter(|(_, times)| *times > 1)
        .max_by_key(covered)
        .unwrap_or((1, 1))
}

fn leave_out_the_middle(mut pieces: Vec<Piece<'_>>) -> Vec<Piece<'_>> {
    let count = |piece: &Piece<'_>| match piece {
        Piece::Hop(_) => 1,
        Piece::Again { part, times } => part.len() * times,
        Piece::LeftOut { hops } => *hops,
    };
    if pieces.len() <= 2 * MOST_AT_AN_END + 1 {
        return pieces;
    }
    let middle = MOST_AT_AN_END..pieces.len() - MOST_AT_AN_END;
    let hops = pieces[middle.clone()].iter().map(count).sum();
    pieces.splice(middle, [Piece::LeftOut { hops }]);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use heaphound_heap::finding::Named;

    /// Returns a path whose letters are classes, each reached through the slot `s`; a capital
    /// one is an element of an array.
    fn hops(classes: &str) -> Vec<Hop> {
        let hop = |(i, class): (usize, char)| Hop {
            slot: if class.is_uppercase() { "" } else { "s" }.into(),
            index: class.is_uppercase().then_some(i as u32),
            to: Named {
                name: format!("{class}#{i}"),
                class: class.into(),
            },
        };
        classes.chars().enumerate().map(hop).collect()
    }

    fn check(classes: &str, expect: &str) {
        let hops = hops(classes);
        let piece = |piece: Piece<'_>| match piece {
            Piece::Hop(hop) => hop.to.class.clone(),
            Piece::Again { part, times } => {
                let part: String = part.iter().map(|hop| hop.to.class.as_str()).collect();
                format!("({part}×{times})")
            }
            Piece::LeftOut { hops } => format!("({hops} left out)"),
        };
        let shown: String = shorten(&hops).into_iter().map(piece).collect();
        assert_eq!(shown, expect);
    }

    #[test]
    fn short_paths_stay_as_they_are() {
        check("", "");
        check("abc", "abc");
        check("aaaa", "aaaa");
        check("ababab", "ababab");
    }

    #[test]
    fn runs_show_their_ends_and_a_count() {
        check("aaaaa", "a(a×3)a");
        check("xaaaaaay", "xa(a×4)ay");
        check("xabababababy", "xab(ab×3)aby");
        check("abcabcabc", "abc(abc×1)abc");
        check("aaaaaaabbbbbbb", "a(a×5)ab(b×5)b");
    }

    #[test]
    fn indices_do_not_tell_hops_apart() {
        check("AAAAAA", "A(A×4)A");
    }

    #[test]
    fn what_does_not_repeat_loses_its_middle() {
        let classes: String = ('\u{4e00}'..).take(100).collect();
        let chars: Vec<char> = classes.chars().collect();
        let ends = [&chars[..20], &chars[80..]].map(|end| end.iter().collect::<String>());
        check(&classes, &format!("{}(60 left out){}", ends[0], ends[1]));
    }

    #[test]
    fn no_hop_is_lost() {
        for text in [
            "abcabcabcabcabdddddddaaaa",
            "aabaabaabaab",
            "abababababababc",
        ] {
            let hops = hops(text);
            let count = |piece: &Piece<'_>| match piece {
                Piece::Hop(_) => 1,
                Piece::Again { part, times } => part.len() * times,
                Piece::LeftOut { hops } => *hops,
            };
            assert_eq!(shorten(&hops).iter().map(count).sum::<usize>(), text.len());
        }
    }
}
