//! Size classes of the heap: multiples of 16 up to 1024, then four steps to each doubling, below a megabyte.

/// How many classes there are.
pub const CLASSES: usize = 64 + 4 * 11;

/// The class of a size below a megabyte, and the size of its blocks.
pub fn class_of(size: usize) -> (usize, usize) {
    if size <= 1024 {
        let class = size.max(1).div_ceil(16) - 1;
        return (class, (class + 1) * 16);
    }
    let power = (size - 1).ilog2() as usize;
    let step = 1 << (power - 2);
    let steps = size.div_ceil(step);
    (64 + (power - 10) * 4 + (steps - 5), steps * step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_fits_the_blocks_of_its_class() {
        // One block of a class must do for whoever asks for that class again.
        let mut lengths = [0; CLASSES];
        for size in 0..1 << 20 {
            let (class, length) = class_of(size);
            assert!(size <= length, "{size}");
            assert!(lengths[class] == 0 || lengths[class] == length, "{size}: one class, one length");
            lengths[class] = length;
        }
    }

    #[test]
    fn larger_sizes_have_the_same_or_a_later_class() {
        let classes: Vec<usize> = (1..1 << 20).map(|size| class_of(size).0).collect();
        assert!(classes.is_sorted());
        assert_eq!(*classes.last().expect("there are sizes"), class_of((1 << 20) - 1).0);
        assert!(classes.iter().all(|class| *class < CLASSES));
    }

    #[test]
    fn no_block_is_a_quarter_too_large() {
        // Above the small ones, where 16 bytes are the least.
        for size in 1025..1 << 20 {
            assert!(class_of(size).1 * 4 < size * 5 + 4, "{size}");
        }
    }
}
