//! Requests that are too large, too many or broken, and answers that nobody waits for.
use super::support::{INDEX, Program};
use std::io::{Read, Write};

#[test]
fn what_is_too_large_is_refused_before_it_is_read() {
    let program = Program::start(INDEX.path());
    assert_eq!(program.get(&format!("/{}", "a".repeat(20_000))).status, 431);
    assert_eq!(program.ask("GET /", &"A: b\r\n".repeat(100), b"").status, 431);
    let head =
        format!("POST /api/check HTTP/1.1\r\nHost: {}\r\nContent-Length: 9000000\r\n\r\n", program.host());
    assert_eq!(program.send(head.as_bytes()).status, 413);
    let head = format!(
        "POST /api/check HTTP/1.1\r\nHost: {}\r\nContent-Length: 99999999999999999999\r\n\r\n",
        program.host()
    );
    assert_eq!(program.send(head.as_bytes()).status, 413);
    let long = "a".repeat(300);
    assert_eq!(program.get(&format!("/api/search?q={long}")).items().len(), 0);
}

#[test]
fn what_is_no_request_is_refused_and_the_program_goes_on() {
    let program = Program::start(INDEX.path());
    for (bytes, status) in [
        (&b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"[..], 400),
        (b"GET / HTTP/1.0\r\n\r\n", 505),
        (b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        (b"POST /api/check HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 411),
    ] {
        assert_eq!(program.send(bytes).status, status, "{:?}", String::from_utf8_lossy(bytes));
    }
    assert_eq!(program.get("/api/resolve?spec=%ff").status, 400);
    assert_eq!(program.get("/api/kernels").status, 200);
}

#[test]
fn a_connection_has_several_requests_and_64_are_served_at_once() {
    let program = Program::start(INDEX.path());
    let request = format!("GET /api/kernels HTTP/1.1\r\nHost: {}\r\n\r\n", program.host());
    let mut streams: Vec<_> = (0..64).map(|_| program.connect()).collect();
    for _ in 0..2 {
        for stream in &mut streams {
            stream.write_all(request.as_bytes()).unwrap();
        }
        for stream in &mut streams {
            let mut read = vec![];
            while !read.ends_with(b"\r\n0\r\n\r\n") {
                let mut piece = [0; 4096];
                let length = stream.read(&mut piece).unwrap();
                assert!(length > 0, "{}", String::from_utf8_lossy(&read));
                read.extend_from_slice(&piece[..length]);
            }
            assert!(read.starts_with(b"HTTP/1.1 200 OK"));
        }
    }
}

#[test]
fn who_leaves_before_the_answer_harms_nobody() {
    let program = Program::start(INDEX.path());
    for _ in 0..100 {
        let mut stream = program.connect();
        let request = format!("GET /api/find?patterns=* HTTP/1.1\r\nHost: {}\r\n\r\n", program.host());
        stream.write_all(request.as_bytes()).unwrap();
    }
    assert_eq!(program.get("/api/kernels").status, 200);
}
