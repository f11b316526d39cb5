//! Landlock: every right that the kernel knows is handled, and no rule grants one.

use ::landlock::{ABI, Access, AccessFs, AccessNet, LandlockStatus, Scope};
use ::landlock::{Ruleset, RulesetAttr, RulesetError};

/// The newest level that the crate knows; on older kernels it asks for what there is.
const NEWEST: ABI = ABI::V10;

/// Forbids the calling thread, and threads that it starts, to open or change any file, to bind
/// or connect sockets, and to signal other processes. Returns the level; `None` without Landlock.
pub(in crate::exec::process) fn restrict() -> Result<Option<u32>, RulesetError> {
    let status = Ruleset::default()
        .handle_access(AccessFs::from_all(NEWEST))?
        .handle_access(AccessNet::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?
        .create()?
        .restrict_self()?;
    Ok(match status.landlock {
        LandlockStatus::Available { effective_abi, .. } => Some(effective_abi as u32),
        LandlockStatus::NotEnabled | LandlockStatus::NotImplemented => None,
    })
}
