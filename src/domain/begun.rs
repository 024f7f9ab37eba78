//! The sign that an answer has begun.

use std::{fmt, sync::Arc};

/// Called by whoever reads a streamed answer when its first event arrives: from then on a prefix
/// that it wrote to the provider's cache can be read by others. The default tells nobody.
#[derive(Clone, Default)]
pub struct Begun(Option<Arc<dyn Fn() + Send + Sync>>);

impl Begun {
    /// A sign that calls `tell`, perhaps several times: every attempt may begin.
    pub fn new(tell: impl Fn() + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(tell)))
    }

    /// The answer has begun.
    pub fn tell(&self) {
        if let Some(tell) = &self.0 {
            tell();
        }
    }
}

impl fmt::Debug for Begun {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(if self.0.is_some() { "Begun(told)" } else { "Begun(ignored)" })
    }
}
