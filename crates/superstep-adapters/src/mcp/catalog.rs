//! Resources and prompts of an MCP server.

/// A resource that clients of a server can read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Resource {
    /// URI by which clients request the resource.
    pub uri: String,
    /// Display name.
    pub name: String,
    /// Description of the content.
    pub description: Option<String>,
    /// MIME type, such as `text/plain`.
    pub mime_type: Option<String>,
}

impl Resource {
    /// Creates a resource without description and MIME type.
    pub fn new(uri: impl Into<String>, name: impl Into<String>) -> Self {
        Self { uri: uri.into(), name: name.into(), description: None, mime_type: None }
    }

    /// Sets the description of the content.
    #[must_use]
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Sets the MIME type.
    #[must_use]
    pub fn with_mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.mime_type = Some(mime_type.into());
        self
    }

    pub(super) fn from_rmcp(resource: rmcp::model::Resource) -> Self {
        let rmcp::model::Resource { uri, name, description, mime_type, .. } = resource;
        Self { uri, name, description, mime_type }
    }

    pub(super) fn to_rmcp(&self) -> rmcp::model::Resource {
        let mut resource = rmcp::model::Resource::new(&self.uri, &self.name);
        resource.description.clone_from(&self.description);
        resource.mime_type.clone_from(&self.mime_type);
        resource
    }
}

/// A prompt template of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Prompt {
    /// Name by which clients request the prompt.
    pub name: String,
    /// Purpose of the prompt.
    pub description: Option<String>,
    /// Arguments of the template.
    pub arguments: Vec<PromptArgument>,
}

/// An argument of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PromptArgument {
    /// Name of the argument.
    pub name: String,
    /// Meaning of the argument.
    pub description: Option<String>,
    /// True if the argument is required.
    pub is_required: bool,
}

impl Prompt {
    /// Creates a prompt without arguments.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), description: None, arguments: Vec::new() }
    }

    /// Sets the purpose of the prompt.
    #[must_use]
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Adds a required argument.
    #[must_use]
    pub fn requires(self, name: impl Into<String>) -> Self {
        self.with(name.into(), true)
    }

    /// Adds an optional argument.
    #[must_use]
    pub fn accepts(self, name: impl Into<String>) -> Self {
        self.with(name.into(), false)
    }

    fn with(mut self, name: String, is_required: bool) -> Self {
        self.arguments.push(PromptArgument { name, description: None, is_required });
        self
    }

    pub(super) fn from_rmcp(prompt: rmcp::model::Prompt) -> Self {
        let arguments = prompt.arguments.unwrap_or_default().into_iter().map(|argument| PromptArgument {
            name: argument.name,
            description: argument.description,
            is_required: argument.required.unwrap_or_default(),
        });
        Self { name: prompt.name, description: prompt.description, arguments: arguments.collect() }
    }

    pub(super) fn to_rmcp(&self) -> rmcp::model::Prompt {
        let arguments = self.arguments.iter().map(|argument| {
            let mut converted = rmcp::model::PromptArgument::new(&argument.name).with_required(argument.is_required);
            converted.description.clone_from(&argument.description);
            converted
        });
        rmcp::model::Prompt::new(&self.name, self.description.as_ref(), Some(arguments.collect()))
    }
}
