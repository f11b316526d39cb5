//! The operations of `/openapi.json` as a table for tests: each knows how to make a good
//! request out of the document's examples.

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use super::http::{Api, Reply, client, send};
use super::server::{AUTH_SECRET, Server};

/// Secret of the admin routes of servers that are started with it.
pub const ADMIN: &str = "admin-secret-of-the-integration-tests-0123456789";

/// One operation.
pub struct Operation {
    /// As the document has it.
    pub path: String,
    /// Its method.
    pub method: Method,
    /// The operation object, parameters resolved.
    pub value: Value,
}

impl std::fmt::Debug for Operation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.method, self.path)
    }
}

/// All operations of a server's document.
pub async fn all(api: &Api) -> Vec<Operation> {
    let document = send(api.bare(Method::GET, "/openapi.json")).await.expect(200).json();
    let mut operations = Vec::new();
    for (path, item) in document["paths"].as_object().expect("paths") {
        for (method, value) in item.as_object().expect("an item") {
            let mut value = value.clone();
            for parameter in value["parameters"].as_array_mut().expect("parameters") {
                if let Some(name) = parameter["$ref"].as_str() {
                    *parameter = document.pointer(&name[1..]).expect("a parameter").clone();
                }
            }
            let method = method.to_uppercase().parse().expect("a method");
            operations.push(Operation { path: path.clone(), method, value });
        }
    }
    assert!(operations.len() > 20, "{operations:?}");
    operations
}

impl Operation {
    /// Whether it needs a token.
    pub fn needs_token(&self) -> bool {
        self.value["security"] == json!([{"token": []}])
    }

    /// Whether it is about one sandbox.
    pub fn has_sandbox(&self) -> bool {
        self.path.contains("{id}")
    }

    /// Whether it answers without looking at the request.
    pub fn is_health(&self) -> bool {
        ["/livez", "/readyz", "/healthz"].contains(&self.path.as_str())
    }

    /// What it says about bodies of that media type.
    pub fn body(&self, media: &str) -> Option<&Value> {
        self.value["requestBody"]["content"].get(media)
    }

    /// Whether it takes a body.
    pub fn has_body(&self) -> bool {
        self.value.get("requestBody").is_some()
    }

    /// The example of its JSON body.
    pub fn json_example(&self) -> Option<&Value> {
        Some(&self.body("application/json")?["example"])
    }

    /// The schema of its JSON body.
    pub fn json_schema(&self, document: &Value) -> Value {
        let name =
            self.body("application/json").expect("JSON")["schema"]["$ref"].as_str().expect("a reference");
        document.pointer(&name[1..]).expect("a schema").clone()
    }

    /// A body as the document shows it, with its media type.
    pub fn example(&self) -> Option<(&'static str, Vec<u8>)> {
        if let Some(example) = self.json_example() {
            return Some(("application/json", example.to_string().into_bytes()));
        }
        // The end mark of tar: an archive without entries.
        if self.body("application/x-tar").is_some() {
            return Some(("application/x-tar", vec![0; 1024]));
        }
        self.body("application/octet-stream").map(|_| ("application/octet-stream", b"bytes".to_vec()))
    }

    /// Names of its query parameters.
    pub fn query(&self) -> Vec<String> {
        let all = self.value["parameters"].as_array().expect("parameters").iter();
        all.filter(|p| p["in"] == "query").map(|p| p["name"].as_str().expect("a name").to_owned()).collect()
    }

    /// Its error codes, each with its status.
    pub fn codes(&self) -> Vec<(u16, String)> {
        let mut codes = Vec::new();
        for (status, reply) in self.value["responses"].as_object().expect("responses") {
            let named =
                &reply["content"]["application/json"]["schema"]["allOf"][1]["properties"]["code"]["enum"];
            for code in named.as_array().into_iter().flatten() {
                codes.push((status.parse().expect("a status"), code.as_str().expect("a code").to_owned()));
            }
        }
        codes
    }
}

/// A sandbox in which the document's examples make sense.
pub struct Scene {
    /// Its owner.
    pub api: Api,
    /// The sandbox.
    pub id: String,
}

impl Scene {
    /// A new sandbox of a new owner.
    pub async fn new(server: &Server) -> Self {
        let api = server.api_as(&uuid::Uuid::new_v4().to_string()).await;
        let made = api.create_with(&json!({"files": {"/home/user/a.txt": "hello\n"}})).await;
        Self { id: made["id"].as_str().expect("an id").to_owned(), api }
    }

    /// A documented path with the scene's ids in it.
    pub fn fill(&self, path: &str) -> String {
        path.replace("{id}", &self.id).replace("{path}", "home/user/a.txt")
    }

    /// The operation's address with a query, secrets included, without a body.
    pub fn with_query(&self, operation: &Operation, query: &str) -> RequestBuilder {
        let path = self.fill(&operation.path);
        let path = if query.is_empty() { path } else { format!("{path}?{query}") };
        let request = if operation.needs_token() {
            self.api.request(operation.method.clone(), &path)
        } else {
            self.api.bare(operation.method.clone(), &path)
        };
        request.header("x-auth-secret", AUTH_SECRET).header("x-admin-secret", ADMIN)
    }

    /// The same with a body.
    pub fn raw(
        &self,
        operation: &Operation,
        query: &str,
        media: &str,
        body: impl Into<reqwest::Body>,
    ) -> RequestBuilder {
        self.with_query(operation, query).header("content-type", media).body(body)
    }

    /// A request as the document shows it.
    pub fn request(&self, operation: &Operation) -> RequestBuilder {
        match operation.example() {
            None => self.with_query(operation, ""),
            Some((media, body)) => self.raw(operation, "", media, body),
        }
    }

    /// A request with another JSON body.
    pub async fn send_json(&self, operation: &Operation, body: &Value) -> Reply {
        send(self.raw(operation, "", "application/json", body.to_string())).await
    }

    /// The same request without the scene's token and secrets.
    pub fn anonymous(&self, operation: &Operation) -> RequestBuilder {
        let url = format!("{}{}", self.api.base, self.fill(&operation.path));
        let request = client().request(operation.method.clone(), url);
        match operation.example() {
            None => request,
            Some((media, body)) => request.header("content-type", media).body(body),
        }
    }
}
