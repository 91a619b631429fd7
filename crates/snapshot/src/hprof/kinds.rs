//! The types that fields and elements have, and how Java's names are written.

use heaphound_heap::PlainKind;

/// The type of a field or an element, as a dump numbers it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Type {
    Object,
    Boolean,
    Char,
    Float,
    Double,
    Byte,
    Short,
    Int,
    Long,
}

/// The types of primitive arrays, in the order of their numbers.
pub const PRIMITIVES: [Type; 8] = [
    Type::Boolean,
    Type::Char,
    Type::Float,
    Type::Double,
    Type::Byte,
    Type::Short,
    Type::Int,
    Type::Long,
];

impl Type {
    pub fn from_tag(tag: u8) -> Option<Self> {
        match tag {
            2 => Some(Self::Object),
            4..=11 => Some(PRIMITIVES[tag as usize - 4]),
            _ => None,
        }
    }

    /// Its place among [`PRIMITIVES`].
    pub fn primitive(self) -> usize {
        let place = PRIMITIVES.iter().position(|&it| it == self);
        place.expect("references are no primitives")
    }

    /// Bytes that a value takes in a file whose ids have `id_bytes`.
    pub fn bytes(self, id_bytes: usize) -> usize {
        match self {
            Self::Object => id_bytes,
            Self::Boolean | Self::Byte => 1,
            Self::Char | Self::Short => 2,
            Self::Float | Self::Int => 4,
            Self::Double | Self::Long => 8,
        }
    }

    /// How a field of that type is read; none is a reference.
    pub fn field_kind(self) -> Option<PlainKind> {
        Some(match self {
            Self::Object => return None,
            Self::Boolean => PlainKind::Bool,
            Self::Char => PlainKind::Char,
            Self::Float => PlainKind::F32,
            Self::Double => PlainKind::F64,
            Self::Byte => PlainKind::I8,
            Self::Short => PlainKind::I16,
            Self::Int => PlainKind::I32,
            Self::Long => PlainKind::I64,
        })
    }

    /// How an element of that type is read. Those of `char[]` are units of UTF-16, not all of which are
    /// characters.
    pub fn element_kind(self) -> Option<PlainKind> {
        match self {
            Self::Char => Some(PlainKind::U16),
            other => other.field_kind(),
        }
    }

    /// The name of a class of arrays, as people write it.
    pub fn array_name(self) -> &'static str {
        match self {
            Self::Object => "java.lang.Object[]",
            Self::Boolean => "boolean[]",
            Self::Char => "char[]",
            Self::Float => "float[]",
            Self::Double => "double[]",
            Self::Byte => "byte[]",
            Self::Short => "short[]",
            Self::Int => "int[]",
            Self::Long => "long[]",
        }
    }
}

/// A class as Java programs write it: `java.lang.String` for `java/lang/String`, `int[]` for `[I`,
/// `java.util.HashMap$Node[]` for `[Ljava/util/HashMap$Node;`.
pub fn class_name(raw: &str) -> String {
    let element = raw.trim_start_matches('[');
    let dimensions = raw.len() - element.len();
    if dimensions == 0 {
        return dotted(raw);
    }
    let name = match element {
        "Z" => "boolean".into(),
        "C" => "char".into(),
        "F" => "float".into(),
        "D" => "double".into(),
        "B" => "byte".into(),
        "S" => "short".into(),
        "I" => "int".into(),
        "J" => "long".into(),
        class => {
            let inner = class.strip_prefix('L').and_then(|it| it.strip_suffix(';'));
            dotted(inner.unwrap_or(class))
        }
    };
    name + &"[]".repeat(dimensions)
}

/// Slashes between packages become dots. The one before the number of a hidden class, which a dump writes as
/// a plus, is a slash for Java: `Shop$$Lambda$14/0x0000000800c03000`.
fn dotted(raw: &str) -> String {
    let name = raw.replace('/', ".");
    match name.rfind("+0x") {
        Some(at) => format!("{}/{}", &name[..at], &name[at + 1..]),
        None => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_written_as_in_java() {
        for (raw, name) in [
            ("java/lang/String", "java.lang.String"),
            ("[I", "int[]"),
            ("[[J", "long[][]"),
            ("[Ljava/util/HashMap$Node;", "java.util.HashMap$Node[]"),
            ("[[Ljava/lang/Object;", "java.lang.Object[][]"),
            ("java.lang.String[]", "java.lang.String[]"),
            ("a/B$$Lambda$14+0x00c0", "a.B$$Lambda$14/0x00c0"),
            ("", ""),
            ("[", "[]"),
            ("[L;", "[]"),
        ] {
            assert_eq!(class_name(raw), name);
        }
    }
}
