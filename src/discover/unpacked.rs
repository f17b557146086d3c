//! Unpacks a compressed kernel once, to examine it and to read it.
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::Result;
use crate::load::Image;

/// The unpacked content of a file that was examined, kept until it is read.
#[derive(Clone, Default)]
pub struct Unpacked(Arc<Mutex<Option<Image>>>);

impl Unpacked {
    /// Examines the content of this file, and keeps it if it was compressed.
    ///
    /// # Errors
    /// Those of [`Image::open`].
    pub fn look<T>(&self, path: &Path, look: impl FnOnce(&Image) -> T) -> Result<T> {
        let image = self.take(path)?;
        let seen = look(&image);
        if matches!(image, Image::Inflated(_)) {
            *self.kept() = Some(image);
        }
        Ok(seen)
    }

    /// The content of this file, which is then no longer kept.
    ///
    /// # Errors
    /// Those of [`Image::open`].
    pub fn take(&self, path: &Path) -> Result<Image> {
        let kept = self.kept().take();
        kept.map_or_else(|| Image::open(path), Ok)
    }

    /// Drops the kept content.
    pub fn forget(&self) {
        self.kept().take();
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Option<Image>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The kept content does not matter for equality.
impl PartialEq for Unpacked {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Unpacked {}

impl std::fmt::Debug for Unpacked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Unpacked({})", self.kept().is_some())
    }
}
