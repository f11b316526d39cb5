//! `file_read`: pages put together are the file, and each is bounded.

use serde_json::json;

use super::rig::Mcp;
use crate::support::{Server, TestStore};

/// What fits in a page, with room for the frame: text and data both hold it.
const LARGEST: usize = 2 * (48 << 10) + 2000;

async fn read_all(mcp: &Mcp, id: &str, limit: Option<u64>) -> (String, usize) {
    let (mut whole, mut pages) = (String::new(), 0);
    let mut ask = json!({"id": id, "path": "/home/user/f"});
    if let Some(limit) = limit {
        ask["limit"] = json!(limit);
    }
    loop {
        let result = mcp.call("file_read", ask.clone()).await;
        assert_eq!(result["isError"], false, "{result}");
        assert!(result.to_string().len() <= LARGEST, "{}", result.to_string().len());
        let data = &result["structuredContent"];
        let content = data["content"].as_str().expect("content");
        assert!(result["content"][0]["text"].as_str().expect("text").starts_with(content));
        if let Some(limit) = limit {
            assert!(content.matches('\n').count() as u64 <= limit, "{ask}");
        }
        whole += content;
        pages += 1;
        let Some(next) = data.get("nextOffset") else { return (whole, pages) };
        assert!(!content.is_empty(), "a page goes on: {data}");
        let place = if data.get("nextColumn").is_some() { ", column " } else { "]" };
        assert!(
            result["content"][0]["text"]
                .as_str()
                .expect("text")
                .contains(&format!("goes on at offset {next}{place}"))
        );
        ask["offset"] = next.clone();
        ask["column"] = data.get("nextColumn").cloned().unwrap_or(json!(1));
    }
}

#[tokio::test]
async fn pages_put_together_are_the_file() {
    let server = Server::start(TestStore::sqlite()).await;
    let api = server.api().await;
    let mcp = Mcp::connect(&api).await;
    let id = mcp.create().await;
    let numbered = (1..=5000).fold(String::new(), |text, n| text + &format!("line {n}\n"));
    #[expect(clippy::disallowed_methods, reason = "tests have no configuration; this repeats a run")]
    let seed = std::env::var("SQLFS_TEST_SEED").ok().and_then(|text| text.parse().ok());
    let seed: u64 = seed.unwrap_or(0x5eed);
    println!("SQLFS_TEST_SEED={seed}");
    let mut state = seed | 1;
    let mut random = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    let pieces = ["a", "\n", "\r\n", "é", "😀", "\t", "\u{1}", "\u{feff}", "\"", "word ", "\n\n"];
    let mut files = vec![
        (String::new(), 1),
        ("no end".into(), 1),
        ("one\n".into(), 1),
        ("\n\n\n".into(), 1),
        ("\u{feff}bom\r\n".into(), 1),
        (numbered.clone(), 3),
        ("x".repeat(200_000), 5),
        ("é\u{1}".repeat(40_000), 2),
        (format!("short\n{}\nend", "y".repeat(60_000)), 3),
        (format!("{}\n", "z".repeat(48 << 10)), 2),
        ("\n".repeat(30_000), 2),
        // Places behind the first piece that is searched for line ends.
        (format!("{}\n", "w".repeat(30_000)).repeat(40), 20),
    ];
    for _ in 0..3 {
        let count = random(20_000);
        let text = (0..count).map(|_| {
            let piece = pieces[random(pieces.len() as u64) as usize];
            if random(4000) == 0 { "long".repeat(random(30_000) as usize) } else { piece.to_owned() }
        });
        files.push((text.collect(), 1));
    }
    for (n, (text, least)) in files.into_iter().enumerate() {
        api.put(&id, "/home/user/f", text.clone()).await.expect(204);
        for limit in [None, Some(1000 + random(9000))] {
            let (whole, pages) = read_all(&mcp, &id, limit).await;
            assert!(whole == text, "file {n}, limit {limit:?}: {} bytes of {}", whole.len(), text.len());
            assert!(pages >= least || limit.is_some(), "file {n}: {pages} pages");
        }
    }
    api.put(&id, "/home/user/f", numbered).await.expect(204);
    let page =
        mcp.ok("file_read", json!({"id": id, "path": "/home/user/f", "offset": 4999, "limit": 1})).await;
    assert_eq!(
        (&page["content"], &page["startLine"], &page["endLine"], &page["nextOffset"]),
        (&json!("line 4999\n"), &json!(4999), &json!(4999), &json!(5000))
    );
    let middle = json!({"id": id, "path": "/home/user/f", "offset": 2, "column": 6, "limit": 1});
    assert_eq!(mcp.ok("file_read", middle).await["content"], "2\n");
    api.put(&id, "/home/user/f", "é").await.expect(204);
    let inside = mcp.failed("file_read", json!({"id": id, "path": "/home/user/f", "column": 2})).await;
    assert_eq!(inside["message"], "column: byte 2 is inside a character");
}
