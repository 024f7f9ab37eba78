//! One question to one account, whatever it is for: what goes out, and the most it can be billed for.

use std::{
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::{AskerPos, Cost, Question, TrialKey, shared};

/// What a call is for: the name by which its caller knows it again. A queue only compares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Purpose {
    /// The answer of a target to a case.
    Trial(TrialKey),
}

/// One question to one account. Plain data: it can be kept, compared and sent elsewhere.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// What it is for.
    pub purpose: Purpose,
    /// Who asks: what stops with it, and what it is priced by.
    pub asker: AskerPos,
    /// What goes out, by every attempt alike.
    pub outgoing: Outgoing,
    /// The most that one attempt can cost; `None`: nobody can say.
    pub worst: Option<Cost>,
    /// What the account's limits are asked for.
    pub demand: Demand,
    /// The number of its first attempt.
    pub first_attempt: u32,
    /// How far it is with its retries.
    pub walk: Walk,
    /// The seed of its draws (jitter).
    pub seed: u64,
    /// What identifies its question, where answers may be used again.
    pub hash: Option<[u8; 32]>,
}

/// How far a call is with its retries: nothing was used up of a new one's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Walk {
    /// The retries it has had.
    pub retries: u32,
    /// What it has used of the time that it may take.
    pub took: Duration,
    /// When its next attempt may start. A clock of this process, which no other one has.
    #[serde(skip)]
    pub not_before: Option<Instant>,
}

/// What is handed over: to a model the very bytes, to whoever answers by case the question itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Outgoing {
    /// A request.
    Wire(Wire),
    /// A question.
    Question(Box<Question>),
}

impl Outgoing {
    /// The request, if it is one.
    pub fn as_wire(&self) -> Option<&Wire> {
        match self {
            Self::Wire(wire) => Some(wire),
            Self::Question(_) => None,
        }
    }

    /// The question, if it is one.
    pub fn as_question(&self) -> Option<&Question> {
        match self {
            Self::Question(question) => Some(question),
            Self::Wire(_) => None,
        }
    }
}

/// The tokens that a call is expected to need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Demand {
    /// The prompt's tokens, estimated.
    pub input: u64,
    /// The most tokens its answer may have.
    pub output: u64,
}

/// Output tokens that an answer is taken to need where its request says no limit.
pub const USUAL_OUTPUT_TOKENS: u64 = 1_024;

/// The most tokens that one attempt can be billed for; `None`: nobody can say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    /// Input: a token has at least one byte.
    pub input: Option<u64>,
    /// Output: what the request itself says, else the most that its model can give.
    pub output: Option<u64>,
    /// The limit of output that the request itself says.
    pub said_output: Option<u64>,
}

impl Bounds {
    /// The output tokens that an account's limits are asked for: as many as the request says, else as
    /// is usual.
    pub fn reserved_output(self) -> u64 {
        self.said_output.unwrap_or(USUAL_OUTPUT_TOKENS)
    }
}

/// The method of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum HttpMethod {
    /// `POST`.
    #[default]
    Post,
    /// `PUT`.
    Put,
    /// `GET`.
    Get,
}

/// The very bytes that are sent, made once for all attempts. No credential is in them: that is the
/// sender's, at the last moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wire {
    /// How.
    pub method: HttpMethod,
    /// Where, below the account's address.
    pub path: String,
    /// What is appended to the address's own query.
    pub query: Vec<(String, String)>,
    /// Headers of the protocol. Where the account sets one of them itself, the account's is sent.
    pub headers: Vec<(String, String)>,
    /// The JSON body; empty: none is sent.
    #[serde(with = "shared::bytes")]
    pub body: Bytes,
    /// Whether it asks for a stream.
    pub streamed: bool,
    /// The most that one attempt can be billed for.
    pub bounds: Bounds,
}

/// Called by whoever reads a streamed answer when its first event arrives: from then on a prefix
/// that it wrote to the provider's cache can be read by others. The default tells nobody.
#[derive(Clone, Default)]
pub struct Begun(Option<Arc<dyn Fn() + Send + Sync>>);

impl Begun {
    /// Tells nobody.
    pub const NOBODY: Self = Self(None);

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{CasePos, Repeat, RunRow, TargetPos};

    #[test]
    fn a_call_can_be_put_away_and_taken_up_again() {
        let key = TrialKey { run: RunRow(7), target: TargetPos(0), case: CasePos(3), repeat: Repeat(2) };
        let call = Call {
            purpose: Purpose::Trial(key),
            asker: AskerPos(0),
            outgoing: Outgoing::Wire(Wire {
                method: HttpMethod::Post,
                path: "/v1/messages".to_owned(),
                query: vec![],
                headers: vec![("anthropic-version".to_owned(), "2023-06-01".to_owned())],
                body: Bytes::from_static(b"{\"model\":\"m\"}"),
                streamed: false,
                bounds: Bounds { input: Some(13), output: None, said_output: None },
            }),
            worst: None,
            demand: Demand { input: 4, output: 1_024 },
            first_attempt: 3,
            walk: Walk::default(),
            seed: 9,
            hash: Some([1; 32]),
        };
        let kept = serde_json::to_string(&call).unwrap();
        assert_eq!(serde_json::from_str::<Call>(&kept).unwrap(), call);
    }
}
