//! Plain data: the values that an object holds beside its references.

use std::fmt;

/// The type of a plain-data field.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PlainKind {
    /// `bool`
    Bool,
    /// `char`
    Char,
    /// `u8`
    U8,
    /// `u16`
    U16,
    /// `u32`
    U32,
    /// `u64` and, on 64-bit machines, `usize`
    U64,
    /// `i8`
    I8,
    /// `i16`
    I16,
    /// `i32`
    I32,
    /// `i64` and, on 64-bit machines, `isize`
    I64,
    /// `f32`
    F32,
    /// `f64`
    F64,
    /// A fieldless enum: the names of its variants, and the bytes that it takes.
    /// The stored number is the variant's place in the list.
    Enum {
        /// Variant names in declaration order.
        variants: &'static [&'static str],
    },
}

impl PlainKind {
    /// Bytes that a value takes.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Bool | Self::U8 | Self::I8 | Self::Enum { .. } => 1,
            Self::U16 | Self::I16 => 2,
            Self::Char | Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 => 8,
        }
    }

    /// Whether a field of this kind can hold these bits, zero-extended.
    pub fn is_valid(self, bits: u64) -> bool {
        match self {
            Self::Bool => bits <= 1,
            Self::Char => u32::try_from(bits).is_ok_and(|bits| char::from_u32(bits).is_some()),
            Self::Enum { variants } => bits < variants.len() as u64,
            _ => self.bytes() == 8 || bits >> (8 * self.bytes()) == 0,
        }
    }

    /// Whether it is an integer with a sign.
    pub const fn is_signed(self) -> bool {
        matches!(self, Self::I8 | Self::I16 | Self::I32 | Self::I64)
    }

    /// The bits of a field of this kind, zero-extended, with their sign if they have one.
    #[inline]
    pub fn extend(self, bits: u64) -> i64 {
        match self {
            Self::I8 => bits as i8 as i64,
            Self::I16 => bits as i16 as i64,
            Self::I32 => bits as i32 as i64,
            _ => bits as i64,
        }
    }

    /// The value that a field of this kind holds, given its bits, zero-extended.
    pub fn decode(self, bits: u64) -> Value {
        match self {
            Self::Bool => Value::Bool(bits != 0),
            Self::Char => Value::Char(char::from_u32(bits as u32).unwrap_or('\u{fffd}')),
            Self::U8 | Self::U16 | Self::U32 | Self::U64 => Value::Unsigned(bits),
            Self::I8 | Self::I16 | Self::I32 | Self::I64 => Value::Signed(self.extend(bits)),
            Self::F32 => Value::Float(f32::from_bits(bits as u32) as f64),
            Self::F64 => Value::Float(f64::from_bits(bits)),
            Self::Enum { variants } => {
                Value::Variant(variants.get(bits as usize).copied().unwrap_or("?"))
            }
        }
    }
}

impl PlainKind {
    /// The bits of a value in a field of this kind, if it fits.
    pub fn encode(self, value: Value) -> Option<u64> {
        let integer = match value {
            Value::Unsigned(value) => Some(value as i128),
            Value::Signed(value) => Some(value as i128),
            _ => None,
        };
        let within = |least: i128, most: i128| {
            let value = integer?;
            (least..=most).contains(&value).then_some(value as u64)
        };
        let float = match value {
            Value::Float(value) => Some(value),
            _ => integer.map(|value| value as f64),
        };
        match self {
            Self::Bool => match value {
                Value::Bool(value) => Some(value as u64),
                _ => None,
            },
            Self::Char => match value {
                Value::Char(value) => Some(value as u64),
                _ => None,
            },
            Self::U8 => within(0, u8::MAX as i128),
            Self::U16 => within(0, u16::MAX as i128),
            Self::U32 => within(0, u32::MAX as i128),
            Self::U64 => within(0, u64::MAX as i128),
            Self::I8 => within(i8::MIN as i128, i8::MAX as i128),
            Self::I16 => within(i16::MIN as i128, i16::MAX as i128),
            Self::I32 => within(i32::MIN as i128, i32::MAX as i128),
            Self::I64 => within(i64::MIN as i128, i64::MAX as i128),
            Self::F32 => float.map(|value| (value as f32).to_bits() as u64),
            Self::F64 => float.map(f64::to_bits),
            Self::Enum { variants } => match value {
                Value::Variant(name) => {
                    let place = variants.iter().position(|&variant| variant == name);
                    place.map(|place| place as u64)
                }
                _ => None,
            },
        }
    }
}

/// A plain-data value as a report or a query sees it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Value {
    /// A truth value.
    Bool(bool),
    /// A character.
    Char(char),
    /// An unsigned integer of any width.
    Unsigned(u64),
    /// A signed integer of any width.
    Signed(i64),
    /// A floating-point number of any width.
    Float(f64),
    /// A variant of a fieldless enum, by name.
    Variant(&'static str),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => write!(f, "{value}"),
            Self::Char(value) => write!(f, "{value:?}"),
            Self::Unsigned(value) => write!(f, "{value}"),
            Self::Signed(value) => write!(f, "{value}"),
            Self::Float(value) => write!(f, "{value:?}"),
            Self::Variant(name) => f.write_str(name),
        }
    }
}
