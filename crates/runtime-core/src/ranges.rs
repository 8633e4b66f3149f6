//! Lists of ranges of memory, as address and length.

/// Takes the pages of a range out of a list of ranges.
pub fn cut(list: &mut Vec<(usize, usize)>, address: usize, length: usize) {
    let (start, end) = (address, address + length.next_multiple_of(4096));
    let pieces = list
        .iter()
        .flat_map(|(at, length)| [(*at, (at + length).min(start)), ((*at).max(end), at + length)])
        .filter(|(from, to)| from < to)
        .map(|(from, to)| (from, to - from))
        .collect();
    *list = pieces;
}

#[cfg(test)]
mod tests {
    use super::cut;

    #[test]
    fn what_is_left_of_a_range_stays() {
        const PAGE: usize = 4096;
        let cut_out = |address, length| {
            let mut list = vec![(PAGE, 4 * PAGE), (8 * PAGE, PAGE)];
            cut(&mut list, address, length);
            list
        };
        assert_eq!(cut_out(2 * PAGE, PAGE), [(PAGE, PAGE), (3 * PAGE, 2 * PAGE), (8 * PAGE, PAGE)]);
        assert_eq!(cut_out(PAGE, 4 * PAGE), [(8 * PAGE, PAGE)]);
        // A part of a page is the page.
        assert_eq!(cut_out(4 * PAGE, 5 * PAGE - 1), [(PAGE, 3 * PAGE)]);
        assert_eq!(cut_out(6 * PAGE, PAGE), [(PAGE, 4 * PAGE), (8 * PAGE, PAGE)]);
    }
}
