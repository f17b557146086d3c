//! Requests by HTTP and TLS.
use super::exchange::{Body, Head, Request, Transport};
use std::time::Duration;
use ureq::http::HeaderMap;

/// HTTP/1.1, with TLS against the certificates that browsers trust. Follows redirects and uses the proxies of the
/// environment.
pub struct Http(ureq::Agent);

impl Http {
    /// A server without a response within `timeout` is given up.
    pub fn new(timeout: Duration) -> Self {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(5)
            .timeout_connect(Some(timeout))
            .timeout_recv_response(Some(timeout))
            .user_agent(concat!("probeidx/", env!("CARGO_PKG_VERSION")))
            .build();
        Self(config.into())
    }
}

impl Transport for Http {
    fn get(&self, request: &Request) -> Result<(Head, Body), String> {
        let mut call = self.0.get(&request.url);
        if let Some(version) = &request.version {
            call = call.header("Range", format!("bytes={}-", request.from)).header("If-Range", version);
        }
        let (head, body) = call.call().map_err(|error| error.to_string())?.into_parts();
        let text = |name: &str| text(&head.headers, name);
        let number = |name: &str| text(name)?.trim().parse().ok();
        // A weak one does not guarantee identical bytes.
        let tag = text("etag").filter(|tag| !tag.starts_with("W/")).or_else(|| text("last-modified"));
        let head_fields = Head {
            status: head.status.as_u16(),
            length: number("content-length"),
            range: text("content-range"),
            tag,
            size: number("x-debuginfod-size"),
        };
        // `receive` limits the size.
        Ok((head_fields, Box::new(body.into_with_config().limit(u64::MAX).reader())))
    }
}

fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    Some(headers.get(name)?.to_str().ok()?.to_owned())
}
