//! `unknown`: the answer says that it does not know.
//!
//! Parameters: `phrases`, in addition to those below.

use super::{
    finding::Finding,
    parameters::Parameters,
    phrase::{Phrase, Searchable},
};

/// Raised whenever the same answer may get another verdict.
pub(super) const VERSION: u32 = 1;

/// Ways of declining in English, German, Spanish and French.
const DEFAULTS: [&str; 40] = [
    "I don't know",
    "I do not know",
    "I'm not sure",
    "I am not sure",
    "I can't find",
    "I cannot find",
    "I can't answer",
    "I cannot answer",
    "I couldn't find",
    "I could not find",
    "I have no information",
    "I don't have information",
    "I don't have any information",
    "I do not have information",
    "there is no information",
    "no information about",
    "no information on",
    "not in the articles",
    "is not mentioned",
    "isn't mentioned",
    "ich weiß es nicht",
    "ich weiss es nicht",
    "weiß ich nicht",
    "das weiß ich leider nicht",
    "dazu liegen mir keine Informationen vor",
    "dazu habe ich keine Informationen",
    "dazu finde ich nichts",
    "steht nicht in den Artikeln",
    "keine Angabe",
    "keine Informationen",
    "no lo sé",
    "no sé",
    "no tengo información",
    "no encuentro",
    "no hay información",
    "je ne sais pas",
    "je ne trouve pas",
    "je n'ai pas d'information",
    "je n'ai pas d'informations",
    "aucune information",
];

#[derive(Debug)]
pub(super) struct Unknown {
    phrases: Vec<Phrase>,
}

impl Unknown {
    pub(super) fn compile(mut parameters: Parameters<'_>) -> Result<Self, Vec<String>> {
        let own = parameters.texts("phrases").unwrap_or_default();
        let phrases = own.into_iter().chain(DEFAULTS.map(str::to_owned)).map(Phrase::new).collect();
        parameters.finish(Self { phrases })
    }

    pub(super) fn grade(&self, answer: &str) -> Finding {
        let answer = Searchable::new(answer);
        if self.phrases.iter().any(|phrase| phrase.stands_in(&answer)) {
            Finding::pass()
        } else {
            Finding::fail("does not say that it does not know")
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::{
        domain::Verdict::{Fail, Pass},
        grading::testing::{case, verdict},
    };

    #[test]
    fn declining_is_recognised_in_several_languages() {
        for (answer, wanted) in [
            ("I don’t know; ask sales.", Pass),
            ("Das weiß ich leider nicht.", Pass),
            ("Lo siento, no lo sé.", Pass),
            ("Je ne sais pas.", Pass),
            ("We would rather not say.", Pass),
            ("Yes, it is free.", Fail),
            ("", Fail),
        ] {
            let parameters = json!({"phrases": ["rather not say"]});
            assert_eq!(verdict("unknown", parameters, answer, &case(Value::Null)).0, wanted, "{answer}");
        }
    }
}
