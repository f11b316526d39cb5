//! A script from its first line to its change set.

use sqlfs::exec::End;

use crate::support::scripts::Sandbox;

#[tokio::test]
async fn a_script_prints_and_leaves_files() {
    let mut sandbox = Sandbox::new();
    let ran = sandbox.run("echo hi; echo err >&2; mkdir -p a/b; echo data > a/b/f; exit 7").await;
    assert_eq!((ran.stdout().as_str(), ran.stderr().as_str()), ("hi\n", "err\n"));
    assert_eq!(ran.ended.end, End::Exited(7));
    let next = sandbox.run("cat a/b/f; pwd").await;
    assert_eq!(next.stdout(), "data\n/home/user\n");
}
