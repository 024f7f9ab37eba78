//! Which file uses what of which other file.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use super::tokens::words;

/// One file of `src`.
#[derive(Debug)]
pub(super) struct Source {
    /// Its place below `src`; `mod.rs` stands for the folder's own code.
    pub(super) path: PathBuf,
    /// Its words, without comments, literals and tests.
    pub(super) words: Vec<String>,
    /// The modules it names, and whether it hands them on only (`pub use`).
    uses: Vec<Use>,
}

impl Source {
    /// The floors that it names, by which it is meant to reach what stands on any floor below.
    pub(super) fn floors(&self) -> BTreeSet<&str> {
        let from_the_top = self.uses.iter().filter(|used| used.path[0] == "crate");
        from_the_top.filter_map(|used| Some(used.path.get(1)?.as_str())).collect()
    }
}

#[derive(Debug)]
struct Use {
    path: Vec<String>,
    name: String,
    handed_on: bool,
}

/// All files that are not tests, by the path of their module.
pub(super) struct House(BTreeMap<Vec<String>, Source>);

impl House {
    /// Reads `src`.
    pub(super) fn read() -> Self {
        let mut files = BTreeMap::new();
        read_module(&mut files, vec![], Path::new("src/lib.rs"), Path::new("src"));
        Self(files)
    }

    /// Every file.
    pub(super) fn files(&self) -> impl Iterator<Item = &Source> {
        self.0.values()
    }

    /// Every pair of different files of which the first uses something of the second.
    pub(super) fn uses(&self) -> BTreeSet<(&Path, &Path)> {
        let mut pairs = BTreeSet::new();
        for (module, source) in &self.0 {
            for used in source.uses.iter().filter(|used| !used.handed_on) {
                let Some(file) = self.file_of(module, &used.path, 0) else { continue };
                if file != source.path {
                    pairs.insert((source.path.as_path(), file));
                }
            }
        }
        pairs
    }

    /// The file in which stands what `path` names in `module`; `None` for other crates.
    fn file_of(&self, module: &[String], path: &[String], depth: usize) -> Option<&Path> {
        assert!(depth < 32, "`{}` in `{}` leads nowhere", path.join("::"), module.join("::"));
        let mut at = module.to_vec();
        let mut rest = path;
        match path.first()?.as_str() {
            "crate" => at.clear(),
            "super" => {
                at.pop();
            }
            "self" => {}
            _ => rest = path,
        }
        if matches!(path[0].as_str(), "crate" | "super" | "self") {
            rest = &path[1..];
        } else if !self.0.contains_key(&child(module, &path[0])) {
            return None;
        }
        while let Some(name) = rest.first() {
            if name == "super" {
                at.pop();
            } else if self.0.contains_key(&child(&at, name)) {
                at.push(name.clone());
            } else {
                break;
            }
            rest = &rest[1..];
        }
        let source = self.0.get(&at)?;
        let handed = rest.first().and_then(|name| source.uses.iter().find(|used| used.name == *name));
        match handed {
            Some(used) => self.file_of(&at, &used.path, depth + 1),
            None => Some(&source.path),
        }
    }
}

fn child(module: &[String], name: &str) -> Vec<String> {
    let mut path = module.to_vec();
    path.push(name.to_owned());
    path
}

fn read_module(files: &mut BTreeMap<Vec<String>, Source>, module: Vec<String>, file: &Path, folder: &Path) {
    let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let words = words(&text);
    let children = children(&words, folder);
    for (name, own) in &children {
        read_module(files, child(&module, name), own, &folder.join(name));
    }
    let uses = uses(&words, &children);
    let path = if children.is_empty() { file.to_owned() } else { folder.join("mod.rs") };
    let path = path.strip_prefix("src").expect("a file below src").to_owned();
    files.insert(module, Source { path, words, uses });
}

/// The modules that stand in files of their own below `folder`.
fn children(words: &[String], folder: &Path) -> BTreeMap<String, PathBuf> {
    let declared = words.windows(3).filter(|three| three[0] == "mod" && three[2] == ";");
    let files = declared.filter_map(|three| {
        let places = [folder.join(format!("{}.rs", three[1])), folder.join(&three[1]).join("mod.rs")];
        Some((three[1].clone(), places.into_iter().find(|place| place.is_file())?))
    });
    files.collect()
}

fn uses(words: &[String], children: &BTreeMap<String, PathBuf>) -> Vec<Use> {
    let mut found = vec![];
    let mut at = 0;
    while at < words.len() {
        let word = words[at].as_str();
        let is_path = words.get(at + 1).is_some_and(|next| next == "::")
            && (at == 0 || words[at - 1] != "::")
            && (matches!(word, "crate" | "super" | "self") || children.contains_key(word));
        if word == "use" {
            let handed_on = at > 0 && matches!(words[at - 1].as_str(), "pub" | ")");
            let mut paths = vec![];
            at = tree(words, at + 1, &[], &mut paths);
            found.extend(paths.into_iter().map(|(path, name)| Use { path, name, handed_on }));
        } else if is_path {
            let mut path = vec![words[at].clone()];
            while words.get(at + 1).is_some_and(|next| next == "::") && at + 2 < words.len() {
                path.push(words[at + 2].clone());
                at += 2;
            }
            found.push(Use { path, name: String::new(), handed_on: false });
            at += 1;
        } else {
            at += 1;
        }
    }
    found
}

/// Reads one tree of a `use` from `at` on: its paths with the names they get here. Gives where it ends.
fn tree(words: &[String], at: usize, before: &[String], paths: &mut Vec<(Vec<String>, String)>) -> usize {
    let mut path = before.to_vec();
    let mut at = at;
    loop {
        match words[at].as_str() {
            "{" => {
                at += 1;
                while words[at] != "}" {
                    at = tree(words, at, &path, paths);
                    if words[at] == "," {
                        at += 1;
                    }
                }
                return at + 1;
            }
            "::" => at += 1,
            "as" => {
                paths.push((path, words[at + 1].clone()));
                return at + 2;
            }
            "," | "}" | ";" => {
                if path.last().is_some_and(|last| last == "self") {
                    path.pop();
                }
                let name = path.last().cloned().unwrap_or_default();
                paths.push((path, name));
                return at;
            }
            name => {
                path.push(name.to_owned());
                at += 1;
            }
        }
    }
}
