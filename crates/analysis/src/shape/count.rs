//! What is counted of a structure, by names that mean the same from run to run.
//!
//! In the program these are enums. Profiles and findings spell them as text: `in=0`,
//! `.next`, `List.head`, `back by .prev`. Only this file reads and writes that text.

use std::fmt;
use std::str::FromStr;

use super::Degrees;
use crate::slot::SlotName;

/// One of the eight degrees: a number of references to or from other objects of the structure.
/// `in=0`, `out>2`
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Degree {
    /// Which references.
    pub side: Side,
    /// How many of them.
    pub number: Number,
}

/// Which references of an object are counted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Side {
    /// Those that lead to it.
    In,
    /// Those that it holds.
    Out,
}

/// How many references an object has. Three and more are the same.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Number {
    /// None.
    Zero,
    /// One.
    One,
    /// Two.
    Two,
    /// Three or more.
    More,
}

const NUMBERS: [Number; 4] = [Number::Zero, Number::One, Number::Two, Number::More];

impl Degree {
    /// Returns all eight, in the order of their names.
    pub fn all() -> impl Iterator<Item = Self> {
        [Side::In, Side::Out].into_iter().flat_map(Self::of_side)
    }

    /// Returns the four of one side. Their counts add up to all objects.
    pub fn of_side(side: Side) -> impl Iterator<Item = Self> {
        NUMBERS.into_iter().map(move |number| Self { side, number })
    }

    /// Returns how many objects have this degree.
    pub fn count(self, degrees: &Degrees) -> u64 {
        let counts = match self.side {
            Side::In => degrees.incoming,
            Side::Out => degrees.outgoing,
        };
        counts[self.number as usize]
    }
}

impl Number {
    /// Returns whether that many references are meant.
    pub fn includes(self, references: usize) -> bool {
        self as usize == references.min(Self::More as usize)
    }
}

impl fmt::Display for Degree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.side {
            Side::In => "in",
            Side::Out => "out",
        })?;
        f.write_str(match self.number {
            Number::Zero => "=0",
            Number::One => "=1",
            Number::Two => "=2",
            Number::More => ">2",
        })
    }
}

impl FromStr for Degree {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::all().find(|it| it.to_string() == text);
        found.ok_or_else(|| format!("`{text}` is not a degree"))
    }
}

/// A slot that can refer to an object of a structure.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Referrer {
    /// A slot of the structure's own class: `.next`.
    Own(SlotName),
    /// A slot of another class, with the class: `List.head`.
    Other(SlotName),
}

impl fmt::Display for Referrer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own(slot) => write!(f, ".{slot}"),
            Self::Other(slot) => write!(f, "{slot}"),
        }
    }
}

impl From<&str> for Referrer {
    fn from(text: &str) -> Self {
        match text.strip_prefix('.') {
            Some(slot) => Self::Own(slot.into()),
            None => Self::Other(text.into()),
        }
    }
}

/// What the exact relations of a structure are about.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Count {
    /// The references that a slot holds. Those of the structure's own slots lead anywhere,
    /// those of others lead to the structure.
    References(Referrer),
    /// The objects that no object of the structure refers to: heads of lists, roots of
    /// trees. `in=0`
    Heads,
    /// All objects of the structure. `instances`
    Instances,
}

const INSTANCES: &str = "instances";
const HEADS: &str = "in=0";

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::References(referrer) => write!(f, "{referrer}"),
            Self::Heads => f.write_str(HEADS),
            Self::Instances => f.write_str(INSTANCES),
        }
    }
}

impl FromStr for Count {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text {
            HEADS => Self::Heads,
            INSTANCES => Self::Instances,
            text if is_referrer(text) => Self::References(text.into()),
            text => return Err(format!("`{text}` is not something that is counted")),
        })
    }
}

/// A sum of hashes, which matchings are about. `.children[*]` are the elements of the arrays that
/// `.children` refers to.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum HashSum {
    /// Of all objects of the structure. `all`
    Objects,
    /// Of the targets of a slot's references. `to .next`, `to List.head`
    Targets(Referrer),
    /// Of the objects whose slot is not null; of elements, each object as often as it has some.
    /// `from .next`
    Sources(SlotName),
    /// Of those that no object of the structure refers to. `heads`
    Heads,
    /// Of the objects whose slot refers to themselves. `itself by .parent`
    Itself(SlotName),
    /// Of all objects, each as often as the array is long that a slot refers to.
    /// `length of .next`
    Length(SlotName),
    /// The same, of heads only. `length of heads' .next`
    HeadLength(SlotName),
    /// Of all objects, each as often as an element has nothing directly before it in the array that a
    /// slot refers to. `gaps of .children`
    Gaps(SlotName),
    /// Of the objects that one comes back to by following a slot, but for those that refer to themselves.
    /// `rings of .parent`
    Rings(SlotName),
    /// Of the objects whose slot refers to one that another array holds. `strays of .parent`
    Strays(SlotName),
    /// Of the arrays that hold each object of the structure once, and that have a null before an element.
    /// `gaps of holders`
    HolderGaps,
    /// Of (target, source) over the references of a slot. `back by .prev`
    Backward(Referrer),
    /// Of (source, target) over the references of a slot. `by .next`
    Forward(Referrer),
    /// Of what two slots of one object refer to, the second first. `back beside .next&from`
    BesideBack(Referrer),
    /// Of what two slots of one object refer to. `beside .next&from`
    Beside(Referrer),
}

impl HashSum {
    /// Returns whether a person would write it on the right side.
    pub(super) fn is_right(&self) -> bool {
        matches!(self, Self::Objects | Self::Backward(_))
    }

    /// Returns whether it is found by following references after marking (`walks.rs`).
    pub(super) fn is_walked(&self) -> bool {
        matches!(self, Self::Rings(_) | Self::Strays(_) | Self::HolderGaps)
    }

    /// Returns whether it is of pairs of objects.
    pub fn is_of_pairs(&self) -> bool {
        matches!(
            self,
            Self::Backward(_) | Self::Forward(_) | Self::BesideBack(_) | Self::Beside(_)
        )
    }
}

impl fmt::Display for HashSum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Objects => f.write_str("all"),
            Self::Heads => f.write_str("heads"),
            Self::Sources(slot) => write!(f, "from .{slot}"),
            Self::Targets(referrer) => write!(f, "to {referrer}"),
            Self::Itself(slot) => write!(f, "itself by .{slot}"),
            Self::Length(slot) => write!(f, "length of .{slot}"),
            Self::HeadLength(slot) => write!(f, "length of heads' .{slot}"),
            Self::Gaps(slot) => write!(f, "gaps of .{slot}"),
            Self::Rings(slot) => write!(f, "rings of .{slot}"),
            Self::Strays(slot) => write!(f, "strays of .{slot}"),
            Self::HolderGaps => f.write_str("gaps of holders"),
            Self::Backward(slot) => write!(f, "back by {slot}"),
            Self::Forward(slot) => write!(f, "by {slot}"),
            Self::BesideBack(slots) => write!(f, "back beside {slots}"),
            Self::Beside(slots) => write!(f, "beside {slots}"),
        }
    }
}

impl FromStr for HashSum {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        type Make = fn(&str) -> HashSum;
        let forms: [(&str, Make); 12] = [
            ("from .", |slot| HashSum::Sources(slot.into())),
            ("to ", |slot| HashSum::Targets(slot.into())),
            ("itself by .", |slot| HashSum::Itself(slot.into())),
            ("length of .", |slot| HashSum::Length(slot.into())),
            ("length of heads' .", |slot| {
                HashSum::HeadLength(slot.into())
            }),
            ("gaps of .", |slot| HashSum::Gaps(slot.into())),
            ("rings of .", |slot| HashSum::Rings(slot.into())),
            ("strays of .", |slot| HashSum::Strays(slot.into())),
            ("back by ", |slot| HashSum::Backward(slot.into())),
            ("by ", |slot| HashSum::Forward(slot.into())),
            ("back beside ", |slots| HashSum::BesideBack(slots.into())),
            ("beside ", |slots| HashSum::Beside(slots.into())),
        ];
        match text {
            "all" => return Ok(Self::Objects),
            "heads" => return Ok(Self::Heads),
            "gaps of holders" => return Ok(Self::HolderGaps),
            _ => {}
        }
        let found = forms.iter().find_map(|(start, make)| {
            let name = text.strip_prefix(start)?;
            // Behind a dot stands a slot of the structure's own, which may have any name.
            (start.ends_with('.') || is_referrer(name)).then(|| make(name))
        });
        found.ok_or_else(|| format!("`{text}` is not something that can be matched"))
    }
}

/// Returns whether a text can be a slot of the structure's own (`.next`) or of another class
/// (`List.head`, `Node[][*]`). Heaps have slots and classes of any name, the empty one among them.
fn is_referrer(text: &str) -> bool {
    text.contains('.') || text.ends_with("[*]")
}

#[cfg(feature = "export")]
mod as_text {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

    use super::{Count, Degree, HashSum};

    /// Serde support by way of the text.
    macro_rules! as_text {
        ($($name:ty),*) => {$(
            impl Serialize for $name {
                fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                    serializer.collect_str(self)
                }
            }

            impl<'de> Deserialize<'de> for $name {
                fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    let text = String::deserialize(deserializer)?;
                    text.parse().map_err(de::Error::custom)
                }
            }
        )*};
    }

    as_text!(Degree, Count, HashSum);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_survive_text() {
        let texts = ["in=0", "in>2", "out=1", "out=2"];
        for text in texts {
            assert_eq!(text.parse::<Degree>().unwrap().to_string(), text);
        }
        for text in [
            "in=0",
            "instances",
            ".next",
            "List.head",
            "Node[][*]",
            ".[*]",
            ".",
            ". ",
            "List.",
            " . ",
            "[*]",
        ] {
            assert_eq!(text.parse::<Count>().unwrap().to_string(), text);
        }
        for text in [
            "all",
            "by .next",
            "back by .[*]",
            "to .left",
            "to List.head",
            "to .",
            "from . ",
            "by List. ",
            "beside .next&from",
            "back beside Edge.next&from",
            "gaps of .children",
            "rings of .parent",
            "strays of .parent",
            "gaps of holders",
        ] {
            assert_eq!(text.parse::<HashSum>().unwrap().to_string(), text);
        }
        assert!("in=3".parse::<Degree>().is_err());
        assert!("about .next".parse::<HashSum>().is_err());
    }

    #[test]
    fn each_object_has_one_degree_of_a_side() {
        for references in 0..9 {
            let fits = Degree::of_side(Side::In).filter(|it| it.number.includes(references));
            assert_eq!(fits.count(), 1);
        }
    }
}
