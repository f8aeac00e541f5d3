//! What a server has besides tools: resources, which can be read, and prompts, which become messages.

/// Something a server lets others read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Resource {
    /// What it is asked for by.
    pub uri: String,
    /// What it is called.
    pub name: String,
    /// What is in it.
    pub description: Option<String>,
    /// Of what kind it is, e.g. `text/plain`.
    pub mime_type: Option<String>,
}

impl Resource {
    /// A resource of which nothing else is said.
    pub fn new(uri: impl Into<String>, name: impl Into<String>) -> Self {
        Self { uri: uri.into(), name: name.into(), description: None, mime_type: None }
    }

    /// Says what is in it.
    #[must_use]
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Says of what kind it is.
    #[must_use]
    pub fn with_mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.mime_type = Some(mime_type.into());
        self
    }

    pub(super) fn read(resource: rmcp::model::Resource) -> Self {
        let rmcp::model::Resource { uri, name, description, mime_type, .. } = resource;
        Self { uri, name, description, mime_type }
    }

    pub(super) fn written(&self) -> rmcp::model::Resource {
        let mut resource = rmcp::model::Resource::new(&self.uri, &self.name);
        resource.description.clone_from(&self.description);
        resource.mime_type.clone_from(&self.mime_type);
        resource
    }
}

/// A text with gaps that a server fills.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Prompt {
    /// What it is asked for by.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// Its gaps.
    pub arguments: Vec<PromptArgument>,
}

/// A gap in a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PromptArgument {
    /// What it is called.
    pub name: String,
    /// What belongs there.
    pub description: Option<String>,
    /// Whether it must be filled.
    pub is_required: bool,
}

impl Prompt {
    /// A prompt without gaps.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), description: None, arguments: Vec::new() }
    }

    /// Says what it is for.
    #[must_use]
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Adds a gap that must be filled.
    #[must_use]
    pub fn requires(self, name: impl Into<String>) -> Self {
        self.with(name.into(), true)
    }

    /// Adds a gap that may be filled.
    #[must_use]
    pub fn accepts(self, name: impl Into<String>) -> Self {
        self.with(name.into(), false)
    }

    fn with(mut self, name: String, is_required: bool) -> Self {
        self.arguments.push(PromptArgument { name, description: None, is_required });
        self
    }

    pub(super) fn read(prompt: rmcp::model::Prompt) -> Self {
        let arguments = prompt.arguments.unwrap_or_default().into_iter().map(|argument| PromptArgument {
            name: argument.name,
            description: argument.description,
            is_required: argument.required.unwrap_or_default(),
        });
        Self { name: prompt.name, description: prompt.description, arguments: arguments.collect() }
    }

    pub(super) fn written(&self) -> rmcp::model::Prompt {
        let arguments = self.arguments.iter().map(|argument| {
            let mut written = rmcp::model::PromptArgument::new(&argument.name).with_required(argument.is_required);
            written.description.clone_from(&argument.description);
            written
        });
        rmcp::model::Prompt::new(&self.name, self.description.as_ref(), Some(arguments.collect()))
    }
}
