//! A pool of two threads divides a sum.

use rayon::prelude::*;

fn main() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let sum: u32 = pool.install(|| [1, 2, 3, 4].par_iter().sum());
    assert_eq!(sum, 10);
    let (left, right) = pool.install(|| rayon::join(|| 1, || 2));
    assert_eq!(left + right, 3);
}
