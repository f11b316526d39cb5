//! The one door through which randomness comes in, so that a simulated run can be
//! repeated: a thread that was given a seed draws from it, all others from the system.

use std::cell::Cell;
use std::marker::PhantomData;

use uuid::Uuid;

thread_local! {
    /// State of the generator of a simulated run.
    static SEEDED: Cell<Option<u64>> = const { Cell::new(None) };
}

/// 128 bits, of which six are those that mark a UUID of version 4.
#[must_use]
pub fn uuid() -> Uuid {
    let Some(state) = SEEDED.get() else { return Uuid::new_v4() };
    let (high, state) = split_mix(state);
    let (low, state) = split_mix(state);
    SEEDED.set(Some(state));
    let bits = u128::from(high) << 64 | u128::from(low);
    uuid::Builder::from_random_bytes(bits.to_be_bytes()).into_uuid()
}

/// SplitMix64: a number and the next state.
fn split_mix(state: u64) -> (u64, u64) {
    let state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    (z ^ (z >> 31), state)
}

/// Makes this thread draw from `seed` until the returned value is dropped. For runs in
/// virtual time only: what is drawn can be foretold.
#[doc(hidden)]
#[must_use]
pub fn seeded(seed: u64) -> Seeded {
    SEEDED.set(Some(seed));
    Seeded(PhantomData)
}

/// See [`seeded`]. Bound to its thread.
#[doc(hidden)]
#[derive(Debug)]
pub struct Seeded(PhantomData<*const ()>);

impl Drop for Seeded {
    fn drop(&mut self) {
        SEEDED.set(None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_repeats_itself_and_ends_with_its_value() {
        let draw = |seed| {
            let _seeded = seeded(seed);
            [uuid(), uuid()]
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
        assert_eq!(draw(1)[0].get_version_num(), 4);
        assert_ne!(uuid(), uuid());
        assert!(!draw(1).contains(&uuid()));
    }
}
