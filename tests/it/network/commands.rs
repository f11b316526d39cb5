//! `curl` and `wget`: what they send, keep, print, and with which exit code they end.

use serde_json::json;

use super::{INTERPRETERS, Line, run_table, sandbox, server};
use crate::support::web::Web;

const CURL: &[Line<'_>] = &[
    ("curl -s WEB/text", 0, "hello\n", ""),
    ("curl WEB/text", 0, "hello\n", ""),
    ("curl -s WEB/method", 0, "GET 0\n", ""),
    ("curl -s -X DELETE WEB/method", 0, "DELETE 0\n", ""),
    ("curl -sXPATCH -d abc WEB/method", 0, "PATCH 3\n", ""),
    ("curl -s -d a=1 -d b=2 WEB/body", 0, "a=1&b=2", ""),
    ("curl -s -d a=1 WEB/header/content-type", 0, "application/x-www-form-urlencoded\n", ""),
    ("printf 'x\\ny\\n' > f; curl -s -d @f WEB/body; curl -s --data-binary @f WEB/body", 0, "xyx\ny\n", ""),
    ("curl -s --data-raw @f WEB/body", 0, "@f", ""),
    ("printf stdin | curl -s -d @- WEB/body", 0, "stdin", ""),
    (
        "curl -s -d @<(printf inner) WEB/body; curl -s -F 'a=<'<(printf part) WEB/body | grep part",
        0,
        "innerpart\r\n",
        "",
    ),
    ("printf stdin | curl -s -T - WEB/method", 0, "PUT 5\n", ""),
    ("curl -s --data-urlencode 'q=a b&c' --data-urlencode '=ü' WEB/body", 0, "q=a%20b%26c&%C3%BC", ""),
    ("curl -s --data-urlencode q@f WEB/body", 0, "q=x%0Ay%0A", ""),
    ("curl -sG -d a=1 --data-urlencode 'b=c d' WEB/x | jq -r '.method, .query'", 0, "GET\na=1&b=c%20d\n", ""),
    ("curl -sG -d a=1 'WEB/x?z=0' | jq -r .query", 0, "z=0&a=1\n", ""),
    ("curl -sG -d a=1 WEB | jq -r .path,.query", 0, "/\na=1\n", ""),
    (
        "curl -s --json '{\"a\":1}' WEB/x | jq -r '.headers[\"content-type\"], .headers.accept, .body'",
        0,
        "application/json\napplication/json\n{\"a\":1}\n",
        "",
    ),
    ("curl -s -H 'Content-Type: text/x' -d a WEB/header/content-type", 0, "text/x\n", ""),
    ("curl -s -H 'X-A: 1' -H 'x-b:2' WEB/x | jq -c '[.headers[\"x-a\",\"x-b\"]]'", 0, "[\"1\",\"2\"]\n", ""),
    ("curl -s -H 'Accept:' WEB/header/accept", 0, "*/*\n", ""),
    ("curl -s -H 'X-Empty;' WEB/x | jq -c '.headers[\"x-empty\"]'", 0, "\"\"\n", ""),
    ("curl -s -A me WEB/header/user-agent; curl -s -e from WEB/header/referer", 0, "me\nfrom\n", ""),
    ("curl -s -u me:secret WEB/header/authorization", 0, "Basic bWU6c2VjcmV0\n", ""),
    ("U=WEB; curl -s http://me:secret@${U#http://}/header/authorization", 0, "Basic bWU6c2VjcmV0\n", ""),
    (
        "curl -s --oauth2-bearer t WEB/header/authorization; curl -s -r 0-4 WEB/header/range",
        0,
        "Bearer t\nbytes=0-4\n",
        "",
    ),
    (
        "curl -s -F a=1 -F 'b=@f;type=text/x' WEB/body | tr -d '\\r' | grep -v -e ----",
        0,
        "Content-Disposition: form-data; name=\"a\"\n\n1\nContent-Disposition: form-data; name=\"b\"; filename=\"f\"\nContent-Type: text/x\n\nx\ny\n\n",
        "",
    ),
    ("curl -s -F 'a=<f' WEB/header/content-type | cut -c1-30", 0, "multipart/form-data; boundary=\n", ""),
    // Files.
    ("curl -s -o out WEB/text; cat out; curl -sO WEB/text; cat text", 0, "hello\nhello\n", ""),
    ("curl -s -o a WEB/text -o b WEB/method; cat a b", 0, "hello\nGET 0\n", ""),
    ("curl -s -o d/e/f --create-dirs WEB/text; cat d/e/f", 0, "hello\n", ""),
    ("curl -s --output-dir d -O WEB/text; cat d/text", 0, "hello\n", ""),
    (
        "curl -s -o /dev/null -w '%{http_code} %{size_download} %{content_type}\\n' WEB/text",
        0,
        "200 6 text/plain\n",
        "",
    ),
    ("curl -s -o no/such WEB/text", 23, "", "Failed to open the file no/such"),
    ("curl -sO WEB/", 23, "", ""),
    ("curl -s WEB/bytes/3 | od -An -tx1 | tr -d ' '", 0, "ffffff\n", ""),
    ("curl -s -T f WEB/dir/ | jq -r '.method, .path'", 0, "PUT\n/dir/f\n", ""),
    ("curl -s -T missing WEB/", 26, "", "(26) Failed to open/read local data"),
    ("head -c 3000000 /dev/zero > big; curl -s --data-binary @big WEB/method", 0, "POST 3000000\n", ""),
    ("curl -s WEB/bytes/3000000 | wc -c", 0, "3000000\n", ""),
    // What is shown.
    ("curl -sI WEB/text | head -1 | tr -d '\\r'", 0, "HTTP/1.1 200 OK\n", ""),
    ("curl -si WEB/text | tr -d '\\r' | sed -n '1p;$p'", 0, "HTTP/1.1 200 OK\nhello\n", ""),
    ("curl -s -D - -o /dev/null WEB/text | grep -c '^content-type: text/plain'", 0, "1\n", ""),
    (
        "curl -sv -H 'X-A: b' WEB/text 2>&1 >/dev/null | tr -d '\\r' | grep -e '^> X-A' -e '^> GET' -e '^< HTTP'",
        0,
        "> GET /text HTTP/1.1\n> X-A: b\n< HTTP/1.1 200 OK\n",
        "",
    ),
    (
        "curl -s -o /dev/null -w '%{url_effective} %{method} %{num_redirects} %{scheme} %{exitcode}%%\\n' WEB/text",
        0,
        "WEB/text GET 0 http 0%\n",
        "",
    ),
    ("curl -s -o /dev/null -w '%{time_total}' WEB/text | grep -cE '^[0-9]+\\.[0-9]{6}$'", 0, "1\n", ""),
    ("curl -s -o /dev/null -w '%header{Content-Type}%{stderr}x' WEB/text", 0, "text/plain", "x"),
    ("curl -s -o /dev/null -w '%{nonsense}' WEB/text", 0, "", "unknown --write-out variable: 'nonsense'"),
    // Redirects.
    ("curl -s WEB/redirect/302?/text", 0, "moved\n", ""),
    ("curl -sL WEB/redirect/302?/text", 0, "hello\n", ""),
    ("curl -s -o /dev/null -w '%{redirect_url}' WEB/redirect/302?/text", 0, "WEB/text", ""),
    (
        "curl -sL -w '%{num_redirects} %{url_effective}\\n' WEB/redirect/301?/redirect/307?/text",
        0,
        "hello\n2 WEB/text\n",
        "",
    ),
    (
        "for c in 301 302 303 307 308; do curl -sL -d abc WEB/redirect/$c?/method; done",
        0,
        "GET 0\nGET 0\nGET 0\nPOST 3\nPOST 3\n",
        "",
    ),
    ("curl -sL -X PUT -d abc WEB/redirect/302?/method", 0, "PUT 3\n", ""),
    ("curl -sL --max-redirs 3 WEB/loop", 47, "", ""),
    ("curl -sSL --max-redirs 3 WEB/loop", 47, "", "curl: (47) Maximum (3) redirects followed"),
    ("curl -sL -u a:b WEB/redirect/302?/header/authorization", 0, "Basic YTpi\n", ""),
    // Cookies.
    ("curl -s -b a=1 WEB/header/cookie", 0, "a=1\n", ""),
    (
        "curl -s -c jar -o /dev/null WEB/cookie/k/v; curl -s -b jar WEB/header/cookie; grep -c HttpOnly jar",
        1,
        "k=v\n0\n",
        "",
    ),
    ("curl -sL -b '' WEB/login; curl -sL WEB/login", 0, "session=abc\nnone\n", ""),
    // Packed answers.
    ("curl -s --compressed WEB/gzip", 0, "unpacked\n", ""),
    ("curl -s WEB/gzip | gunzip", 0, "unpacked\n", ""),
    (
        "curl -s --compressed WEB/header/accept-encoding; curl -s WEB/header/accept-encoding",
        0,
        "deflate, gzip\nnone\n",
        "",
    ),
    // Failures.
    ("curl -sf WEB/status/404", 22, "", ""),
    ("curl -sSf WEB/status/404", 22, "", "curl: (22) The requested URL returned error: 404"),
    ("curl -s WEB/status/404", 0, "status 404\n", ""),
    ("curl -s --fail-with-body WEB/status/500", 22, "status 500\n", ""),
    ("curl -s --retry 2 --retry-delay 0.01 WEB/status/503 WEB/text", 0, "status 503\nhello\n", ""),
    ("curl -s --max-filesize 5 WEB/text", 63, "", ""),
    ("curl", 2, "", "curl: (2) no URL specified"),
    ("curl -x http://p WEB/text", 2, "", "option not supported here"),
    ("curl -K file WEB/text", 2, "", "option not supported here"),
    ("curl -k WEB/text", 2, "", "certificates are always checked"),
    (
        "curl --unix-socket /s WEB/text; curl --resolve a:1:2 WEB/text; curl --interface lo WEB/text",
        2,
        "",
        "option not supported here",
    ),
    ("curl -C - WEB/text", 2, "", "option not supported here"),
    ("curl -d a -F b=c WEB/text", 2, "", "You can only select one HTTP request method"),
    ("curl -s --proto =https WEB/text", 1, "", ""),
    ("curl -m x WEB/text", 2, "", "expected a proper numerical parameter"),
    ("curl -s -H 'Host: other' WEB/text", 43, "", ""),
    ("curl -sS 'http://[x'", 3, "", "curl: (3) URL using bad/illegal format"),
    ("curl -sS ftp://x/", 1, "", "curl: (1) Protocol not supported"),
    ("HTTP_PROXY=http://127.0.0.1:1 http_proxy=http://127.0.0.1:1 curl -s WEB/text", 0, "hello\n", ""),
    ("curl -s -- WEB/text; curl -s --url WEB/text", 0, "hello\nhello\n", ""),
    ("curl -s WEB/text | tee copy | wc -c; cat copy", 0, "6\nhello\n", ""),
];

const WGET: &[Line<'_>] = &[
    ("wget -q WEB/text; cat text; wget -q WEB/text; cat text.1", 0, "hello\nhello\n", ""),
    ("wget -qO- WEB/text; wget -q -O o WEB/text; cat o", 0, "hello\nhello\n", ""),
    ("wget -O /dev/null WEB/text", 0, "", "awaiting response... 200 OK"),
    ("wget -nv -O o WEB/text", 0, "", "WEB/text -> \"o\" [6]"),
    ("wget -q -P d WEB/text; cat d/text", 0, "hello\n", ""),
    ("wget -q WEB/; test -s index.html && echo there", 0, "there\n", ""),
    ("wget -qO- --header 'X-A: 1' WEB/header/x-a", 0, "1\n", ""),
    (
        "wget -qO- --post-data a=1 WEB/method; wget -qO- --method PUT --body-data abc WEB/method",
        0,
        "POST 3\nPUT 3\n",
        "",
    ),
    ("wget -qO- WEB/redirect/302?/text", 0, "hello\n", ""),
    ("wget -S -qO /dev/null WEB/text", 0, "", "HTTP/1.1 200 OK"),
    ("wget -q --spider WEB/text && echo there; wget -q --spider WEB/status/404", 8, "there\n", ""),
    ("wget -O- WEB/status/404", 8, "", "ERROR 404: Not Found."),
    ("wget -qO- --content-on-error WEB/status/404", 8, "status 404\n", ""),
    ("wget -c WEB/text", 2, "", "option not supported here"),
    ("wget -r WEB/text", 2, "", "option not supported here"),
    ("wget --header $'X: a\\r\\nHost: evil' WEB/text", 2, "", "invalid header"),
    ("wget http://10.0.0.1/", 4, "", "destination not allowed"),
    ("wget", 2, "", "missing URL"),
];

#[tokio::test]
async fn curl_and_wget_do_what_they_are_known_for() {
    let web = Web::start().await;
    for interpreter in INTERPRETERS {
        let (_server, api) = server(interpreter, &web.addr.to_string(), &[]).await;
        for table in [CURL, WGET] {
            let id = sandbox(&api, json!(true)).await;
            run_table(&api, &id, &web.url(), table).await;
        }
    }
}

#[tokio::test]
async fn without_permission_nothing_leaves() {
    let web = Web::start().await;
    let off = "network access is off for this sandbox";
    let listed = "it is not on the list of this sandbox";
    for interpreter in INTERPRETERS {
        let (_server, api) = server(interpreter, &web.addr.to_string(), &[]).await;
        let (id, before) = (sandbox(&api, json!(false)).await, web.connections());
        let table: &[Line<'_>] = &[("curl -sS WEB/text", 7, "", off), ("wget WEB/text", 4, "", off)];
        run_table(&api, &id, &web.url(), table).await;
        assert_eq!(web.connections(), before);
        // A list: below it, beside it.
        let id = sandbox(&api, json!({"allow": [format!("{}/header", web.url())]})).await;
        let table: &[Line<'_>] = &[
            ("curl -s WEB/header/x", 0, "none\n", ""),
            ("curl -sS WEB/headers", 7, "", listed),
            ("curl -sS WEB/header/../text", 7, "", listed),
            ("curl -sS WEB/header%2f..%2ftext", 7, "", listed),
            ("wget -q WEB/text", 4, "", ""),
        ];
        let before = web.connections();
        run_table(&api, &id, &web.url(), table).await;
        assert_eq!(web.connections(), before + 1);
        assert_eq!(web.requests().last().expect("one")["path"], "/header/x");
        // A list that leads out of itself.
        let id = sandbox(&api, json!({"allow": [format!("{}/redirect/", web.url())]})).await;
        let table: &[Line<'_>] = &[("curl -sSL WEB/redirect/302?/text", 7, "", "redirect not allowed")];
        run_table(&api, &id, &web.url(), table).await;
        assert_eq!(web.requests().last().expect("one")["path"], "/redirect/302");
        let before = web.connections();
        let refused = api.post("/v1/sandboxes", &json!({"network": {"allow": ["https://u@h/"]}})).await;
        assert_eq!(refused.status, 400);
        assert_eq!(web.connections(), before);
        assert!(
            !api.exec(&id, "exec 3<>/dev/tcp/127.0.0.1/1").await["exitCode"].eq(&json!(0)),
            "no other way"
        );
    }
}

#[tokio::test]
async fn credentials_go_with_requests_and_are_seen_by_nobody() {
    let (inside, other) = (Web::start().await, Web::start().await);
    let private = format!("{},{}", inside.addr, other.addr);
    let rules = json!([{
        "prefix": format!("{}/api/", inside.url()),
        "plain": true,
        "headers": {"Authorization": "Bearer canary-secret", "X-Key": "canary-key"},
    }]);
    for interpreter in INTERPRETERS {
        let env = [("NETWORK_RULES", &*rules.to_string()), ("RUST_LOG", "trace")];
        let (server, api) = server(interpreter, &private, &env).await;
        let id = sandbox(&api, json!(true)).await;
        let before = inside.requests().len();
        let script = "env; curl -sv -o /dev/null WEB/api/bytes/1 2>&1; curl -s -H 'Authorization: mine' -o /dev/null WEB/api/bytes/1; \
                      curl -s -o /dev/null WEB/bytes/1; curl -s -o /dev/null WEB/api/../bytes/1";
        let out = api.exec(&id, &script.replace("WEB", &inside.url())).await;
        assert!(!out.to_string().contains("canary"), "{out}");
        let seen: Vec<_> = inside.requests()[before..]
            .iter()
            .map(|request| request["headers"]["authorization"].clone())
            .collect();
        assert_eq!(
            seen,
            [json!("Bearer canary-secret"), json!("Bearer canary-secret"), json!(null), json!(null)]
        );
        // A redirect away takes none along, and not the script's own either.
        let to = format!("{}/x", other.url());
        let script = format!(
            "curl -sL -u own:one -b c=1 '{}/redirect/302?{to}' | jq -c '[.headers.authorization, .headers.cookie]'",
            inside.url()
        );
        assert_eq!(api.stdout(&id, &script).await, "[null,null]\n");
        assert!(!server.logs().contains("canary"), "{}", server.logs());
    }
}
