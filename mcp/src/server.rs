//! What the protocol asks for: who answers, which tools there are, and what they answer.
use crate::answer::{failed, returned};
use crate::question::Question;
use crate::tools::{INSTRUCTIONS, TOOLS, Tool};
use probeidx::cli::config::Config;
use probeidx::cli::exit;
use probeidx::cli::serve::Answers;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, Implementation, ListToolsResult, PaginatedRequestParams,
    ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Answers one client. An index is opened by the first question about it, and again when another file has replaced it.
pub struct Server {
    answers: Arc<Answers>,
}

impl Server {
    pub fn new(config: &Config) -> Self {
        Self { answers: Arc::new(Answers::new(config)) }
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let about = Implementation::new("probeidx", env!("CARGO_PKG_VERSION")).with_title("probeidx");
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(about)
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(TOOLS.iter().map(Tool::described).collect()))
    }

    async fn call_tool(
        &self,
        asked: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = Tool::named(&asked.name) else {
            let known: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
            let what = format!("there is no tool {}: there are {}", asked.name, known.join(", "));
            return Err(ErrorData::invalid_params(what, None));
        };
        let question = match Question::new(tool, asked.arguments.unwrap_or_default()) {
            Ok(question) => Arc::new(question),
            Err(error) => {
                let object: Value = serde_json::from_str(&exit::object(&error)).unwrap_or_default();
                return Ok(failed(&object).into());
            }
        };
        let (answers, theirs) = (Arc::clone(&self.answers), Arc::clone(&question));
        let answered =
            tokio::task::spawn_blocking(move || returned(&theirs, &answers.lines(&theirs.request)));
        let (ended, theirs) = (context.ct, Arc::clone(&question));
        let watcher = tokio::spawn(async move {
            ended.cancelled().await;
            theirs.request.is_cancelled.store(true, Ordering::Relaxed);
        });
        let answered = answered.await;
        watcher.abort();
        answered.map(Into::into).map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }
}
