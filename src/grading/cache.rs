//! Compiled graders, each once: cases that say the same share one regular expression.

use std::{collections::HashMap, sync::Arc};

use serde_json::json;

use super::Grader;
use crate::{
    domain::{Fingerprint, GraderSpec},
    golden::canonical_json,
};

/// A grader, or what is wrong with its specification.
type Compiled = Result<Arc<Grader>, Vec<String>>;

/// Compiles graders and hands out the same one for the same specification.
#[derive(Debug, Default)]
pub struct GraderCache {
    graders: HashMap<Fingerprint, Compiled>,
    /// What was asked for last: most cases have the graders of the one before, and comparing is cheaper
    /// than hashing.
    last: Option<(GraderSpec, Compiled)>,
}

impl GraderCache {
    /// The compiled grader of `spec`.
    ///
    /// # Errors
    /// As [`Grader::compile`], the same each time.
    pub fn get(&mut self, spec: &GraderSpec) -> Result<Arc<Grader>, Vec<String>> {
        if let Some((_, grader)) = self.last.as_ref().filter(|(last, _)| last == spec) {
            return grader.clone();
        }
        let key = Fingerprint::of(canonical_json(&json!(spec)).as_bytes());
        let grader = self.graders.entry(key).or_insert_with(|| Grader::compile(spec).map(Arc::new)).clone();
        self.last = Some((spec.clone(), grader.clone()));
        grader
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::grading::testing::spec;

    #[test]
    fn the_same_specification_is_compiled_once() {
        let mut cache = GraderCache::default();
        let one = cache.get(&spec("regex", json!({"pattern": "a", "negate": true}))).unwrap();
        let same = cache.get(&spec("regex", json!({"negate": true, "pattern": "a"}))).unwrap();
        let other = cache.get(&spec("regex", json!({"pattern": "b"}))).unwrap();
        assert!(Arc::ptr_eq(&one, &same) && !Arc::ptr_eq(&one, &other));
        assert!(cache.get(&spec("regex", json!({}))).is_err());
    }
}
