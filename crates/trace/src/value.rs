//! Values of memory cells: up to 16 bytes, zero-extended.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// The bits of a memory cell, zero-extended to 16 bytes. Whether they are signed is for the program to know.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Value(pub u128);

impl Value {
    /// All bits zero.
    pub const ZERO: Value = Value(0);
}

impl From<u64> for Value {
    fn from(bits: u64) -> Self {
        Value(bits as u128)
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

// JSON numbers of more than 64 bits do not survive most readers, so that wide values are strings.
impl Serialize for Value {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match u64::try_from(self.0) {
            Ok(small) => s.serialize_u64(small),
            Err(_) => s.collect_str(&format_args!("{:#x}", self.0)),
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Bits;
        impl serde::de::Visitor<'_> for Bits {
            type Value = Value;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an unsigned number, or a wider one as a hexadecimal string")
            }
            fn visit_u64<E: serde::de::Error>(self, v: u64) -> Result<Value, E> {
                Ok(Value(v as u128))
            }
            fn visit_str<E: serde::de::Error>(self, v: &str) -> Result<Value, E> {
                let digits = v.strip_prefix("0x").ok_or_else(|| E::custom("a wide value starts with 0x"))?;
                u128::from_str_radix(digits, 16).map(Value).map_err(E::custom)
            }
        }
        d.deserialize_any(Bits)
    }
}
