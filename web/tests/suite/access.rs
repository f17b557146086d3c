//! Who may ask.
use super::support::{INDEX, Program};

#[test]
fn on_loopback_other_hosts_and_origins_are_refused() {
    let program = Program::start(INDEX.path());
    let port = program.host().rsplit(':').next().unwrap().to_owned();
    let with = |host: &str, more: &str| {
        let text = format!("GET /api/kernels HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{more}\r\n");
        program.send(text.as_bytes()).status
    };
    for host in ["127.0.0.1", "localhost", "LOCALHOST", "[::1]"] {
        assert_eq!(with(&format!("{host}:{port}"), ""), 200, "{host}");
    }
    // A name that leads here, another port, none.
    for host in
        [format!("evil.example:{port}"), "127.0.0.1".to_owned(), "127.0.0.1:1".to_owned(), String::new()]
    {
        assert_eq!(with(&host, ""), 403, "{host}");
    }
    let own = program.host().to_owned();
    assert_eq!(with(&own, &format!("Origin: http://{own}\r\n")), 200);
    for origin in ["http://evil.example", "null", "https://127.0.0.1", ""] {
        assert_eq!(with(&own, &format!("Origin: {origin}\r\n")), 403, "{origin}");
    }
    for (site, status) in [("same-origin", 200), ("none", 200), ("cross-site", 403), ("same-site", 403)] {
        assert_eq!(with(&own, &format!("Sec-Fetch-Site: {site}\r\n")), status, "{site}");
    }
    // A link on another page may lead to a page, which has no answer in it.
    let page = program.ask("GET /function?spec=submit", "Sec-Fetch-Site: cross-site\r\n", b"");
    assert_eq!(page.status, 200);
}

#[test]
fn only_text_is_posted_and_nothing_else_is_done() {
    let program = Program::start(INDEX.path());
    for method in ["PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT"] {
        let response = program.ask(&format!("{method} /"), "", b"");
        assert_eq!(response.status, 405, "{method}");
        assert!(response.head.contains("Allow: GET, HEAD, POST"));
    }
    assert_eq!(program.ask("POST /", "", b"text").status, 405);
    assert_eq!(program.ask("POST /api/kernels", "", b"text").status, 405);
    assert_eq!(program.get("/api/check").status, 405);
    assert_eq!(program.ask("HEAD /api/kernels", "", b"").status, 405);
}

#[test]
fn elsewhere_a_token_is_wanted_and_becomes_a_cookie() {
    let program = Program::start_at(INDEX.path(), "0.0.0.0:0");
    let token = program.url.rsplit("?token=").next().unwrap().to_owned();
    assert_eq!(token.len(), 32, "{}", program.url);
    assert_eq!(program.get("/").status, 403);
    assert_eq!(program.get("/api/kernels").status, 403);
    assert_eq!(program.get(&format!("/?token={}", "0".repeat(32))).status, 403);
    assert_eq!(program.get(&format!("/api/kernels?token={token}")).status, 403, "a question has the cookie");
    let led = program.get(&format!("/function?spec=submit&token={token}"));
    assert_eq!(led.status, 303);
    assert!(led.head.contains("Location: /function?spec=submit\r\n"), "{}", led.head);
    let cookie = format!("probeidx_token={token}");
    assert!(
        led.head.contains(&format!("Set-Cookie: {cookie}; HttpOnly; SameSite=Strict; Path=/")),
        "{}",
        led.head
    );
    assert_eq!(program.ask("GET /api/kernels", &format!("Cookie: a=b; {cookie}\r\n"), b"").status, 200);
    assert_eq!(program.ask("GET /api/kernels", &format!("Cookie: {}\r\n", &cookie[..30]), b"").status, 403);
    // Another host's address must not come of it.
    let led = program.get(&format!("//evil.example/?token={token}"));
    assert!(led.head.contains("Location: /evil.example/\r\n"), "{}", led.head);
    assert_ne!(Program::start_at(INDEX.path(), "0.0.0.0:0").url.rsplit('=').next().unwrap(), token);
}
