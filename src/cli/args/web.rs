//! `web`: pages for a browser.
use clap::ValueHint;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

/// The port that is listened on if none is named.
const PORT: u16 = 7373;

// `web`; what it is for stands at its variant of `Command`, whose text documentation here would hide.
#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "The pages, what they ask and who may ask are in docs/web.md. What is not loopback wants a token, which is in \
                        the address that is printed. The work is done by the program probeidx-web, beside this one or in \
                        PATH.\n\n\
                        Examples:\n  probeidx web --open\n  probeidx --db fleet web --listen 127.0.0.1:0"
)]
pub struct Web {
    /// The address to listen on, with or without a port; port 0 is any that is free
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7373", value_parser = listened)]
    pub listen: SocketAddr,
    /// Open the page in the browser
    #[arg(long)]
    pub open: bool,
    /// Show source lines from below this folder; else from where distributions install them
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub source: Option<PathBuf>,
}

/// `127.0.0.1:80`, `[::1]:80`, `::1`, `localhost`, `localhost:80`.
fn listened(text: &str) -> Result<SocketAddr, String> {
    let (host, port) = match text.strip_prefix("localhost") {
        Some("") => (Some(IpAddr::V4(Ipv4Addr::LOCALHOST)), Some(PORT)),
        Some(rest) => {
            let port = rest.strip_prefix(':').and_then(|port| port.parse().ok());
            (Some(IpAddr::V4(Ipv4Addr::LOCALHOST)), port)
        }
        None => (text.trim_matches(['[', ']']).parse().ok(), Some(PORT)),
    };
    match (host, port, text.parse()) {
        (.., Ok(address)) => Ok(address),
        (Some(host), Some(port), _) => Ok(SocketAddr::new(host, port)),
        _ => Err("expected an address of this machine, such as 127.0.0.1:7373 or [::1]".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_with_and_without_a_port() {
        let read = |text: &str| listened(text).map(|address| address.to_string());
        assert_eq!(read("127.0.0.1:80").unwrap(), "127.0.0.1:80");
        assert_eq!(read("10.1.2.3").unwrap(), "10.1.2.3:7373");
        assert_eq!(read("[::1]:0").unwrap(), "[::1]:0");
        assert_eq!(read("::1").unwrap(), "[::1]:7373");
        assert_eq!(read("localhost").unwrap(), "127.0.0.1:7373");
        assert_eq!(read("localhost:81").unwrap(), "127.0.0.1:81");
        for wrong in ["", "example.org", "localhost:", "localhosts", "127.0.0.1:65536", ":80"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
