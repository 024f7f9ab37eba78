//! The graders: those that cases may name, and those of cases that name none.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::Reading;
use crate::{
    config::written::WrittenGrader,
    domain::{GraderName, GraderSpec},
};

impl Reading<'_> {
    pub(super) fn named_graders(
        &mut self,
        written: &BTreeMap<String, Map<String, Value>>,
    ) -> BTreeMap<String, GraderSpec> {
        let mut graders = BTreeMap::new();
        for (name, table) in written {
            self.check_name("grader", name);
            if let Some(spec) = self.grader(&format!("grader.{name}"), Some(name), table.clone()) {
                graders.insert(name.clone(), spec);
            }
        }
        graders
    }

    pub(super) fn default_graders(
        &mut self,
        written: &[WrittenGrader],
        named: &BTreeMap<String, GraderSpec>,
    ) -> Vec<GraderSpec> {
        let mut graders = vec![];
        for (at, grader) in written.iter().enumerate() {
            let place = format!("graders[{at}]");
            match grader {
                WrittenGrader::Inline(table) => graders.extend(self.grader(&place, None, table.clone())),
                WrittenGrader::Named(name) => match named.get(name) {
                    Some(spec) => graders.push(spec.clone()),
                    None => graders.push(GraderSpec {
                        name: GraderName::from(name.as_str()),
                        kind: name.clone(),
                        hard: false,
                        parameters: Map::new(),
                    }),
                },
            }
        }
        for (at, spec) in graders.iter().enumerate() {
            if let Err(messages) = crate::grading::Grader::compile(spec) {
                for message in messages {
                    self.fault(&format!("graders[{at}]"), message);
                }
            }
        }
        graders
    }

    fn grader(
        &mut self,
        place: &str,
        name: Option<&str>,
        mut table: Map<String, Value>,
    ) -> Option<GraderSpec> {
        let Some(Value::String(kind)) = table.shift_remove("kind") else {
            self.fault(place, "a grader needs a `kind` such as `words`");
            return None;
        };
        let hard = match table.shift_remove("hard") {
            None => false,
            Some(Value::Bool(hard)) => hard,
            Some(other) => {
                self.fault(&format!("{place}.hard"), format!("found `{other}`, expected true or false"));
                false
            }
        };
        let name = GraderName::from(name.unwrap_or(&kind));
        let spec = GraderSpec { name, kind, hard, parameters: table };
        if let Err(messages) = crate::grading::Grader::compile(&spec) {
            for message in messages {
                self.fault(place, message);
            }
            return None;
        }
        Some(spec)
    }
}
