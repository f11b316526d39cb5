//! What the operator lets sandboxes have: the network or not, some hosts of it, programs of a
//! language. It holds for sandboxes that were made before, too.

use serde_json::json;

use super::{INTERPRETERS, run_table, sandbox, server};
use crate::mcp::rig::Mcp;
use crate::support::programs::with;
use crate::support::web::Web;
use crate::support::{Server, TestStore};

#[tokio::test]
async fn without_the_network_none_is_given_and_none_is_used() {
    let web = Web::start().await;
    for interpreter in INTERPRETERS {
        let (mut server, api) = server(interpreter, &web.addr.to_string(), &[]).await;
        let id = sandbox(&api, json!(true)).await;
        run_table(&api, &id, &web.url(), &[("curl -s WEB/text", 0, "hello\n", "")]).await;
        server.set_env("NETWORK_ENABLED", "false");
        server.kill();
        server.start_again().await;
        let api = server.api().await;
        let before = web.connections();
        for network in [json!(true), json!({"allow": []}), json!({"allow": ["https://a.example/"]})] {
            let refused = api.post("/v1/sandboxes", &json!({"network": network})).await;
            let refused = refused.refused(403, "NOT_PERMITTED");
            let said = refused["error"].as_str().expect("a text");
            assert!(said.contains("turned off") && said.contains("NETWORK_ENABLED"), "{said}");
            let mcp = Mcp::connect(&api).await;
            let refused = mcp.failed("sandbox_create", json!({"network": network})).await;
            assert_eq!((&refused["code"], &refused["applied"]), (&json!("NOT_PERMITTED"), &json!("no")));
        }
        let off = "the network is turned off on this server";
        run_table(&api, &id, &web.url(), &[("curl -sS WEB/text", 7, "", off)]).await;
        assert_eq!(web.connections(), before);
        assert_eq!(api.sandbox(&id).await["network"], true, "the record says what was asked for");
        let plain = sandbox(&api, json!(false)).await;
        assert_eq!(api.stdout(&plain, "echo works").await, "works\n");
    }
}

#[tokio::test]
async fn the_operators_hosts_bound_every_list() {
    let (inside, outside) = (Web::start().await, Web::start().await);
    let private = format!("{},{}", inside.addr, outside.addr);
    for interpreter in INTERPRETERS {
        let (mut server, api) = server(interpreter, &private, &[]).await;
        let old = sandbox(&api, json!({"allow": [outside.url()]})).await;
        let all = sandbox(&api, json!(true)).await;
        for id in [&old, &all] {
            run_table(&api, id, &outside.url(), &[("curl -s WEB/text", 0, "hello\n", "")]).await;
        }
        let allowed = format!("*.example.com, {}", inside.addr);
        server.set_env("NETWORK_ALLOWED_HOSTS", &allowed);
        server.kill();
        server.start_again().await;
        let api = server.api().await;
        let mcp = Mcp::connect(&api).await;
        // A new list may name no other place, and is told which it may.
        let wide = json!({"network": {"allow": [inside.url(), outside.url()]}});
        let refused = api.post("/v1/sandboxes", &wide).await.refused(403, "NOT_PERMITTED");
        let said = refused["error"].as_str().expect("a text");
        assert!(said.contains(&format!("{}/ is not allowed", outside.url())), "{said}");
        assert!(said.contains("*.example.com") && said.contains(&inside.addr.to_string()), "{said}");
        assert_eq!(mcp.failed("sandbox_create", wide).await["code"], "NOT_PERMITTED");
        let narrow = sandbox(&api, json!({"allow": ["https://a.example.com/v1", inside.url()]})).await;
        mcp.ok("sandbox_create", json!({"network": {"allow": [inside.url()]}})).await;
        // Old and new, by list or without: what is within the bound, and nothing else.
        let before = outside.connections();
        let new = sandbox(&api, json!(true)).await;
        let bound = "this server lets sandboxes reach *.example.com, ";
        for id in [&old, &all, &new] {
            run_table(&api, id, &outside.url(), &[("curl -sS WEB/text", 7, "", bound)]).await;
        }
        for id in [&all, &new, &narrow] {
            run_table(&api, id, &inside.url(), &[("curl -s WEB/text", 0, "hello\n", "")]).await;
            // A redirect is a request as any other.
            let script = format!("curl -sSL 'WEB/redirect/302?{}/text'", outside.url());
            run_table(&api, id, &inside.url(), &[(&script, 7, "", "destination not allowed")]).await;
        }
        assert_eq!(outside.connections(), before, "the bound let something through");
    }
}

#[tokio::test]
async fn languages_without_places_are_not_given() {
    for (language, setting, program) in [
        ("python", "MAX_CONCURRENT_PYTHON", "python3 -c 'print(1)'"),
        ("javascript", "MAX_CONCURRENT_JS", "node -p 1"),
    ] {
        let mut server = Server::start_with(TestStore::sqlite(), &[]).await;
        let id = with(&server.api().await, language).await;
        assert_eq!(server.api().await.stdout(&id, program).await, "1\n");
        server.set_env(setting, "0");
        server.kill();
        server.start_again().await;
        let api = server.api().await;
        let refused = api.post("/v1/sandboxes", &json!({ language: true })).await;
        let refused = refused.refused(403, "NOT_PERMITTED");
        assert!(refused["error"].as_str().expect("a text").contains(setting), "{refused}");
        let reply = api.exec(&id, program).await;
        assert_eq!(reply["exitCode"], 127, "{reply}");
        assert!(reply["stderr"].as_str().expect("stderr").contains("this server runs none"), "{reply}");
    }
}
