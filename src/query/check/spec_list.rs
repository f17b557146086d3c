//! Lists of probe points: one on each line, or the command of a tool that has some, with `#` for comments.
use std::path::Path;

use probeidx_format::View;

use super::request::ProbeRequest;
use super::{Asked, Located, Report, commands, of_script, read};
use crate::error::{Error, ErrorKind, Result};
use crate::tapset::{Definitions, Place};

/// Whether a file is a script rather than a list of probe points, by its name or first word.
pub fn is_script(path: &Path, bytes: &[u8]) -> bool {
    const FIRST: [&str; 6] = ["probe", "global", "private", "function", "%{", "@define"];
    if path.extension().is_some_and(|e| e == "stp") {
        return true;
    }
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(64 << 10)]);
    let mut lines = text.lines().map(str::trim);
    if lines.clone().next().is_some_and(|first| first.starts_with("#!")) {
        return true;
    }
    let first = lines.find(|l| !l.is_empty() && !l.starts_with(['#', '/', '*']));
    first.is_some_and(|line| {
        let word = line.split(|c: char| c.is_whitespace() || c == '(').next().unwrap_or(line);
        FIRST.contains(&word) || line.starts_with("%(")
    })
}

pub(super) fn check(
    view: &View<'_>,
    definitions: std::result::Result<&Definitions<'_>, &Error>,
    asked: &Asked,
    path: &Path,
    bytes: &[u8],
) -> Result<Report> {
    let text = String::from_utf8_lossy(bytes);
    let mut report = Report::default();
    for (number, line) in text.lines().enumerate() {
        let line = line.split_once('#').map_or(line, |(before, _)| before);
        let wanted = line.trim();
        if wanted.is_empty() {
            continue;
        }
        let line_number = u32::try_from(number + 1).unwrap_or(u32::MAX);
        let column = u32::try_from(line.len() - line.trim_start().len() + 1).unwrap_or(u32::MAX);
        let place = |error: Error| {
            let what = format!("no probe point: {}", error.message());
            let hint = error.remedy().unwrap_or("a script begins with probe, global or function");
            Error::new(ErrorKind::Syntax, what).at(path).line(line_number, column).hint(hint)
        };
        let written = Place { file: 0, line: line_number, column };
        if let Some(found) = commands::points(wanted) {
            for one in found {
                let column = column.saturating_add(u32::try_from(one.start).unwrap_or(u32::MAX));
                let written = Place { file: 0, line: line_number, column };
                let request = ProbeRequest::of_line(view, &one.point, path, written).map_err(place)?;
                report.points.extend(request.map(|request| request.judge(view)).transpose()?);
            }
            continue;
        }
        if let Some(request) = ProbeRequest::of_line(view, wanted, path, written).map_err(place)? {
            report.points.push(request.judge(view)?);
            continue;
        }
        let definitions = definitions.map_err(Error::clone)?;
        let script = format!("probe {wanted} {{ }}");
        let script = read(view, definitions, asked, path, script.as_bytes()).map_err(place)?;
        let one = of_script(view, definitions, asked, path, &script);
        report.points.extend(one.points.into_iter().map(|mut point| {
            point.place = Place { line: line_number, column, ..point.place };
            point
        }));
        report.findings.extend(one.findings.into_iter().map(|finding| Located {
            line: line_number,
            column,
            ..finding
        }));
    }
    Ok(report)
}
