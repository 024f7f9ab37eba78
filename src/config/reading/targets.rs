//! The targets: their models, parameters and prompts.

use std::{collections::HashMap, fs};

use serde_json::Value;

use super::Reading;
use crate::{
    config::{
        prompt_cache,
        settings::{ProviderSettings, TargetSettings},
        written::{WrittenExperiment, WrittenPrompt, WrittenTarget},
    },
    domain::{Cost, Fault, Parameters, nearest},
    providers::{Kind, check_parameters},
};

impl Reading<'_> {
    pub(super) fn targets(
        &mut self,
        written: &WrittenExperiment,
        providers: &[ProviderSettings],
    ) -> Vec<TargetSettings> {
        if written.target.is_empty() {
            let fault = Fault::of_file(self.document.file(), "no target is named")
                .at("`target`")
                .with_hint("add a `[[target]]` table with `name`, `provider` and `model`");
            self.faults.0.push(fault);
        }
        let mut first_use: HashMap<String, usize> = HashMap::new();
        let mut targets = vec![];
        for (at, target) in written.target.iter().enumerate() {
            let settings = self.target(at, target, written, providers);
            if let Some(first) = first_use.get(settings.name.as_str()) {
                let message = format!("two targets are named `{}` (`target[{first}]` too)", settings.name);
                self.hinted(&format!("target[{at}].name"), message, "give each target a name of its own");
            }
            first_use.entry(settings.name.to_string()).or_insert(at);
            targets.push(settings);
        }
        self.selected(targets)
    }

    fn target(
        &mut self,
        at: usize,
        written: &WrittenTarget,
        experiment: &WrittenExperiment,
        providers: &[ProviderSettings],
    ) -> TargetSettings {
        let place = format!("target[{at}]");
        let provider = written.provider.clone().unwrap_or_default();
        if written.provider.is_none() {
            self.hinted(&place, "no `provider` is named", "add a line such as `provider = \"anthropic\"`");
        } else if !providers.iter().any(|known| known.name.as_str() == provider)
            && !experiment.provider.contains_key(&provider)
        {
            let sections = experiment.provider.keys().map(String::as_str);
            let known = Kind::names_without_section().map(|name| -> &str { name }).chain(sections);
            let hint = match nearest(&provider, known) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("add a section `[provider.{provider}]`"),
            };
            self.hinted(&format!("{place}.provider"), format!("there is no provider `{provider}`"), hint);
        }
        let kind = providers.iter().find(|known| known.name.as_str() == provider).map(|known| known.kind);
        let is_application = kind.is_some_and(Kind::is_application);
        if written.model.as_deref().is_none_or(str::is_empty) && !is_application {
            self.hinted(&place, "no `model` is named", "add a line such as `model = \"claude-opus-5\"`");
        }
        let outputs = written.outputs.as_ref().map(|path| self.beside(path));
        if outputs.is_none() && kind.is_some_and(Kind::is_recorded) {
            self.hinted(
                &place,
                "a replayed target needs `outputs`",
                "name the JSONL file of recorded outputs",
            );
        }
        // An application is its own model.
        let application = written.name.clone().unwrap_or_else(|| provider.clone());
        let model = written.model.clone().unwrap_or(if is_application { application } else { String::new() });
        let name = written.name.clone().unwrap_or_else(|| model.clone());
        self.check_name(&format!("{place}.name"), &name);
        self.check_name(&format!("{place}.model"), &model.to_string());
        let own_prompt = written.prompt.as_ref();
        TargetSettings {
            name: name.into(),
            provider: provider.into(),
            model: model.into(),
            parameters: self.parameters(&place, written),
            system: self.template(&place, own_prompt, &experiment.prompt, "system"),
            user: self.template(&place, own_prompt, &experiment.prompt, "user"),
            outputs,
            simulate: written.simulate.clone().unwrap_or_default(),
            reuse: written.reuse.or(experiment.reuse).unwrap_or(false),
            max_cost_per_answer: self.max_cost_per_answer(&place, written, is_application),
        }
    }

    fn max_cost_per_answer(
        &mut self,
        place: &str,
        written: &WrittenTarget,
        is_application: bool,
    ) -> Option<Cost> {
        let dollars = written.max_cost_per_answer_usd?;
        let place = format!("{place}.max_cost_per_answer_usd");
        if !is_application {
            self.hinted(&place, "only an application's answers need it", "set `max_tokens` in its place");
        }
        self.cost(&place, dollars)
    }

    /// What is set for all requests of a target.
    fn parameters(&mut self, place: &str, written: &WrittenTarget) -> Parameters {
        let cache = written.cache.as_ref().and_then(|cache| {
            let read = prompt_cache::read(cache);
            read.map_err(|message| self.fault(&format!("{place}.cache"), message)).ok()
        });
        let parameters = Parameters {
            max_tokens: written.max_tokens,
            temperature: written.temperature,
            top_p: written.top_p,
            stop: written.stop.clone(),
            stream: written.stream,
            cache,
            extra: written.extra.clone(),
        };
        for message in check_parameters(&parameters) {
            self.fault(place, message);
        }
        self.check_sendable(&format!("{place}.extra"));
        let extra = Value::Object(written.extra.clone());
        self.check_literal_secrets(&format!("{place}.extra"), &extra, "keys belong in `api_key_env`");
        parameters
    }

    /// One part of a target's prompt: its own, else the experiment's; as text or from a file.
    fn template(
        &mut self,
        place: &str,
        own: Option<&WrittenPrompt>,
        common: &WrittenPrompt,
        part: &str,
    ) -> Option<String> {
        let parts = |prompt: &WrittenPrompt| match part {
            "system" => (prompt.system.clone(), prompt.system_file.clone()),
            _ => (prompt.user.clone(), prompt.user_file.clone()),
        };
        let own_parts = own.map(parts).filter(|(text, file)| text.is_some() || file.is_some());
        let place = if own_parts.is_some() { format!("{place}.prompt") } else { "prompt".to_owned() };
        let (text, file) = own_parts.unwrap_or_else(|| parts(common));
        match (text, file) {
            (Some(_), Some(_)) => {
                self.fault(
                    &format!("{place}.{part}_file"),
                    format!("`{part}` is given too; expected one of them"),
                );
                None
            }
            (None, Some(file)) => {
                let path = self.beside(&file);
                fs::read_to_string(&path)
                    .map_err(|error| {
                        let message = format!("`{}` cannot be read: {error}", path.display());
                        self.fault(&format!("{place}.{part}_file"), message);
                    })
                    .ok()
            }
            (text, None) => text,
        }
    }

    /// The targets that `--target` leaves, all without it.
    fn selected(&mut self, targets: Vec<TargetSettings>) -> Vec<TargetSettings> {
        if self.overrides.targets.is_empty() {
            return targets;
        }
        for wanted in &self.overrides.targets {
            if !targets.iter().any(|target| target.name.as_str() == wanted) {
                let names: Vec<&str> = targets.iter().map(|target| target.name.as_str()).collect();
                let message = format!("there is no target `{wanted}`; the targets are {}", names.join(", "));
                let fault = Fault::of_file("--target", message);
                self.faults.0.push(match nearest(wanted, names) {
                    Some(meant) => fault.with_hint(format!("did you mean `{meant}`?")),
                    None => fault,
                });
            }
        }
        let wanted =
            |target: &TargetSettings| self.overrides.targets.iter().any(|name| name == target.name.as_str());
        targets.into_iter().filter(wanted).collect()
    }
}
