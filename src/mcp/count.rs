//! What an operator sees of tool calls. Each call counts once, however it ends; labels are
//! names of tools and codes of our own tables, never a client's words.

use std::time::Duration;

use crate::clock::{self, Instant};
use crate::http::error::ApiError;
use crate::metrics::metrics;

/// The label of a tool that is not there.
const NO_TOOL: &str = "unknown";

/// A call under way. Dropped before it ended, it counts as cancelled: the client gave it up
/// or left, and the SDK lets go of the work.
#[derive(Debug)]
pub struct Counted {
    tool: &'static str,
    began: Instant,
    outcome: &'static str,
}

impl Counted {
    /// From now on.
    #[must_use]
    pub fn begin(tool: &'static str) -> Self {
        Self { tool, began: clock::now(), outcome: "cancelled" }
    }

    /// How long it has run.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// It came to its end; a script that exited with another code than 0 has not failed.
    pub fn ended(mut self, error: Option<&ApiError>) {
        self.outcome = if error.is_some() { "error" } else { "done" };
        if let Some(error) = error {
            metrics().mcp_errors.one([("code", error.code())]);
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        metrics().mcp_calls.note([("tool", self.tool), ("outcome", self.outcome)], self.began.elapsed());
    }
}

/// A call of a tool that is not there.
pub fn unknown_tool() {
    metrics().mcp_calls.note([("tool", NO_TOOL), ("outcome", "error")], Duration::ZERO);
}

/// A cancellation came; whether its call runs in this process.
pub fn cancellation(found: bool) {
    metrics().mcp_cancellations.one([("result", if found { "found" } else { "missed" })]);
}
