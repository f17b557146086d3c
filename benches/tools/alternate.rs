//! alternate ROUNDS -- COMMAND [ARG]... -- COMMAND [ARG]...
//!
//! Runs the commands in turn, ROUNDS times after one round that does not count, and prints for each the median
//! and the least wall time in milliseconds. In turn, so that whatever the machine does meanwhile is the same for
//! all; started by posix_spawn, so that little but the command is measured. Their output is thrown away.
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let mut parts = args.split(|arg| arg == "--");
    let rounds = parts.next().and_then(|first| first.first()).and_then(|n| n.parse::<usize>().ok());
    let commands: Vec<&[String]> = parts.filter(|part| !part.is_empty()).collect();
    let (Some(rounds @ 1..), false) = (rounds, commands.is_empty()) else {
        eprintln!("usage: alternate ROUNDS -- COMMAND [ARG]... -- COMMAND [ARG]...");
        return ExitCode::from(2);
    };
    let mut times = vec![vec![]; commands.len()];
    for round in 0..=rounds {
        for (command, times) in commands.iter().zip(&mut times) {
            let mut process = Command::new(&command[0]);
            process.args(&command[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            let start = Instant::now();
            let status = process.status();
            let took = start.elapsed();
            match status {
                Ok(status) if status.success() => {}
                other => {
                    eprintln!("alternate: {}: {other:?}", command.join(" "));
                    return ExitCode::FAILURE;
                }
            }
            if round > 0 {
                times.push(took.as_secs_f64() * 1e3);
            }
        }
    }
    for mut times in times {
        times.sort_by(f64::total_cmp);
        println!("{:.3} {:.3}", times[times.len() / 2], times[0]);
    }
    ExitCode::SUCCESS
}
