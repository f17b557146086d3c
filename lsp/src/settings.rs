//! What the editor says when it starts the server: `initializationOptions`.
use probeidx::cli::args::Lsp;
use probeidx::cli::config::Config;
use serde_json::Value;
use std::path::PathBuf;

/// How scripts are taken. The command line is the beginning, and the editor has the last word.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// A folder with the kernel's source.
    pub source: Option<PathBuf>,
    /// As `stap -g`.
    pub guru: bool,
    /// The arguments of SystemTap scripts: `$1`, `@1`.
    pub arguments: Vec<String>,
}

impl Settings {
    pub fn new(asked: &Lsp) -> Self {
        Self { source: asked.source.clone(), guru: asked.guru, arguments: vec![] }
    }

    /// Takes over `kernel`, `db`, `source`, `guru` and `arguments`; says what is not one of them.
    pub fn take(&mut self, options: &Value, config: &mut Config) -> Vec<String> {
        let mut unknown = vec![];
        let Some(options) = options.as_object() else { return unknown };
        for (name, value) in options {
            match (name.as_str(), value) {
                (_, Value::Null) => {}
                ("kernel", Value::String(kernel)) => config.kernel = Some(kernel.clone()),
                ("db", Value::String(db)) => {
                    config.db = PathBuf::from(db);
                    config.is_default_db = false;
                }
                ("source", Value::String(source)) => self.source = Some(source.into()),
                ("guru", Value::Bool(guru)) => self.guru = *guru,
                ("arguments", Value::Array(arguments)) if arguments.iter().all(Value::is_string) => {
                    self.arguments = arguments.iter().filter_map(Value::as_str).map(str::to_owned).collect();
                }
                _ => unknown.push(format!(
                    "initializationOptions.{name} is not understood: there are kernel and db and source (texts), guru (true or \
                     false), arguments (texts)"
                )),
            }
        }
        unknown
    }
}
