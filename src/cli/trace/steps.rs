//! What is written to tracefs, in order.
use crate::query::trace::Plan;

/// The threads that are written at once: the kernel takes less than a page.
pub const THREADS: usize = 200;

/// The writes of a session behind the definitions.
pub struct Steps {
    /// The name of a file in the instance, and the text.
    pub writes: Vec<(String, String)>,
}

impl Steps {
    /// Those of a plan, for all threads or for some. Filters come before anything is enabled, and all starts at once.
    pub fn of(plan: &Plan, threads: &[u32], has_stacks: bool) -> Self {
        let mut writes: Vec<(String, String)> = vec![];
        let of_event = |event: &crate::query::trace::Event, file: &str| {
            format!("events/{}/{}/{file}", event.group, event.name)
        };
        for event in &plan.events {
            if let Some(filter) = &event.filter {
                writes.push((of_event(event, "filter"), filter.clone()));
            }
        }
        if !threads.is_empty() {
            // Threads and processes that are started later (4.16).
            writes.push(("options/event-fork".to_owned(), "1".to_owned()));
        }
        for some in threads.chunks(THREADS) {
            let some: Vec<String> = some.iter().map(u32::to_string).collect();
            writes.push(("set_event_pid".to_owned(), some.join(" ")));
        }
        if has_stacks {
            writes.push(("options/stacktrace".to_owned(), "1".to_owned()));
        }
        writes.extend(plan.events.iter().map(|event| (of_event(event, "enable"), "1".to_owned())));
        writes.push(("tracing_on".to_owned(), "1".to_owned()));
        Self { writes }
    }
}
