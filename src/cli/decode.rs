//! `probeidx decode`
use super::args::Decode;
use super::config::Config;
use super::exit::Outcome;
use crate::error::Result;
use std::io::Write;

pub fn run(_: &Decode, _: &Config, _: &mut dyn Write) -> Result<Outcome> {
    Ok(Outcome::Done)
}
