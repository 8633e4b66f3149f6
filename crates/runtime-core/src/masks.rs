//! Bytes of memory as masks over eight aligned ones.

use fencepost_trace::{Location, Size};

/// The range in pieces of eight aligned bytes: the address of each, and which of its bytes are meant.
pub fn eights(address: usize, size: usize) -> impl Iterator<Item = (usize, u8)> {
    let end = address.saturating_add(size);
    (address & !7..end).step_by(8).map(move |at| {
        let (from, to) = (address.max(at) - at, (end - at).min(8));
        (at, ((1u16 << to) - (1u16 << from)) as u8)
    })
}

/// A mask of bytes as a mask of bits.
pub fn wide(bytes: u8) -> u64 {
    (0..8).filter(|i| bytes >> i & 1 != 0).fold(0, |mask, i| mask | 0xff << (8 * i))
}

/// Some of eight bytes, in pieces as large as a processor accesses them.
pub fn pieces(at: usize, bytes: u8) -> impl Iterator<Item = Location> {
    let mut offset = 0;
    std::iter::from_fn(move || {
        while offset < 8 {
            let fits = |size: &Size| {
                let n = size.bytes() as usize;
                let mask = ((1u16 << n) - 1) as u8;
                offset % n == 0 && offset + n <= 8 && bytes >> offset & mask == mask
            };
            match [Size::B8, Size::B4, Size::B2, Size::B1].into_iter().find(fits) {
                Some(size) => {
                    let piece = Location::new((at + offset) as u64, size);
                    offset += size.bytes() as usize;
                    return Some(piece);
                }
                None => offset += 1,
            }
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes_of(pairs: impl Iterator<Item = (usize, u8)>) -> Vec<usize> {
        pairs.flat_map(|(at, mask)| (0..8).filter(move |i| mask >> i & 1 != 0).map(move |i| at + i)).collect()
    }

    #[test]
    fn a_range_has_each_of_its_bytes_once_and_no_other() {
        for address in 0x1000..0x1010 {
            for size in 0..40 {
                assert_eq!(bytes_of(eights(address, size)), (address..address + size).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn a_mask_of_bytes_has_their_bits() {
        assert_eq!(wide(0), 0);
        assert_eq!(wide(0xff), u64::MAX);
        assert_eq!(wide(0b1000_0010), 0xff00_0000_0000_ff00);
    }

    #[test]
    fn pieces_are_aligned_and_cover_the_mask() {
        for mask in 0..=u8::MAX {
            let all: Vec<Location> = pieces(0x1000, mask).collect();
            let bytes = all.iter().flat_map(|piece| piece.address..piece.end());
            let expected = (0..8).filter(|i| mask >> i & 1 != 0).map(|i| 0x1000 + i);
            assert!(bytes.eq(expected), "{mask:#b}");
            assert!(all.iter().all(|piece| piece.address.is_multiple_of(piece.size.bytes())), "{mask:#b}");
        }
        // As large as possible: eight bytes are one access, and five are two.
        assert_eq!(pieces(0x1000, 0xff).count(), 1);
        assert_eq!(pieces(0x1000, 0x1f).count(), 2);
    }
}
