//! Tenants: a database for each, opened when it is first used, and nothing in common.

use serde_json::json;

use crate::support::http::send;
use crate::support::postgres::{Database, admin_url};
use crate::support::server::AUTH_SECRET;
use crate::support::{Api, Server, TestStore, eventually};

/// A client of a tenant, for the owner `tester`.
pub async fn api_of(server: &Server, tenant: &str) -> Api {
    let api = server.api().await;
    let request = api.bare(reqwest::Method::POST, "/v1/auth/bootstrap").header("x-auth-secret", AUTH_SECRET);
    let reply = send(request.json(&json!({"sub": "tester", "tenant": tenant}))).await.expect(201).json();
    api.with_token(reply["token"].as_str().expect("a token"))
}

fn databases(of: &[(&str, String)]) -> String {
    json!(of.iter().map(|(tenant, url)| (*tenant, url)).collect::<std::collections::BTreeMap<_, _>>())
        .to_string()
}

#[tokio::test]
async fn tenants_have_nothing_in_common() {
    let (acme, initech) = (Database::new().await, Database::new().await);
    let tenants = databases(&[("acme", acme.app_url()), ("initech", initech.app_url())]);
    let server = Server::start_with(TestStore::postgres().await, &[("TENANT_DATABASES", &tenants)]).await;
    let names = ["default", "acme", "initech"];
    let mut apis = Vec::new();
    for tenant in names {
        apis.push(api_of(&server, tenant).await);
    }
    let named = json!({"name": "one", "unique": true});
    let mut ids = Vec::new();
    for api in &apis {
        // The same owner takes the same name in each.
        let id = api.create_with(&named).await["id"].as_str().expect("an id").to_owned();
        api.exec(&id, "echo secret > f").await;
        ids.push(id);
    }
    for (me, api) in apis.iter().enumerate() {
        let listed = api.get("/v1/sandboxes").await.expect(200).json();
        assert_eq!(listed["sandboxes"].as_array().map(Vec::len), Some(1), "{}", names[me]);
        assert_eq!(listed["sandboxes"][0]["id"], ids[me]);
        for (other, id) in ids.iter().enumerate().filter(|(other, _)| *other != me) {
            let foreign = format!("{} in {}", names[me], names[other]);
            api.try_exec(id, &json!({"script": "cat f"})).await.refused(404, "SANDBOX_NOT_FOUND");
            let read = json!({"script": "cat f", "readOnly": true});
            api.try_exec(id, &read).await.refused(404, "SANDBOX_NOT_FOUND");
            api.file(id, "/home/user/f").await.refused(404, "SANDBOX_NOT_FOUND");
            let deleted = api.delete(&format!("/v1/sandboxes/{id}")).await;
            assert_eq!(deleted.status, 404, "{foreign}");
        }
    }
    for (database, id) in [(&acme, &ids[1]), (&initech, &ids[2])] {
        assert_eq!(database.number(&format!("SELECT count(*) FROM sandboxes WHERE id = '{id}'")).await, 1);
        assert_eq!(database.number("SELECT count(*) FROM sandboxes").await, 1);
    }
}

#[tokio::test]
async fn a_tenant_that_is_not_configured_is_refused() {
    let acme = Database::new().await;
    let tenants = databases(&[("acme", acme.app_url())]);
    // Without DATABASE_URL there is no tenant `default` either, and no SQLite.
    let server = Server::start_with(TestStore::sqlite(), &[("TENANT_DATABASES", &tenants)]).await;
    assert!(!server.store().data_dir().join("sqlfs.db").exists());
    let api = Api::anonymous(&server.url());
    for tenant in ["default", "other"] {
        let request =
            api.bare(reqwest::Method::POST, "/v1/auth/bootstrap").header("x-auth-secret", AUTH_SECRET);
        let refused = send(request.json(&json!({"sub": "tester", "tenant": tenant}))).await;
        refused.refused(401, "AUTH_UNKNOWN_TENANT");
        // A token that was made elsewhere with the same secret.
        let args = ["token", "tester", "--tenant", tenant];
        let (_, token, _) = crate::support::server::run(server.store(), &args, &[], b"").await;
        let foreign = api.with_token(token.trim());
        foreign.get("/v1/sandboxes").await.refused(401, "AUTH_UNKNOWN_TENANT");
        let id = uuid::Uuid::new_v4().to_string();
        foreign.try_exec(&id, &json!({"script": "true"})).await.refused(401, "AUTH_UNKNOWN_TENANT");
    }
}

#[tokio::test]
async fn a_tenant_whose_database_fails_leaves_the_others_alone() {
    // One role may bypass row-level security, the other database is not there.
    let missing = Database::new().await;
    let gone = missing.app_url();
    drop(missing);
    let acme = Database::new().await;
    let tenants =
        databases(&[("acme", acme.app_url()), ("careless", acme.admin_url()), ("gone", gone.clone())]);
    let server = Server::start_with(TestStore::postgres().await, &[("TENANT_DATABASES", &tenants)]).await;
    for tenant in ["careless", "gone"] {
        let api = api_of(&server, tenant).await;
        let refused = api.post("/v1/sandboxes", &json!({})).await;
        let body = refused.refused(503, "STORE_UNAVAILABLE");
        assert_eq!((&body["applied"], &body["retryable"]), (&json!("no"), &json!(true)));
        assert!(!body.to_string().contains("superuser"), "the reason is the operator's: {body}");
    }
    for tenant in ["default", "acme"] {
        let api = api_of(&server, tenant).await;
        let id = api.create().await;
        assert_eq!(api.stdout(&id, "echo fine").await, "fine\n");
    }
    let ready = server.api().await.get("/readyz").await.expect(200).json();
    assert_eq!(ready["degraded"], json!(["store of tenant careless", "store of tenant gone"]));
    eventually("the operator is told why", std::time::Duration::from_secs(10), || async {
        server.logs().contains("superuser").then_some(())
    })
    .await;
    // It comes back: nothing but the tenant's own database was missing.
    let name = gone.rsplit('/').next().expect("a name").to_owned();
    crate::support::postgres::run(&admin_url(), &format!("CREATE DATABASE {name} OWNER sqlfs_test_app"))
        .await;
    let api = api_of(&server, "gone").await;
    eventually("the tenant is served", std::time::Duration::from_secs(20), || async {
        (api.post("/v1/sandboxes", &json!({})).await.status == 201).then_some(())
    })
    .await;
    let ready = server.api().await.get("/readyz").await.expect(200).json();
    assert_eq!(ready["degraded"], json!(["store of tenant careless"]));
    drop(server);
    crate::support::postgres::run(&admin_url(), &format!("DROP DATABASE {name} WITH (FORCE)")).await;
}
