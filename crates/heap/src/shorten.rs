//! Shortens long paths, for people.
//!
//! A list of a thousand nodes gives a path of a thousand similar hops. The first and the last
//! of them are shown, and how many are between. Hops are similar if they go through the same
//! slot to the same class, whatever their index. If a path is still too long then, its middle
//! is not shown, and the text says so. Of a very long path the middle is not known either
//! ([`LeftOut`]).

use std::fmt;

use crate::finding::{Hop, LONGEST_PERIOD, LeftOut, Path};

/// A part of a shortened path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Piece<'a> {
    /// A hop.
    Hop(&'a Hop),
    /// Hops like those just before, this many times.
    Again {
        /// The part that repeats.
        part: &'a [Hop],
        /// How often it is there again.
        times: usize,
    },
    /// Hops that are not shown.
    Hidden {
        /// How many.
        hops: usize,
        /// Whether the path lists them all.
        listed: bool,
    },
}

impl fmt::Display for Piece<'_> {
    /// `.next → Node#3`, `… .next → Node, 997 times more`, `… 60 hops are not shown`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hop(hop) => write!(f, "{hop} → {}", hop.to),
            Self::Again { part, times } => {
                write!(f, "…")?;
                for hop in *part {
                    match hop.index {
                        Some(_) => write!(f, " […] → {}", hop.to.class)?,
                        None => write!(f, " {hop} → {}", hop.to.class)?,
                    }
                }
                match times {
                    1 => write!(f, ", once more"),
                    _ => write!(f, ", {times} times more"),
                }
            }
            Self::Hidden { hops: 1, .. } => write!(f, "… 1 hop is not shown"),
            Self::Hidden { hops, .. } => write!(f, "… {hops} hops are not shown"),
        }
    }
}

/// Fewer hops are not worth leaving out.
const WORTH_IT: usize = 3;
/// The most pieces that are shown, at each end of a path.
const MOST_AT_AN_END: usize = 20;

/// Returns the pieces of a path.
pub fn shorten(path: &Path) -> Vec<Piece<'_>> {
    let pieces = match path.left_out {
        None => pieces_of(&path.hops),
        Some(LeftOut { after, hops }) => {
            let (before, behind) = path.hops.split_at(after.min(path.hops.len()));
            let mut pieces = pieces_of(before);
            let listed = false;
            pieces.push(Piece::Hidden { hops, listed });
            pieces.append(&mut pieces_of(behind));
            pieces
        }
    };
    hide_the_middle(pieces)
}

/// Returns hops with their repetitions counted.
fn pieces_of(hops: &[Hop]) -> Vec<Piece<'_>> {
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
    pieces
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
    let parts = 1..=LONGEST_PERIOD.min(hops.len());
    let runs = parts.map(|part| (part, run(part)));
    // Of equally long runs, the one of the shortest part.
    let covered = |(part, times): &(usize, usize)| (part * times, std::cmp::Reverse(*part));
    runs.filter(|(_, times)| *times > 1)
        .max_by_key(covered)
        .unwrap_or((1, 1))
}

fn hide_the_middle(mut pieces: Vec<Piece<'_>>) -> Vec<Piece<'_>> {
    if pieces.len() <= 2 * MOST_AT_AN_END + 1 {
        return pieces;
    }
    let middle = MOST_AT_AN_END..pieces.len() - MOST_AT_AN_END;
    let hops = pieces[middle.clone()].iter().map(Piece::hops).sum();
    let unlisted = |piece: &Piece<'_>| matches!(piece, Piece::Hidden { listed: false, .. });
    let listed = !pieces.iter().any(unlisted);
    pieces.splice(middle, [Piece::Hidden { hops, listed }]);
    pieces
}

impl Piece<'_> {
    /// How many hops it stands for.
    fn hops(&self) -> usize {
        match self {
            Self::Hop(_) => 1,
            Self::Again { part, times } => part.len() * times,
            Self::Hidden { hops, .. } => *hops,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Named;

    /// Returns a path whose letters are classes, each reached through the slot `s`; a capital
    /// one is an element of an array.
    fn path(classes: &str) -> Path {
        let hop = |(i, class): (usize, char)| Hop {
            slot: if class.is_uppercase() { "" } else { "s" }.into(),
            index: class.is_uppercase().then_some(i as u32),
            to: Named::new(format!("{class}#{i}"), class),
        };
        let hops: Vec<Hop> = classes.chars().enumerate().map(hop).collect();
        Path::new(None, Named::new("first", "first"), hops)
    }

    fn check(classes: &str, expect: &str) {
        let path = path(classes);
        let piece = |piece: Piece<'_>| match piece {
            Piece::Hop(hop) => hop.to.class.clone(),
            Piece::Again { part, times } => {
                let part: String = part.iter().map(|hop| hop.to.class.as_str()).collect();
                format!("({part}×{times})")
            }
            Piece::Hidden { hops, .. } => format!("({hops} hidden)"),
        };
        let shown: String = shorten(&path).into_iter().map(piece).collect();
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
        check(&classes, &format!("{}(60 hidden){}", ends[0], ends[1]));
    }

    #[test]
    fn no_hop_is_lost() {
        for text in [
            "abcabcabcabcabdddddddaaaa",
            "aabaabaabaab",
            "abababababababc",
        ] {
            let path = path(text);
            let hops = shorten(&path).iter().map(Piece::hops).sum::<usize>();
            assert_eq!(hops, text.len());
        }
    }

    #[test]
    fn what_is_left_out_is_counted_with_what_is_hidden() {
        let mut long = path("abcaaaaaaaa");
        long.left_out = Some(LeftOut {
            after: 3,
            hops: 840,
        });
        let text = long.to_string();
        let expected = "first .s → a#0 .s → b#1 .s → c#2 (… 840 hops are not shown) \
                        .s → a#3 (… .s → a, 6 times more) .s → a#10";
        assert_eq!(text, expected);
        let classes: String = ('\u{4e00}'..).take(100).collect();
        let mut long = path(&classes);
        long.left_out = Some(LeftOut {
            after: 50,
            hops: 840,
        });
        let pieces = shorten(&long);
        let hidden = Piece::Hidden {
            hops: 900,
            listed: false,
        };
        assert_eq!(pieces[20], hidden);
        assert_eq!(pieces.iter().map(Piece::hops).sum::<usize>(), 940);
    }
}
