//! Section G of the list of hostile inputs, line by line, in a real server. (Lines on
//! addresses, names and scans are in `ssrf.rs` and `broker.rs` too.)

use serde_json::json;
use tokio::io::AsyncWriteExt;

use super::{INTERPRETERS, Line, run_table, sandbox, server};
use crate::support::web::Web;

#[tokio::test]
async fn hostile_scripts_are_refused() {
    let web = Web::start().await;
    let denied = "destination not allowed";
    let not_here = "option not supported here";
    for interpreter in INTERPRETERS {
        let (server, api) = server(interpreter, &web.addr.to_string(), &[]).await;
        let id = sandbox(&api, json!(true)).await;
        let table: &[Line<'_>] = &[
            ("curl -sS http://169.254.169.254/latest/meta-data/", 7, "", denied),
            ("curl -sS http://127.1", 7, "", denied),
            ("curl -sS 0x7f000001", 7, "", denied),
            ("curl -sS 2130706433", 7, "", denied),
            ("curl -sS 0177.0.0.1", 7, "", denied),
            ("curl -sS 'http://[::ffff:127.0.0.1]'", 7, "", denied),
            ("curl -sS 'http://[64:ff9b::7f00:1]'", 7, "", denied),
            ("curl -sS localhost.", 7, "", denied),
            ("curl -sS ①②⑦.0.0.1", 7, "", denied),
            ("curl -sSL WEB/redirect/302?http://10.0.0.1/", 7, "", "redirect not allowed"),
            ("curl -sSL WEB/redirect/302?file:///etc/passwd", 47, "", "redirect not allowed"),
            ("curl -sSL WEB/redirect/302?gopher://x", 47, "", "redirect not allowed"),
            ("curl -x http://proxy WEB", 2, "", not_here),
            ("curl --resolve a:1:b WEB", 2, "", not_here),
            ("curl --unix-socket /s WEB", 2, "", not_here),
            ("curl --interface lo WEB", 2, "", not_here),
            ("curl -K file WEB", 2, "", not_here),
            ("curl -sS -T /etc/shadow WEB", 26, "", "Failed to open"),
            ("HTTP_PROXY=http://10.0.0.1 ALL_PROXY=http://10.0.0.1 curl -s WEB/text", 0, "hello\n", ""),
            ("curl -sS -H $'X: a\\r\\nHost: evil' WEB/text", 43, "", "invalid header"),
            ("curl -sS -X $'GET / HTTP/1.1\\r\\nX: y' WEB/text", 43, "", "not allowed"),
            ("curl -sS -H 'Transfer-Encoding: chunked' -d 0 WEB/text", 43, "", "invalid header"),
            ("curl -sS -A $'a\\nb' WEB/text", 43, "", "invalid header"),
        ];
        run_table(&api, &id, &web.url(), table).await;
        // Line 89: nothing but what is on the list, whatever it looks like.
        let id = sandbox(&api, json!({"allow": ["https://good.example"]})).await;
        let table: &[Line<'_>] = &[
            ("curl -sS https://good.example@evil.example", 7, "", denied),
            ("curl -sS https://good.example.evil.example", 7, "", denied),
            ("curl -sS '//good.example\\@evil.example'", 3, "", "bad/illegal format"),
            ("curl -sS 'https://good.example\\@evil.example'", 3, "", "bad/illegal format"),
            ("curl -sS https://good.example.", 7, "", denied),
            ("curl -sS https://gооd.example", 7, "", denied),
            ("curl -sS https://xn--gd-fmca.example", 7, "", denied),
            ("curl -sS http://good.example", 7, "", denied),
            ("curl -sS https://good.example:8443", 7, "", denied),
        ];
        run_table(&api, &id, &web.url(), table).await;
        // Line 93, from a script: cut short, and one line in the log.
        let id = sandbox(&api, json!(true)).await;
        let script = "for p in {1..300}; do curl -sS http://127.0.0.1:$p/ 2>&1; done | sort | uniq -c | awk '{print $1}'";
        assert_eq!(api.stdout(&id, script).await, "100\n200\n");
        let line = "a script asked for a place on the network that it may not reach";
        let lines = server.logs().lines().filter(|text| text.contains(line) && text.contains(&id)).count();
        assert_eq!(lines, 1, "{}", server.logs());
    }
}

#[tokio::test]
async fn hostile_servers_get_no_further_than_a_limit() {
    let ok = "HTTP/1.1 200 OK\r\n";
    let endless = Web::raw(|mut stream| async move {
        stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").await?;
        let piece = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
        loop {
            stream.write_all(piece.as_bytes()).await?;
        }
    })
    .await;
    let slow = Web::raw(|mut stream| async move {
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n").await?;
        loop {
            stream.write_all(b"x").await?;
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
    })
    .await;
    let flood = Web::raw(|mut stream| async move {
        loop {
            stream.write_all(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n").await?;
        }
    })
    .await;
    let endless_header = Web::raw(|mut stream| async move {
        stream.write_all(b"HTTP/1.1 200 OK\r\nX: ").await?;
        loop {
            stream.write_all(&[b'x'; 4096]).await?;
        }
    })
    .await;
    let headers: String = (0..100_000).fold(String::new(), |all, n| all + &format!("X-{n}: 1\r\n"));
    let says = [
        (Web::says(format!("{ok}Content-Length: 10000000000\r\n\r\nx")).await, "63"),
        (Web::says(format!("{ok}{headers}\r\n")).await, "63"),
        (
            Web::says("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n").await,
            "8",
        ),
        (Web::says(format!("{ok}Content-Length: 10\r\n\r\nshort")).await, "18"),
        (Web::says("SSH-2.0-OpenSSH_9.6\r\n").await, "1"),
        (Web::says("").await, "52"),
    ];
    let web = Web::start().await;
    for interpreter in INTERPRETERS {
        let limit = [("MAX_FILE_WRITE_BYTES", "20000000")];
        let (_server, api) = server(interpreter, "127.0.0.0/8", &limit).await;
        let id = sandbox(&api, json!(true)).await;
        for (server, options, exit) in
            [(&endless, "", "63"), (&slow, "-m 1", "28"), (&flood, "-m 1", "28"), (&endless_header, "", "63")]
        {
            let out = api
                .stdout(&id, &format!("curl -s {options} {}/ | wc -c; echo ${{PIPESTATUS[0]}}", server.url()))
                .await;
            assert_eq!(out, format!("0\n{exit}\n"), "{options}");
        }
        for (number, (server, exit)) in says.iter().enumerate() {
            let out = api.stdout(&id, &format!("curl -s {}/; echo $?", server.url())).await;
            assert_eq!(out, format!("{exit}\n"), "{number}");
        }
        // 80 MiB of zeros in 80 kB.
        let out = api.stdout(&id, &format!("curl -s --compressed {}/bomb; echo $?", web.url())).await;
        assert_eq!(out, "63\n");
        // And the exec's own time ends a request that waits.
        let reply =
            api.try_exec(&id, &json!({"script": format!("curl -s {}/", slow.url()), "timeoutMs": 500})).await;
        assert_eq!(reply.status, 408, "{reply:?}");
        assert_eq!(api.stdout(&id, &format!("curl -s {}/text", web.url())).await, "hello\n");
    }
}
