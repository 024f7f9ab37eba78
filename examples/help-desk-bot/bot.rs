//! The bot: BM25 over passages of the articles, and the passage that fits best as the answer.

use std::{
    collections::{HashMap, HashSet},
    fs,
    io::{self, BufRead, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use serde_json::{Value, json};

/// What can be set on the command line.
#[derive(Debug, PartialEq)]
struct Options {
    /// The folder of the articles.
    articles: PathBuf,
    /// How many passages are retrieved.
    top_k: usize,
    /// How many words a passage has.
    chunk_words: usize,
    /// Below this score of its best passage a question is declined.
    min_score: f64,
}

impl Options {
    fn read(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options =
            Self { articles: "golden/help-desk".into(), top_k: 5, chunk_words: 60, min_score: 4.0 };
        while let Some(name) = arguments.next() {
            let value = arguments.next().ok_or_else(|| format!("{name} needs a value"))?;
            let wrong = || format!("{name}: `{value}` is not a number above 0");
            let count = || value.parse().ok().filter(|count| *count > 0).ok_or_else(wrong);
            match name.as_str() {
                "--articles" => options.articles = value.into(),
                "--top-k" => options.top_k = count()?,
                "--chunk-words" => options.chunk_words = count()?,
                "--min-score" => options.min_score = value.parse().map_err(|_| wrong())?,
                _ => return Err(format!("there is no option {name}")),
            }
        }
        Ok(options)
    }
}

/// Answers one question a line until there are no more.
pub(crate) fn main(arguments: impl Iterator<Item = String>) -> ExitCode {
    let served = Options::read(arguments).and_then(|options| {
        let index = Index::build(&options.articles, options.chunk_words)?;
        serve(&index, &options, io::stdin().lock(), io::stdout().lock()).map_err(|error| error.to_string())
    });
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            let _ = writeln!(io::stderr(), "help-desk-bot: {why}");
            // Every question would fail alike.
            ExitCode::from(78)
        }
    }
}

fn serve(
    index: &Index,
    options: &Options,
    questions: impl BufRead,
    mut answers: impl Write,
) -> io::Result<()> {
    for line in questions.lines() {
        let question: Value = serde_json::from_str(&line?)?;
        let message = question["message"].as_str().unwrap_or_default();
        let mut answer = index.answer(message, options);
        answer["id"] = question["id"].clone();
        writeln!(answers, "{answer}")?;
        answers.flush()?;
    }
    Ok(())
}

/// A piece of an article.
#[derive(Debug)]
struct Passage {
    doc: String,
    id: String,
    text: String,
    /// How often each word stands in it.
    words: HashMap<String, f64>,
    /// How many words it has.
    length: f64,
}

/// All passages, and in how many of them each word stands.
#[derive(Debug)]
struct Index {
    passages: Vec<Passage>,
    spread: HashMap<String, f64>,
    mean_length: f64,
}

impl Index {
    /// Cuts every article of the folder into passages of about `chunk_words` words.
    fn build(folder: &Path, chunk_words: usize) -> Result<Self, String> {
        let failed = |error: io::Error| format!("{}: {error}", folder.display());
        let files = fs::read_dir(folder).map_err(failed)?.map(|entry| entry.map(|entry| entry.path()));
        let mut files: Vec<PathBuf> = files.collect::<Result<_, _>>().map_err(failed)?;
        files.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
        files.sort();
        let mut passages = vec![];
        for file in &files {
            let doc = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let text = fs::read_to_string(file).map_err(failed)?;
            passages.extend(cut(&doc, &text, chunk_words));
        }
        if passages.is_empty() {
            return Err(format!("{} holds no article", folder.display()));
        }
        let mut spread = HashMap::new();
        for word in passages.iter().flat_map(|passage| passage.words.keys()) {
            *spread.entry(word.clone()).or_insert(0.0) += 1.0;
        }
        let total: f64 = passages.iter().map(|passage| passage.length).sum();
        let mean_length = total / passages.len() as f64;
        Ok(Self { passages, spread, mean_length })
    }

    /// How telling a word is: the rarer, the more.
    fn weight(&self, word: &str) -> f64 {
        let spread = self.spread.get(word).copied().unwrap_or(0.0);
        ((self.passages.len() as f64 - spread + 0.5) / (spread + 0.5)).ln_1p()
    }

    /// Okapi BM25 (Robertson & Zaragoza 2009) with its usual constants.
    fn score(&self, question: &HashSet<String>, passage: &Passage) -> f64 {
        const K1: f64 = 1.2;
        const B: f64 = 0.75;
        let normal = K1 * (1.0 - B + B * passage.length / self.mean_length);
        let part = |word: &String| {
            let times = passage.words.get(word).copied().unwrap_or(0.0);
            self.weight(word) * times * (K1 + 1.0) / (times + normal)
        };
        question.iter().map(part).sum()
    }

    /// The passages that fit best, best first, with their scores.
    fn search(&self, question: &HashSet<String>, top_k: usize) -> Vec<(f64, &Passage)> {
        let mut found: Vec<(f64, &Passage)> =
            self.passages.iter().map(|passage| (self.score(question, passage), passage)).collect();
        found.retain(|(score, _)| *score > 0.0);
        found.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        found.truncate(top_k);
        found
    }

    fn answer(&self, message: &str, options: &Options) -> Value {
        let question: HashSet<String> = words(message).collect();
        let found = self.search(&question, options.top_k);
        let retrieved: Vec<Value> = found
            .iter()
            .map(|(score, passage)| {
                json!({"doc": passage.doc, "chunk": passage.id, "text": passage.text, "score": score})
            })
            .collect();
        let output = match found.first() {
            Some((score, _)) if *score >= options.min_score => {
                let best = self.most_to_the_point(&question, &found);
                format!("“{}” [{}]", best.text, best.id)
            }
            _ => "I could not find that in the help articles, so I do not know.".to_owned(),
        };
        json!({"output": output, "retrieved": retrieved})
    }

    /// Of what was found, the passage that has, beside its score, the sentence that shares the most
    /// telling words with the question: a second look that a plain sum over the passage cannot give.
    fn most_to_the_point<'a>(&self, question: &HashSet<String>, found: &[(f64, &'a Passage)]) -> &'a Passage {
        let point = |passage: &Passage| {
            let sentences = passage.text.split_inclusive(['.', '?', '!', ':']);
            let shared = sentences.map(|sentence| {
                let own: HashSet<String> = words(sentence).collect();
                own.intersection(question).map(|word| self.weight(word)).sum::<f64>()
            });
            shared.fold(0.0, f64::max)
        };
        let ranked = found.iter().map(|(score, passage)| (score + point(passage), *passage));
        let best = ranked.reduce(|best, next| if next.0 > best.0 { next } else { best });
        best.expect("something was found").1
    }
}

/// The passages of one article, numbered from 0; each bears the article's title among its words.
fn cut(doc: &str, text: &str, chunk_words: usize) -> Vec<Passage> {
    let title = text.lines().next().unwrap_or_default();
    let all: Vec<&str> =
        text.split_whitespace().filter(|word| !word.chars().all(|c| c == '#' || c == '-')).collect();
    let passage = |(at, part): (usize, &[&str])| {
        let text = part.join(" ");
        let mut counted = HashMap::new();
        for word in words(title).chain(words(&text)) {
            *counted.entry(word).or_insert(0.0) += 1.0;
        }
        let length = counted.values().sum();
        Passage { doc: doc.to_owned(), id: format!("{doc}#{at}"), text, words: counted, length }
    };
    all.chunks(chunk_words).enumerate().map(passage).collect()
}

/// The words of a text: lower case, without plural endings, without those that stand everywhere.
fn words(text: &str) -> impl Iterator<Item = String> {
    const EVERYWHERE: [&str; 40] = [
        "a", "an", "and", "are", "as", "at", "be", "can", "do", "does", "for", "from", "have", "how", "i",
        "if", "in", "is", "it", "many", "me", "much", "my", "of", "on", "or", "that", "the", "to", "what",
        "when", "with", "you", "your", "der", "die", "das", "und", "ich", "ist",
    ];
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).filter_map(|word| {
        let word = word.to_lowercase();
        if EVERYWHERE.contains(&word.as_str()) {
            return None;
        }
        let is_plural = word.len() > 3 && word.ends_with('s') && !word.ends_with("ss");
        Some(if is_plural { word[..word.len() - 1].to_owned() } else { word })
    })
}
