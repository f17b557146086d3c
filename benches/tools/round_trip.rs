//! How long `serve` takes for a request: `round_trip REQUEST COMMAND...` starts the command, sends the request again and
//! again, and prints the median in microseconds from writing the line to reading the end of the answer; then how many
//! milliseconds a thousand of them take that are sent at once.
use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let request = arguments.next().expect("a request") + "\n";
    let program = arguments.next().expect("a command");
    let child = Command::new(program).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut child = child.expect("a command that starts");
    let mut requests = child.stdin.take().expect("stdin");
    let mut answers = BufReader::new(child.stdout.take().expect("stdout"));
    let mut times: Vec<Duration> = (0..3000).map(|_| round_trip(&request, &mut requests, &mut answers)).collect();
    times.sort();
    let start = Instant::now();
    let writer = std::thread::spawn(move || requests.write_all(request.repeat(1000).as_bytes()));
    for _ in 0..1000 {
        end_of_answer(&mut answers);
    }
    let all = start.elapsed();
    writer.join().expect("a writer").expect("a request that is taken");
    println!("{} {:.1}", times[times.len() / 2].as_micros(), all.as_secs_f64() * 1e3);
}

fn round_trip(request: &str, requests: &mut ChildStdin, answers: &mut BufReader<ChildStdout>) -> Duration {
    let start = Instant::now();
    requests.write_all(request.as_bytes()).expect("a request that is taken");
    end_of_answer(answers);
    start.elapsed()
}

/// Reads up to the line that ends an answer, which has to be found.
fn end_of_answer(answers: &mut BufReader<ChildStdout>) {
    let mut line = String::new();
    loop {
        line.clear();
        assert_ne!(answers.read_line(&mut line).expect("an answer"), 0, "it ended");
        if line.contains("\"done\":") {
            return;
        }
        assert!(line.contains("\"item\":"), "{line}");
    }
}
