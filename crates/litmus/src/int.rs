//! C's integer types and their arithmetic.
//!
//! A value of any type is held in an `i64`: sign- or zero-extended from its type's width, a `uint64_t` as
//! its bits. So widening conversions cost nothing, and every other one is [`Int::wrap`].

use crate::ast::{BinaryOp, UnaryOp};
use fencepost_trace::Size;
use std::fmt;

/// An integer type, by width and sign.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[allow(missing_docs)]
pub enum Int {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
}

impl Int {
    /// How much memory it takes.
    pub fn size(self) -> Size {
        match self {
            Int::Bool | Int::I8 | Int::U8 => Size::B1,
            Int::I16 | Int::U16 => Size::B2,
            Int::I32 | Int::U32 => Size::B4,
            Int::I64 | Int::U64 => Size::B8,
        }
    }

    /// Conversion to this type, as an assignment does it.
    #[inline]
    pub fn wrap(self, value: i64) -> i64 {
        match self {
            Int::Bool => (value != 0) as i64,
            Int::I8 => value as i8 as i64,
            Int::I16 => value as i16 as i64,
            Int::I32 => value as i32 as i64,
            Int::U8 => value as u8 as i64,
            Int::U16 => value as u16 as i64,
            Int::U32 => value as u32 as i64,
            Int::I64 | Int::U64 => value,
        }
    }

    /// Does conversion to `to` leave every value of this type as it is held?
    pub(crate) fn fits(self, to: Int) -> bool {
        if matches!(to, Int::I64 | Int::U64) {
            return true;
        }
        let (from, to) = (self.range(), to.range());
        to.0 <= from.0 && from.1 <= to.1
    }

    /// Least and greatest value as they are held.
    fn range(self) -> (i64, i64) {
        match self {
            Int::Bool => (0, 1),
            Int::I8 => (i8::MIN as i64, i8::MAX as i64),
            Int::I16 => (i16::MIN as i64, i16::MAX as i64),
            Int::I32 => (i32::MIN as i64, i32::MAX as i64),
            Int::U8 => (0, u8::MAX as i64),
            Int::U16 => (0, u16::MAX as i64),
            Int::U32 => (0, u32::MAX as i64),
            Int::I64 | Int::U64 => (i64::MIN, i64::MAX),
        }
    }

    /// C's integer promotion: everything narrower than `int` becomes `int`.
    pub(crate) fn promoted(self) -> Int {
        if self.size() < Size::B4 { Int::I32 } else { self }
    }

    /// C's usual arithmetic conversions.
    pub(crate) fn common(self, other: Int) -> Int {
        let (a, b) = (self.promoted(), other.promoted());
        // From the type that absorbs all others to the one that absorbs none.
        [Int::U64, Int::I64, Int::U32].into_iter().find(|t| a == *t || b == *t).unwrap_or(Int::I32)
    }

    /// `a op b`, both converted to this type before (the count of a shift aside); `None` divides by 0.
    #[inline]
    pub(crate) fn binary(self, op: BinaryOp, a: i64, b: i64) -> Option<i64> {
        let wide_unsigned = self == Int::U64;
        let count = (b & (8 * self.size().bytes() as i64 - 1)) as u32;
        Some(match op {
            BinaryOp::Add => self.wrap(a.wrapping_add(b)),
            BinaryOp::Sub => self.wrap(a.wrapping_sub(b)),
            BinaryOp::Mul => self.wrap(a.wrapping_mul(b)),
            BinaryOp::Div | BinaryOp::Rem if b == 0 => return None,
            BinaryOp::Div if wide_unsigned => (a as u64 / b as u64) as i64,
            BinaryOp::Rem if wide_unsigned => (a as u64 % b as u64) as i64,
            BinaryOp::Div => self.wrap(a.wrapping_div(b)),
            BinaryOp::Rem => self.wrap(a.wrapping_rem(b)),
            BinaryOp::And => a & b,
            BinaryOp::Or => a | b,
            BinaryOp::Xor => a ^ b,
            BinaryOp::Shl => self.wrap(a.wrapping_shl(count)),
            BinaryOp::Shr if wide_unsigned => (a as u64 >> count) as i64,
            BinaryOp::Shr => a >> count,
            BinaryOp::Eq => (a == b) as i64,
            BinaryOp::Ne => (a != b) as i64,
            BinaryOp::Lt if wide_unsigned => ((a as u64) < b as u64) as i64,
            BinaryOp::Le if wide_unsigned => (a as u64 <= b as u64) as i64,
            BinaryOp::Gt if wide_unsigned => (a as u64 > b as u64) as i64,
            BinaryOp::Ge if wide_unsigned => (a as u64 >= b as u64) as i64,
            BinaryOp::Lt => (a < b) as i64,
            BinaryOp::Le => (a <= b) as i64,
            BinaryOp::Gt => (a > b) as i64,
            BinaryOp::Ge => (a >= b) as i64,
        })
    }

    /// `op a`, converted to this type before.
    #[inline]
    pub(crate) fn unary(self, op: UnaryOp, a: i64) -> i64 {
        match op {
            UnaryOp::Plus => a,
            UnaryOp::Minus => self.wrap(a.wrapping_neg()),
            UnaryOp::Complement => self.wrap(!a),
            UnaryOp::Not => (a == 0) as i64,
        }
    }
}

impl fmt::Display for Int {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Int::Bool => "bool",
            Int::I8 => "int8_t",
            Int::I16 => "int16_t",
            Int::I32 => "int",
            Int::I64 => "int64_t",
            Int::U8 => "uint8_t",
            Int::U16 => "uint16_t",
            Int::U32 => "unsigned",
            Int::U64 => "uint64_t",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_never_panics_and_wraps_at_the_width() {
        use BinaryOp::*;
        let min32 = i32::MIN as i64;
        assert_eq!(Int::I32.binary(Add, i32::MAX as i64, 1), Some(min32));
        assert_eq!(Int::I32.binary(Div, min32, -1), Some(min32));
        assert_eq!(Int::I64.binary(Rem, i64::MIN, -1), Some(0));
        assert_eq!(Int::I64.binary(Div, i64::MIN, -1), Some(i64::MIN));
        assert_eq!(Int::U32.binary(Sub, 0, 1), Some(0xffff_ffff));
        assert_eq!(Int::U64.binary(Shr, -1, 63), Some(1));
        assert_eq!(Int::U64.binary(Lt, 1, -1), Some(1));
        assert_eq!(Int::I32.binary(Shl, 1, 33), Some(2));
        assert_eq!(Int::I32.binary(Shr, -8, 1), Some(-4));
        assert_eq!(Int::I32.binary(Rem, 1, 0), None);
        assert_eq!(Int::U64.binary(Div, 1, 0), None);
        assert_eq!(Int::U32.unary(UnaryOp::Complement, 0), 0xffff_ffff);
        assert_eq!(Int::I64.unary(UnaryOp::Minus, i64::MIN), i64::MIN);
    }

    #[test]
    fn conversions_follow_c() {
        assert_eq!(Int::I8.common(Int::U16), Int::I32);
        assert_eq!(Int::I32.common(Int::U32), Int::U32);
        assert_eq!(Int::U32.common(Int::I64), Int::I64);
        assert_eq!(Int::U64.common(Int::I64), Int::U64);
        assert!(Int::U8.fits(Int::I16) && !Int::I8.fits(Int::U16) && !Int::I8.fits(Int::Bool));
        assert!(Int::I32.fits(Int::U64), "held as its bits");
        assert_eq!(Int::Bool.wrap(256), 1);
        assert_eq!(Int::I8.wrap(255), -1);
    }
}
