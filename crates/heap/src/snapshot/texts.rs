//! Text that an object does not hold itself, but in an array: a string of a JVM.
//!
//! The array is kept once, as the dump has it, and decoded when somebody asks.

/// Where instances of a class have their text. Numbers are places among the class's fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TextPlace {
    /// The slot that refers to the array: bytes, or units of UTF-16.
    pub array: u32,
    /// The plain field that is 0 where bytes are Latin-1, and else where they are UTF-16.
    pub coder: Option<u32>,
    /// The plain fields that say which units are meant, where not all are: the first one, and how many.
    pub range: Option<(u32, u32)>,
}

/// How the elements of an array are characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Encoding {
    /// A byte each.
    Latin1,
    /// Two bytes each, the low one first.
    Utf16,
}

/// Decodes text. What is not a character (half of a pair) becomes U+FFFD.
pub fn decode(bytes: &[u8], encoding: Encoding) -> String {
    match encoding {
        Encoding::Latin1 => bytes.iter().map(|&byte| byte as char).collect(),
        Encoding::Utf16 => {
            let (units, _) = bytes.as_chunks::<2>();
            let units = units.iter().map(|unit| u16::from_le_bytes(*unit));
            let chars = char::decode_utf16(units);
            chars.map(|it| it.unwrap_or('\u{fffd}')).collect()
        }
    }
}
