//! From the experiment file as written to the experiment as it is meant: defaults in place, files read,
//! names resolved, every fault told at once.

use std::{
    collections::{BTreeMap, HashMap},
    env, fs,
    path::{Path, PathBuf},
};

use jiff::civil::Date;
use serde_json::{Map, Value};

use super::{
    document::{Document, beside},
    gates,
    prices::{self, PriceTable},
    prompt_cache,
    provider_kind::ProviderKind,
    settings::{ProviderSettings, Settings, TargetSettings, default_retrieval_k},
    stop::StopSettings,
    written::{WrittenExperiment, WrittenGrader, WrittenPrompt, WrittenProvider, WrittenTarget},
};
use crate::{
    domain::{Cost, Fault, Faults, GraderName, GraderSpec, Parameters, Price, Shard, nearest},
    golden::Selection,
    providers::check_parameters,
    queue::QueueSettings,
};

/// The store where neither the command line, the environment nor the experiment names one.
pub const DEFAULT_STORE: &str = "results/caseload.db";

/// The environment variable that names the store.
pub const STORE_VARIABLE: &str = "CASELOAD_STORE";

/// The longest wait for a connection where the experiment does not say, in seconds.
const CONNECT_S: f64 = 10.0;

/// The longest wait between two bytes of an answer where the experiment does not say, in seconds. An
/// answer that is not streamed is silent until it is complete.
const IDLE_S: f64 = 600.0;

/// What the command line puts over the experiment file.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// `key=value` entries of the file.
    pub set: Vec<String>,
    /// How often a case is asked.
    pub repeats: Option<u32>,
    /// The seed.
    pub seed: Option<u64>,
    /// The only targets to run.
    pub targets: Vec<String>,
    /// What may be spent at most.
    pub max_cost: Option<Cost>,
    /// The store.
    pub store: Option<PathBuf>,
    /// Which cases to ask.
    pub selection: Selection,
    /// The only part of them to ask.
    pub shard: Option<Shard>,
}

/// An experiment file, read and understood.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What a run freezes.
    pub settings: Settings,
    /// The price of each target, in their order.
    pub prices: Vec<Option<Price>>,
    /// Where the run is stored.
    pub store: PathBuf,
}

/// Reads the experiment in `file` with `overrides` over it; prices are those in force on `today`.
///
/// # Errors
/// Every fault of the file and of the files it names, but for the golden set and recorded outputs.
pub fn read(file: &Path, overrides: &Overrides, today: Date) -> Result<Plan, Faults> {
    let mut document = Document::open(file)?;
    let mut faults = Faults::default();
    for assignment in &overrides.set {
        if let Err(fault) = document.set(assignment) {
            faults.0.extend(fault.0);
        }
    }
    let (written, typed) = document.read::<WrittenExperiment>();
    faults.0.extend(typed.0);
    let Some(written) = written else { return Err(faults) };
    let reading = Reading { document: &document, overrides, faults };
    reading.plan(written, today)
}

/// The reading of one file: collects faults while it resolves.
pub(super) struct Reading<'a> {
    document: &'a Document,
    overrides: &'a Overrides,
    faults: Faults,
}

impl Reading<'_> {
    fn plan(mut self, mut written: WrittenExperiment, today: Date) -> Result<Plan, Faults> {
        let table = self.price_table(&written);
        let named_graders = self.named_graders(&written.grader);
        let graders = self.default_graders(&written.graders, &named_graders);
        let providers = self.providers(&written);
        let targets = self.targets(&written, &providers);
        let golden = self.golden(written.golden.as_ref());
        let settings = Settings {
            name: self.name(written.name.as_deref()),
            golden,
            repeats: self.repeats(written.repeats),
            seed: self.overrides.seed.or(written.seed).unwrap_or(1),
            pass_if: written.pass_if.unwrap_or_default(),
            graders,
            named_graders,
            max_cost: self.max_cost(written.max_cost_usd),
            selection: self.overrides.selection.clone(),
            stop: written.stop.clone(),
            shard: self.overrides.shard,
            store_answers: written.store_answers.unwrap_or_default(),
            targets,
            providers,
            gates: gates::meant(self.document, std::mem::take(&mut written.gates), &mut self.faults),
            retrieval_k: self.retrieval_k(written.retrieval_k),
        };
        let prices: Vec<Option<Price>> =
            settings.targets.iter().map(|target| table.find(&target.model, today).cloned()).collect();
        self.check_budget(&settings, &prices);
        if let Some(message) = settings.stop.as_ref().and_then(StopSettings::fault) {
            self.fault("stop.margin", message);
        }
        let store = self.store(written.store);
        self.faults.none_or(Plan { settings, prices, store })
    }

    pub(super) fn fault(&mut self, path: &str, message: impl Into<String>) {
        let fault = self.document.fault(path, message);
        self.faults.0.push(fault);
    }

    pub(super) fn hinted(&mut self, path: &str, message: impl Into<String>, hint: impl Into<String>) {
        let fault = self.document.fault(path, message).with_hint(hint);
        self.faults.0.push(fault);
    }

    /// A path of the file, relative to the file itself.
    pub(super) fn beside(&self, path: &Path) -> PathBuf {
        beside(self.document.file(), path)
    }

    fn name(&mut self, name: Option<&str>) -> String {
        let stem = self.document.file().file_stem().and_then(|stem| stem.to_str()).unwrap_or("experiment");
        let name = name.unwrap_or(stem);
        let plain = |character: char| character.is_ascii_alphanumeric() || "-_.".contains(character);
        if name.is_empty() || !name.chars().all(plain) {
            self.hinted(
                "name",
                format!("`{name}` cannot name runs"),
                "use letters, digits, `-`, `_` and `.`",
            );
        }
        name.to_owned()
    }

    fn golden(&mut self, golden: Option<&PathBuf>) -> PathBuf {
        match golden {
            Some(path) => self.beside(path),
            None => {
                let fault = Fault::of_file(self.document.file(), "no golden set is named")
                    .at("`golden`")
                    .with_hint("add a line such as `golden = \"../golden/help-desk.jsonl\"`");
                self.faults.0.push(fault);
                PathBuf::new()
            }
        }
    }

    fn repeats(&mut self, written: Option<u32>) -> u32 {
        let repeats = self.overrides.repeats.or(written).unwrap_or(1);
        if repeats == 0 {
            self.fault("repeats", "0 repeats ask nothing; expected at least 1");
        }
        repeats
    }

    fn retrieval_k(&mut self, written: Option<u32>) -> u32 {
        if written == Some(0) {
            self.fault("retrieval_k", "found 0, expected at least 1");
        }
        written.unwrap_or_else(default_retrieval_k)
    }

    fn max_cost(&mut self, written: Option<f64>) -> Option<Cost> {
        if self.overrides.max_cost.is_some() {
            return self.overrides.max_cost;
        }
        let written = written?;
        match written.to_string().parse() {
            Ok(cost) => Some(cost),
            Err(error) => {
                self.fault("max_cost_usd", format!("{error}"));
                None
            }
        }
    }

    fn store(&self, written: Option<PathBuf>) -> PathBuf {
        let from_variable = || env::var_os(STORE_VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from);
        let overridden = self.overrides.store.clone().or_else(from_variable);
        overridden
            .or_else(|| written.map(|path| self.beside(&path)))
            .unwrap_or_else(|| PathBuf::from(DEFAULT_STORE))
    }

    fn price_table(&mut self, written: &WrittenExperiment) -> PriceTable {
        let mut table = PriceTable::shipped();
        if let Some(path) = &written.prices {
            match PriceTable::open(&self.beside(path)) {
                Ok(own) => table.override_with(own),
                Err(faults) => self.faults.0.extend(faults.0),
            }
        }
        table.override_with(prices::priced(self.document, &written.price, &mut self.faults));
        table
    }

    /// A budget can only be kept when the most a trial can cost is known.
    fn check_budget(&mut self, settings: &Settings, prices: &[Option<Price>]) {
        if settings.max_cost.is_none() {
            return;
        }
        for (at, (target, price)) in settings.targets.iter().zip(prices).enumerate() {
            let provider = settings.provider_of(target);
            if price.is_none() {
                self.hinted(
                    &format!("target[{at}].model"),
                    format!(
                        "model `{}` has no price, so the budget `max_cost_usd` cannot be kept",
                        target.model
                    ),
                    format!("add a `[[price]]` row for `{}`, or run without a budget", target.model),
                );
            } else if target.parameters.max_tokens.is_none() && provider.kind == ProviderKind::Openai {
                self.hinted(
                    &format!("target[{at}]"),
                    format!(
                        "target `{}` has no `max_tokens`, so the most it can cost is unknown",
                        target.name
                    ),
                    "set `max_tokens`, or run without a budget",
                );
            }
        }
    }

    fn named_graders(
        &mut self,
        written: &BTreeMap<String, Map<String, Value>>,
    ) -> BTreeMap<String, GraderSpec> {
        let mut graders = BTreeMap::new();
        for (name, table) in written {
            if let Some(spec) = self.grader(&format!("grader.{name}"), Some(name), table.clone()) {
                graders.insert(name.clone(), spec);
            }
        }
        graders
    }

    fn default_graders(
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

    /// The accounts that targets use: those with a section, and those named after their kind.
    fn providers(&mut self, written: &WrittenExperiment) -> Vec<ProviderSettings> {
        let mut names: Vec<&str> = vec![];
        for target in &written.target {
            if let Some(name) = target.provider.as_deref()
                && !names.contains(&name)
                && (written.provider.contains_key(name) || ProviderKind::from_name(name).is_some())
            {
                names.push(name);
            }
        }
        let unnamed = WrittenProvider::default();
        let used = names.into_iter().map(|name| (name, written.provider.get(name).unwrap_or(&unnamed)));
        used.filter_map(|(name, provider)| self.provider(name, provider)).collect()
    }

    fn provider(&mut self, name: &str, written: &WrittenProvider) -> Option<ProviderSettings> {
        let place = format!("provider.{name}");
        let Some(kind) = written.kind.or_else(|| ProviderKind::from_name(name)) else {
            self.hinted(&place, "no `kind` is named", "add a line such as `kind = \"openai\"`");
            return None;
        };
        let timeouts = written.timeouts;
        for (key, seconds) in [("connect_s", timeouts.connect_s), ("idle_s", timeouts.idle_s)] {
            if seconds.is_some_and(|seconds| !(seconds > 0.0 && seconds <= 86_400.0)) {
                self.fault(&format!("{place}.timeouts.{key}"), "expected seconds above 0 and up to a day");
            }
        }
        let mut queue = self.queue(&place, written);
        let application = self.application(&place, written, kind, &mut queue);
        let mut base_url =
            written.base_url.clone().or_else(|| kind.default_base_url().map(ToOwned::to_owned));
        if let Some(url) = &base_url {
            self.check_base_url(&place, url);
        }
        if kind == ProviderKind::Http {
            base_url = written.url.clone();
        }
        Some(ProviderSettings {
            name: name.into(),
            kind,
            api_key_env: self.key_variable(written, kind),
            base_url,
            max_tokens_field: written.max_tokens_field,
            queue,
            connect_s: timeouts.connect_s.unwrap_or(CONNECT_S),
            idle_s: timeouts.idle_s.unwrap_or(IDLE_S),
            exec: application.exec,
            http: application.http,
        })
    }

    fn queue(&mut self, place: &str, written: &WrittenProvider) -> QueueSettings {
        let defaults = QueueSettings::default();
        let queue = QueueSettings {
            limits: written.limits.clone().unwrap_or_default(),
            retry: written.retry.unwrap_or_default(),
            attempt_timeout_s: written.timeouts.attempt_s.unwrap_or(defaults.attempt_timeout_s),
            trial_timeout_s: written.timeouts.trial_s,
            ..defaults
        };
        for message in queue.faults() {
            self.fault(place, message);
        }
        queue
    }

    fn check_base_url(&mut self, place: &str, url: &str) {
        let path = format!("{place}.base_url");
        let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
        match rest {
            None | Some("") => self.fault(&path, format!("`{url}` is not an http(s) address")),
            Some(_) if url.ends_with("/chat/completions") || url.ends_with("/messages") => self.hinted(
                &path,
                format!("`{url}` names the endpoint itself"),
                "give the part before it, such as `https://api.openai.com/v1`",
            ),
            Some(rest) if rest.contains('@') || rest.contains('?') => {
                // The address itself is not repeated: it may hold a secret.
                self.hinted(
                    &path,
                    "the address holds a user name or a query",
                    "keys belong in `api_key_env`",
                );
            }
            Some(_) => {}
        }
    }

    /// A server elsewhere than the dialect's own needs a key only where the experiment says so.
    fn key_variable(&self, written: &WrittenProvider, kind: ProviderKind) -> Option<String> {
        let own_address = written.base_url.is_some() && kind == ProviderKind::Openai;
        let default = if own_address { None } else { kind.default_key_variable() };
        written.api_key_env.clone().or_else(|| default.map(ToOwned::to_owned)).filter(|name| !name.is_empty())
    }

    fn targets(
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
            let known = experiment.provider.keys().map(String::as_str);
            let hint = match nearest(&provider, known.chain(["anthropic", "openai", "replay", "simulator"])) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("add a section `[provider.{provider}]`"),
            };
            self.hinted(&format!("{place}.provider"), format!("there is no provider `{provider}`"), hint);
        }
        let kind = providers.iter().find(|known| known.name.as_str() == provider).map(|known| known.kind);
        let is_application = kind.is_some_and(ProviderKind::is_application);
        if written.model.as_deref().is_none_or(str::is_empty) && !is_application {
            self.hinted(&place, "no `model` is named", "add a line such as `model = \"claude-opus-5\"`");
        }
        let outputs = written.outputs.as_ref().map(|path| self.beside(path));
        if outputs.is_none() && kind == Some(ProviderKind::Replay) {
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
        }
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
