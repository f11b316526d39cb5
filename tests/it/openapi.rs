//! `/openapi.json` says what the server does: the same routes, the same fields, the same
//! codes. What it says of replies is checked by `openapi_schemathesis.rs`.

use std::collections::{BTreeMap, BTreeSet};

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::http::send;
use crate::support::operations::{Operation, Scene, all};
use crate::support::{Server, TestStore};

/// Routes that describe themselves.
const ELSEWHERE: &[&str] = &["/mcp"];

/// Path → methods, as the source of the router has them.
fn routes() -> BTreeMap<String, BTreeSet<String>> {
    let source = include_str!("../../src/http.rs");
    let router = source.split_once("pub fn router").expect("the router").1;
    // Routes that come from elsewhere would escape this: MCP's is the only one.
    let router = router.split_once("\n}\n").expect("its end").0;
    assert_eq!((router.matches(".merge(").count(), router.matches(".nest").count()), (1, 0));
    assert!(router.contains(".merge(mcp::routes(&state))"));
    assert_eq!(include_str!("../../src/mcp.rs").matches(".route(").count(), ELSEWHERE.len());
    let mut routes = BTreeMap::new();
    for part in router.split(".route(").skip(1) {
        let path = part.split('"').nth(1).expect("a path").replace("{*", "{");
        let methods = ["get", "put", "post", "patch", "delete"];
        let has = |method: &&str| part.contains(&format!("{method}("));
        let methods: BTreeSet<String> = methods.iter().filter(|m| has(m)).map(|m| (*m).to_owned()).collect();
        assert!(!methods.is_empty(), "{path} has no methods");
        routes.insert(path, methods);
    }
    routes.retain(|path, _| !ELSEWHERE.contains(&path.as_str()));
    routes
}

#[tokio::test]
async fn every_route_is_documented_and_every_documented_one_is_there() {
    let server = Server::start(TestStore::sqlite()).await;
    let api = server.api().await;
    let mut documented: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for operation in all(&api).await {
        documented.entry(operation.path).or_default().insert(operation.method.as_str().to_lowercase());
    }
    assert_eq!(documented, routes());
    // And it is so: other methods are refused, naming exactly those.
    let scene = Scene::new(&server).await;
    for (path, methods) in documented {
        let reply = send(api.request(Method::OPTIONS, &scene.fill(&path))).await;
        reply.error(405, "METHOD_NOT_ALLOWED");
        let allowed: BTreeSet<String> =
            reply.header("allow").split(',').map(|m| m.trim().to_lowercase()).collect();
        let mut wanted = methods.clone();
        if methods.contains("get") {
            wanted.insert("head".into());
        }
        assert_eq!(allowed, wanted, "{path}");
    }
}

#[tokio::test]
async fn examples_are_accepted_and_so_is_each_field() {
    let server =
        Server::start_with(TestStore::sqlite(), &[("ADMIN_SECRET", crate::support::operations::ADMIN)]).await;
    let document = server.api().await.get("/openapi.json").await.expect(200).json();
    for operation in all(&server.api().await).await {
        let scene = Scene::new(&server).await;
        let reply = send(scene.request(&operation)).await;
        assert!(reply.status < 300, "{operation:?}: {reply:?}");
        let Some(example) = operation.json_example() else { continue };
        let schema = operation.json_schema(&document);
        let fields: BTreeSet<&String> = schema["properties"].as_object().expect("fields").keys().collect();
        let required: BTreeSet<&str> = schema["required"].as_array().map_or_else(BTreeSet::new, |names| {
            names.iter().map(|name| name.as_str().expect("a name")).collect()
        });
        // The server's own list of fields comes back with the refusal of another one.
        let mut more = example.clone();
        more["undocumented"] = json!(1);
        let refusal = scene.send_json(&operation, &more).await.refused(400, "UNKNOWN_FIELD");
        let known: BTreeSet<String> = serde_json::from_value(refusal["details"].clone()).expect("details");
        assert_eq!(known.iter().collect::<BTreeSet<_>>(), fields, "{operation:?}");
        for field in fields {
            // Of a wrong type it is refused under its own name: so it is read.
            let mut wrong = example.clone();
            wrong[field] = json!([[]]);
            let refusal = scene.send_json(&operation, &wrong).await.refused(400, "INVALID_INPUT");
            assert!(refusal["error"].as_str().expect("text").contains(field.as_str()), "{refusal}");
            // null is no value, but for the name that a PATCH takes away.
            let mut null = example.clone();
            null[field] = Value::Null;
            let nullable =
                schema["properties"][field]["type"].as_array().is_some_and(|t| t.contains(&json!("null")));
            if !nullable {
                scene.send_json(&operation, &null).await.refused(400, "INVALID_INPUT");
            }
            // It is missed exactly if it is said to be required.
            let mut without = example.clone();
            without.as_object_mut().expect("an object").remove(field);
            let reply = Scene::new(&server).await.send_json(&operation, &without).await;
            let needed = reply.status == 400 && reply.text().contains(&format!("{field} is required"));
            assert_eq!(needed, required.contains(field.as_str()), "{operation:?}: {field}: {reply:?}");
        }
    }
}

#[tokio::test]
async fn query_parameters_are_those_that_the_server_knows() {
    let server =
        Server::start_with(TestStore::sqlite(), &[("ADMIN_SECRET", crate::support::operations::ADMIN)]).await;
    for operation in all(&server.api().await).await {
        let scene = Scene::new(&server).await;
        let documented: BTreeSet<String> = operation.query().into_iter().collect();
        // Those of the exec routes belong to bodies of text.
        let request = |query: &str| match operation.body("text/plain") {
            Some(_) => scene.raw(&operation, query, "text/plain", "true"),
            None => scene.with_query(&operation, query),
        };
        if operation.is_health() {
            assert!(documented.is_empty());
            continue;
        }
        let refusal = send(request("undocumented=1")).await.refused(400, "UNKNOWN_FIELD");
        let known = refusal["details"].as_array().cloned().unwrap_or_default();
        let known: BTreeSet<String> =
            known.iter().map(|name| name.as_str().expect("a name").to_owned()).collect();
        assert_eq!(known, documented, "{operation:?}");
    }
}

#[tokio::test]
async fn every_code_is_documented_somewhere() {
    let server = Server::start(TestStore::sqlite()).await;
    let mut documented: BTreeSet<(u16, String)> = BTreeSet::new();
    for operation in all(&server.api().await).await {
        documented.extend(operation.codes());
    }
    // Where no operation is: another route, another method.
    let outside = [(404, "NOT_FOUND"), (405, "METHOD_NOT_ALLOWED")];
    documented.extend(outside.map(|(status, name)| (status, name.to_owned())));
    let table = sqlfs::http::codes::CODES.iter();
    assert_eq!(documented, table.map(|code| (code.status, code.name.to_owned())).collect());
}

#[tokio::test]
async fn the_page_needs_no_other_host() {
    let server = Server::start(TestStore::sqlite()).await;
    let api = server.api().await;
    let page = send(api.bare(Method::GET, "/docs")).await.expect(200);
    let policy = page.header("content-security-policy").to_owned();
    assert!(policy.starts_with("default-src 'none'; connect-src 'self'; script-src 'sha256-"), "{policy}");
    assert!(!policy.contains("unsafe"), "{policy}");
    let text = page.text();
    for outside in ["http://", "https://", "src=", "url(", "@import", " on", "innerHTML", "style=\""] {
        let found = text.matches(outside).count();
        // " on" stands in prose only: no attribute begins so.
        assert!(
            found == 0 || outside == " on" && !text.contains(" onclick") && !text.contains(" onload"),
            "{outside}"
        );
    }
    // The hashes are those of what stands in the page; a browser runs nothing else.
    for tag in ["script", "style"] {
        use base64::Engine;
        let inside =
            text.split_once(&format!("<{tag}>")).expect(tag).1.split_once(&format!("</{tag}>")).expect(tag).0;
        let hash = sqlfs::ids::Sha256::of(inside.as_bytes()).0;
        let hash = base64::engine::general_purpose::STANDARD.encode(hash);
        assert!(policy.contains(&format!("{tag}-src 'sha256-{hash}'")), "{tag}: {policy}");
    }
    let document = send(api.bare(Method::GET, "/openapi.json")).await.expect(200).json();
    assert_eq!(document["openapi"], "3.1.0");
    let operations: Vec<Operation> = all(&api).await;
    let names: BTreeSet<&str> =
        operations.iter().map(|o| o.value["operationId"].as_str().expect("a name")).collect();
    assert_eq!(names.len(), operations.len(), "an operationId occurs twice");
}
