//! The operations that make, find and delete sandboxes, and those without one.

use serde_json::{Value, json};

use super::operation::{Access, Operation};
use super::requests::{CreateSandbox, IssueToken, PatchSandbox, Revoke};
use crate::http::wire;

/// The operations.
pub fn operations() -> Vec<Operation> {
    let mut all = vec![
        live("/livez", "live"),
        live("/healthz", "healthy"),
        Operation::new(
            Access::Open,
            "get",
            "/readyz",
            ("service", "ready", "Whether the server can work"),
            "503 says in `details` what is missing. `degraded` names what is away without being needed.",
        )
        .reply::<wire::Ready>(200, "It can.")
        .codes(&["STORE_UNAVAILABLE"]),
        Operation::new(Access::Open, "get", "/openapi.json", ("service", "openapi", "This document"), "")
            .answer(200, "The document.", Some(("application/json", json!({"type": "object"}))), json!({})),
        Operation::new(Access::Open, "get", "/docs", ("service", "docs", "This document, to read"), "")
            .answer(200, "A page that needs no other host.", Some(("text/html", text())), json!({})),
        issue("/v1/auth/bootstrap", "bootstrap", Access::Secret("authSecret"), "Issue a token"),
        issue(
            "/v1/auth/admin",
            "issueAsAdmin",
            Access::Secret("adminSecret"),
            "Issue a token as an operator",
        ),
    ];
    all.extend(sandboxes());
    all.extend(operators());
    all
}

fn operators() -> Vec<Operation> {
    let new = |method, path, names, about: &str| {
        let secret = Access::Secret("adminSecret");
        Operation::new(secret, method, path, names, about).codes(&[
            "FORBIDDEN",
            "RATE_LIMITED",
            "UNKNOWN_FIELD",
            "AUTH_UNKNOWN_TENANT",
            "STORE_UNAVAILABLE",
        ])
    };
    let tenant = || json!({"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$", "default": "default"});
    vec![
        new(
            "get",
            "/v1/admin/sandboxes",
            ("operators", "listAllSandboxes", "List the sandboxes of all owners"),
            "Of one tenant, newest first.",
        )
        .query("tenant", tenant(), "Which tenant.")
        .query(
            "owner",
            json!({"type": "string", "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f]+$", "maxLength": 256}),
            "Those of this owner alone.",
        )
        .query(
            "limit",
            json!({"type": "integer", "minimum": 1, "maximum": 1000, "default": 100}),
            "Sandboxes of one page.",
        )
        .query("cursor", json!({"type": "string", "format": "cursor"}), "`nextCursor` of the page before.")
        .reply::<wire::SandboxPage>(200, "A page."),
        new(
            "delete",
            "/v1/admin/sandboxes/{id}",
            ("operators", "deleteAnySandbox", "Delete a sandbox, whoever owns it"),
            "As its owner would.",
        )
        .query("tenant", tenant(), "Which tenant.")
        .query("force", json!({"type": "boolean", "default": false}), "End a running script.")
        .answer(204, "It is gone.", None, json!({}))
        .codes(super::operation::TURN)
        .codes(&["CONFLICT", "OUTCOME_UNKNOWN"]),
        new(
            "post",
            "/v1/admin/revoke",
            ("operators", "revoke", "Revoke tokens"),
            "One by its `jti`, or with `sub` all of an owner that were made until now. Effective here at \
             once, on other replicas within 30 s.",
        )
        .json::<Revoke>(true, json!({"sub": "alice"}))
        .reply::<wire::Revoked>(200, "They are revoked.")
        .codes(&["OUTCOME_UNKNOWN"]),
    ]
}

fn text() -> Value {
    json!({"type": "string"})
}

fn live(path: &'static str, id: &str) -> Operation {
    let names = ("service", id, "Whether the process answers");
    Operation::new(Access::Open, "get", path, names, "").reply::<wire::Live>(200, "It does.")
}

fn issue(path: &'static str, id: &str, access: Access, summary: &str) -> Operation {
    let about = "Every token that is issued and every refusal is in the audit log.";
    Operation::new(access, "post", path, ("tokens", id, summary), about)
        .json::<IssueToken>(true, json!({"sub": "alice", "expiresIn": "24h"}))
        .reply::<wire::Token>(201, "The token.")
        .codes(&["FORBIDDEN", "RATE_LIMITED", "AUTH_INVALID", "AUTH_UNKNOWN_TENANT"])
}

fn sandboxes() -> Vec<Operation> {
    let new = |method, path, names, about: &str| Operation::new(Access::Token, method, path, names, about);
    let one = "/v1/sandboxes/{id}";
    let example = json!({"name": "work", "env": {"LANG": "C"}, "files": {"/home/user/a.txt": "hello\n"}});
    vec![
        new(
            "post",
            "/v1/sandboxes",
            ("sandboxes", "createSandbox", "Make a sandbox"),
            "All of it is there, or nothing. With `unique` the name is held alone, like a lock, until the \
             sandbox is deleted or lets go of it.",
        )
        .query(
            "ifExists",
            json!({"type": "string", "enum": ["return"]}),
            "When the unique name is held: answer 200 with its holder instead of 409.",
        )
        .json::<CreateSandbox>(false, example)
        .reply::<wire::Sandbox>(201, "It was made.")
        .links(201, &["getSandbox", "patchSandbox", "execSync", "writeFiles", "tree", "deleteSandbox"])
        .reply::<wire::Sandbox>(200, "`ifExists=return`: the holder of the name.")
        .codes(super::operation::WRITE_PATH)
        .codes(&[
            "ENOTDIR",
            "ELOOP",
            "ENAMETOOLONG",
            "EINVAL",
            "NAME_TAKEN",
            "NOT_PERMITTED",
            "ENOSPC",
            "MEMORY_LIMIT",
        ])
        .codes(&["SHUTTING_DOWN", "OUTCOME_UNKNOWN"]),
        new("get", "/v1/sandboxes", ("sandboxes", "listSandboxes", "List your sandboxes"), "Newest first.")
            .query(
                "limit",
                json!({"type": "integer", "minimum": 1, "maximum": 1000, "default": 100}),
                "Sandboxes of one page.",
            )
            .query(
                "cursor",
                json!({"type": "string", "format": "cursor"}),
                "`nextCursor` of the page before.",
            )
            .query("name", json!({"type": "string", "pattern": "^[^\\u0000]*$"}), "Those of this name alone.")
            .reply::<wire::SandboxPage>(200, "A page."),
        new("get", one, ("sandboxes", "getSandbox", "Look at a sandbox"), "The same on every replica.")
            .reply::<wire::Sandbox>(200, "The sandbox."),
        new(
            "patch",
            one,
            ("sandboxes", "patchSandbox", "Change name and environment"),
            "What is not named stays. No version of its own.",
        )
        .json::<PatchSandbox>(false, json!({"name": "work", "unique": true}))
        .reply::<wire::Sandbox>(200, "The sandbox as it is now.")
        .codes(&["NAME_TAKEN", "OUTCOME_UNKNOWN"]),
        new(
            "delete",
            one,
            ("sandboxes", "deleteSandbox", "Delete a sandbox"),
            "Waits for a running script, or with `force` ends it. Gone on every replica at once.",
        )
        .query("force", json!({"type": "boolean", "default": false}), "End a running script.")
        .answer(204, "It is gone.", None, json!({}))
        .codes(super::operation::TURN)
        .codes(&["CONFLICT", "OUTCOME_UNKNOWN"]),
    ]
}
