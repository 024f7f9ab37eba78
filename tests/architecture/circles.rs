//! Circles among files, and among the rooms of one folder.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

/// What uses what, by which files.
type Graph<'a> = BTreeMap<&'a Path, BTreeMap<&'a Path, (&'a Path, &'a Path)>>;

/// Every circle, told by the files that close it: of files anywhere, and of the rooms that stand beside
/// each other in one folder.
pub(super) fn circles(uses: &BTreeSet<(&Path, &Path)>) -> Vec<String> {
    let mut files = Graph::new();
    let mut folders: BTreeMap<&Path, Graph<'_>> = BTreeMap::new();
    for &(from, to) in uses {
        files.entry(from).or_default().insert(to, (from, to));
        let folder = from.ancestors().skip(1).find(|folder| to.starts_with(folder)).expect("src holds all");
        let (one, other) = (member(folder, from), member(folder, to));
        if one != from && other != to {
            folders.entry(folder).or_default().entry(one).or_default().entry(other).or_insert((from, to));
        }
    }
    let rooms = folders.values().flat_map(|graph| circles_of("rooms", graph));
    circles_of("files", &files).into_iter().chain(rooms).collect()
}

/// What of `folder` holds `file`: the file itself or a room.
fn member<'a>(folder: &Path, file: &'a Path) -> &'a Path {
    let depth = folder.components().count() + 1;
    file.ancestors().find(|part| part.components().count() == depth).expect("the file is in the folder")
}

fn circles_of(kind: &str, graph: &Graph<'_>) -> Vec<String> {
    let reached: BTreeMap<&Path, BTreeSet<&Path>> =
        graph.keys().map(|&start| (start, reachable(graph, start))).collect();
    let mut told = vec![];
    let mut seen: BTreeSet<&Path> = BTreeSet::new();
    for (&start, from_start) in &reached {
        if !from_start.contains(start) || seen.contains(start) {
            continue;
        }
        let comes_back = |other: &&Path| reached.get(other).is_some_and(|back| back.contains(start));
        let round: BTreeSet<&Path> = from_start.iter().copied().filter(comes_back).collect();
        seen.extend(&round);
        let links =
            round.iter().flat_map(|&one| graph[one].iter().filter(|(other, _)| round.contains(*other)));
        let links =
            links.map(|(_, (from, to))| format!("  src/{} uses src/{}", from.display(), to.display()));
        told.push(format!("{kind}:\n{}", links.collect::<Vec<_>>().join("\n")));
    }
    told
}

fn reachable<'a>(graph: &Graph<'a>, start: &Path) -> BTreeSet<&'a Path> {
    let mut reached = BTreeSet::new();
    let mut open = vec![start];
    while let Some(at) = open.pop() {
        for &next in graph.get(at).into_iter().flat_map(BTreeMap::keys) {
            if reached.insert(next) {
                open.push(next);
            }
        }
    }
    reached
}

#[test]
fn circles_of_files_and_of_rooms_are_found() {
    let told = |pairs: &[(&'static str, &'static str)]| {
        circles(&pairs.iter().map(|(from, to)| (Path::new(*from), Path::new(*to))).collect())
    };
    assert_eq!(told(&[("a/x.rs", "a/y.rs"), ("a/y.rs", "a/z.rs"), ("a/x.rs", "a/z.rs")]), [""; 0]);
    assert_eq!(
        told(&[("a/x.rs", "a/y.rs"), ("a/y.rs", "a/x.rs")]),
        ["files:\n  src/a/x.rs uses src/a/y.rs\n  src/a/y.rs uses src/a/x.rs"]
    );
    assert_eq!(
        told(&[("a/p/x.rs", "a/q/y.rs"), ("a/q/z.rs", "a/p/w.rs")]),
        ["rooms:\n  src/a/p/x.rs uses src/a/q/y.rs\n  src/a/q/z.rs uses src/a/p/w.rs"]
    );
}
