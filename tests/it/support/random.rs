//! Random input that a seed repeats.

/// A small generator (xorshift), so that a failing run can be repeated from its seed.
pub struct Random(pub u64);

impl Random {
    /// A number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    /// Puts some in another order.
    pub fn shuffle<T>(&mut self, some: &mut [T]) {
        for at in (1..some.len()).rev() {
            some.swap(at, self.below(at as u64 + 1) as usize);
        }
    }

    /// Another generator, that goes its own way.
    pub fn fork(&mut self) -> Self {
        Self(self.below(u64::MAX) | 1)
    }
}

/// `SQLFS_TEST_SEED`, or a new one; printed, so that the run can be repeated.
pub fn seed() -> u64 {
    #[expect(clippy::disallowed_methods, reason = "the seed of a run to repeat comes from the environment")]
    let seed = std::env::var("SQLFS_TEST_SEED").ok().and_then(|text| text.parse().ok());
    let seed = seed.unwrap_or_else(|| uuid::Uuid::new_v4().as_u128() as u64 | 1);
    println!("SQLFS_TEST_SEED={seed}");
    seed
}
